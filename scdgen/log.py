"""Log to stderr, a line per event: text for people, or JSON for log collectors (``--log-format json``)."""

from __future__ import annotations

import datetime as dt
import json
import sys
from typing import Any

_FORMAT = {"json": False}


def choose(kind: str) -> None:
    """Set the format, ``text`` or ``json``, for the rest of the process."""
    _FORMAT["json"] = kind == "json"


def event(name: str, level: str = "info", **fields: Any) -> None:
    """Write a line of the JSON log: time, event and fields; nothing if the log is text."""
    if _FORMAT["json"]:
        _write({"at": _now(), "level": level, "event": name, **fields})


def error(line: str, status: int | None = None, **fields: Any) -> None:
    """Write an error; in the JSON log an ``error`` with its ``message`` and the exit status."""
    if _FORMAT["json"]:
        known = {"status": status} if status is not None else {}
        _write({"at": _now(), "level": "error", "event": "error", "message": line, **known, **fields})
    else:
        print(line, file=sys.stderr)


def warning(line: str) -> None:
    """Write a warning: something failed, but the work is done."""
    _remark("warning", "warning", line)


def note(line: str) -> None:
    """Write a remark that is not an error."""
    _remark("note", "info", line)


def _remark(name: str, level: str, line: str) -> None:
    if _FORMAT["json"]:
        event(name, level, message=line)
    else:
        print(line, file=sys.stderr)


def _now() -> str:
    return dt.datetime.now(dt.timezone.utc).isoformat(timespec="milliseconds")


def _write(fields: dict[str, Any]) -> None:
    print(json.dumps(fields, default=str, ensure_ascii=False), file=sys.stderr, flush=True)
