"""What a caller passes, as messages name it: the options of commands, which are arguments in Python."""

from __future__ import annotations

from dataclasses import dataclass

_CALLER = {"is_command": False}


def name_options(yes: bool) -> None:
    """Whether messages name options of the command line from now on, and not arguments in Python (the default)."""
    _CALLER["is_command"] = yes


@dataclass(frozen=True)
class Argument:
    """An argument that is an option of the command line, too; as text, the one that the caller knows.

    >>> f"leave out {SOURCE}", str(key_argument("id"))
    ('leave out source=', "keys['id']")
    """

    option: str
    """The option, such as ``--infer``."""
    argument: str
    """The argument, such as ``infer=True``."""
    detail: str = ""
    """What follows the option, with a blank before it; the argument includes it."""

    def __str__(self) -> str:
        return f"{self.option}{self.detail}" if _CALLER["is_command"] else self.argument


CHECKPOINT = Argument("--checkpoint", "checkpoint=")
FEED = Argument("--feed", "feed=")
FROM_TIME = Argument("--from", "from_time")
INFER = Argument("--infer", "infer=True")
KNOWN_AT = Argument("--known-at", "known_at")
KNOWN_FROM = Argument("--known-from", "known_from")
KNOWN_TO = Argument("--known-to", "known_to")
METRICS = Argument("--metrics", "metrics")
OPENLINEAGE = Argument("--openlineage", "openlineage")
OUT = Argument("--out", "a saved plan")
PLAN = Argument("--plan", "plan=")
RETRIES = Argument("--retries", "retries=")
RETRY_FOR = Argument("--retry-for", "retry_for=")
REWIND_TO = Argument("--to", "to=")
RUN_ID = Argument("--run", "run_id")
SOURCE = Argument("--source", "source=")
TO_TIME = Argument("--to", "to_time")


def key_argument(column: str) -> Argument:
    """The value of a column of the key."""
    return Argument("--key", f"keys[{column!r}]", f" {column}")


def param_argument(name: str, value: str = "") -> Argument:
    """The value of a param; ``value`` follows its name in the option, such as ``=...``."""
    return Argument("--param", f"params={{'{name}': ...}}", f" {name}{value}")
