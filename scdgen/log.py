"""Log to stderr, a line per event: text for people, or JSON for log collectors (``--log-format json``)."""

from __future__ import annotations

import datetime as dt
import json
import sys
import time
import traceback
from typing import Any

from scdgen.escape import escape_control, escape_json
from scdgen.url import hide_secrets

_begun = [time.monotonic()]
_CHOSEN = {"json": False, "quiet": False, "debug": False}


def choose(kind: str) -> None:
    """Set the format, ``text`` or ``json``, for the rest of the process."""
    _CHOSEN["json"] = kind == "json"


def begin() -> None:
    """Count :func:`elapsed` from now on."""
    _begun[0] = time.monotonic()


def elapsed() -> float:
    """The seconds since the command began."""
    return time.monotonic() - _begun[0]


def set_quiet(yes: bool) -> None:
    """Whether only errors, warnings and requested results are printed from now on."""
    _CHOSEN["quiet"] = yes


def is_quiet() -> bool:
    """Whether --quiet is given."""
    return _CHOSEN["quiet"]


def set_debug(yes: bool) -> bool:
    """Whether errors are printed in full from now on; returns ``yes``."""
    _CHOSEN["debug"] = yes
    return yes


def is_debug() -> bool:
    """Whether --debug is given."""
    return _CHOSEN["debug"]


def event(name: str, level: str = "info", **fields: Any) -> None:
    """Write a line of the JSON log: time, event and fields; nothing if the log is text."""
    if _CHOSEN["json"]:
        _write({"at": _now(), "level": level, "event": name, **fields})


def error(line: str, status: int | None = None, **fields: Any) -> None:
    """Write an error; in the JSON log an ``error`` with its ``message`` and the exit status."""
    if _CHOSEN["json"]:
        known = {"status": status} if status is not None else {}
        _write({"at": _now(), "level": "error", "event": "error", "message": line, **known, **fields})
    else:
        print(hide_secrets(line), file=sys.stderr)


def trace(error: BaseException) -> None:
    """Write an error in full, with those that caused it, for --debug."""
    shown = "".join(map(_mark_message, traceback.format_exception(error)))
    print(hide_secrets(shown), end="", file=sys.stderr)


def _mark_message(entry: str) -> str:
    """Mark the later lines of a message, which may be those of a name or a text of a user."""
    # The frames and the lines between two errors begin with white space, an error with its type.
    mark = "" if entry[:1].isspace() else "  | "
    return f"\n{mark}".join(map(escape_control, entry.rstrip("\n").split("\n"))) + "\n"


def warning(line: str) -> None:
    """Write a warning: something failed, but the work is done."""
    _remark("warning", "warning", line)


def note(*lines: str) -> None:
    """Write a remark that is not an error."""
    _remark("note", "info", *lines)


def step(line: str) -> None:
    """Write a remark on progress; --quiet leaves it out of the text log."""
    if _CHOSEN["json"] or not _CHOSEN["quiet"]:
        note(line)


def _remark(name: str, level: str, *lines: str) -> None:
    if _CHOSEN["json"]:
        event(name, level, message="\n".join(lines))
    else:
        print(hide_secrets("\n".join(map(escape_control, lines))), file=sys.stderr)


def _now() -> str:
    return dt.datetime.now(dt.timezone.utc).isoformat(timespec="milliseconds")


def _write(fields: dict[str, Any]) -> None:
    print(hide_secrets(escape_json(json.dumps(fields, default=str, ensure_ascii=False))), file=sys.stderr, flush=True)
