"""The log of a command on stderr, a line per record: text for people, or JSON for log collectors.

The package logs by :mod:`logging`, below the logger ``scdgen``; only commands print what it logs.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import logging
import os
import re
import shutil
import sys
import textwrap
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import click

from scdgen.escape import escape_control, escape_json
from scdgen.url import hide_secrets

_LOGGER = logging.getLogger("scdgen")
_NAMES = {logging.INFO: "note", logging.WARNING: "warning", logging.ERROR: "error"}  # of records that are no events
progress: list[Callable[[str], None]] = []  # The last one shows each step of a run.
_begun = [time.monotonic()]
chosen = {"json": False, "quiet": False, "debug": False}
"""What the options of the command say: the format, --quiet (only errors, warnings and results) and --debug."""


class _Handler(logging.Handler):
    """Prints records in the chosen format.

    A record may have ``event``, its name in the JSON log, where alone it is shown; ``fields``, which only that log has;
    ``lines``, if it has several; and ``progress``, so that --quiet leaves it out of the text log.
    """

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.INFO:
            return progress[-1](record.step) if progress and hasattr(record, "step") else None
        text = self._to_json(record) if chosen["json"] else self._to_text(record)
        if text is not None:
            print(hide_secrets(text), file=sys.stderr, flush=True)

    def _to_json(self, record: logging.LogRecord) -> str:
        event = getattr(record, "event", None)
        shown = {
            "at": dt.datetime.fromtimestamp(record.created, dt.timezone.utc).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": event or _NAMES.get(record.levelno, "note"),
            **({} if event else {"message": record.getMessage()}),
            **getattr(record, "fields", {}),
        }
        return escape_json(json.dumps(shown, default=str, ensure_ascii=False))

    def _to_text(self, record: logging.LogRecord) -> str | None:
        if hasattr(record, "event") or (chosen["quiet"] and hasattr(record, "progress")):
            return None
        lines = [*map(escape_control, getattr(record, "lines", [record.getMessage()]))]
        if record.levelno >= logging.WARNING and sys.stderr.isatty():
            lines = [_mark_place(line) for line in lines]
        return "\n".join(lines)


def _mark_place(line: str) -> str:
    """Wrap a line between words, and mark where it says that something is wrong."""
    width = shutil.get_terminal_size().columns
    wrapped = textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    if os.environ.get("NO_COLOR"):
        return wrapped
    return re.sub(r"\A\S[^:\n]*(:\d+)*:", lambda found: click.style(found[0], "red", bold=True), wrapped)


@contextlib.contextmanager
def printed() -> Iterator[None]:
    """Print what the package logs in this block, in the :data:`chosen` format; count :func:`elapsed`.

    At its end, the logger and all that options chose are as they are in a program that imports the package.
    """
    handler, level, propagate = _Handler(), _LOGGER.level, _LOGGER.propagate
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(logging.DEBUG)  # which the steps of a run have
    _LOGGER.propagate = False
    _begun[0] = time.monotonic()
    try:
        yield
    finally:
        _LOGGER.removeHandler(handler)
        _LOGGER.setLevel(level)
        _LOGGER.propagate = propagate
        chosen.update(json=False, quiet=False, debug=False)


def elapsed() -> float:
    """The seconds since the command began."""
    return time.monotonic() - _begun[0]


def event(name: str, **fields: Any) -> None:
    """Log an event with its fields, for the JSON log alone."""
    _LOGGER.info(name, extra={"event": name, "fields": fields})


def error(line: str, **fields: Any) -> None:
    """Log an error; in the JSON log with its ``fields``, such as the exit status."""
    _LOGGER.error("%s", line, extra={"lines": line.split("\n"), "fields": fields})


def trace(error: BaseException) -> None:
    """With --debug, print an error in full, with those that caused it."""
    if chosen["debug"]:
        shown = "".join(map(_mark_message, traceback.format_exception(error)))
        print(hide_secrets(shown), end="", file=sys.stderr)


def _mark_message(entry: str) -> str:
    """Mark the later lines of a message, which may be those of a name or a text of a user."""
    # The frames and the lines between two errors begin with white space, an error with its type.
    mark = "" if entry[:1].isspace() else "  | "
    return f"\n{mark}".join(map(escape_control, entry.rstrip("\n").split("\n"))) + "\n"


def warning(line: str) -> None:
    """Log a warning: something failed, but the work is done."""
    _LOGGER.warning("%s", line)


def note(*lines: str) -> None:
    """Log a remark that is not an error."""
    _LOGGER.info("%s", "\n".join(lines), extra={"lines": lines})


def step(line: str) -> None:
    """Log a remark on progress; --quiet leaves it out of the text log."""
    _LOGGER.info("%s", line, extra={"progress": True})
