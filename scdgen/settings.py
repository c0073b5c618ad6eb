"""``scdgen.toml`` or ``pyproject.toml`` of the working folder: options of commands, and targets."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from scdgen.errors import NO_UTF8, UsageError
from scdgen.paths import read_text

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TARGETS = "targets"
"""The table that has no options of commands."""
# File -> the tables in it that lead to the settings.
_FILES: dict[str, tuple[str, ...]] = {"scdgen.toml": (), "pyproject.toml": ("tool", "scdgen")}


def read_settings() -> tuple[str, tuple[str, ...], dict[str, Any]]:
    """Return the file of the working folder, the tables in it that lead to the settings, and these; raises UsageError.

    The first file that has settings counts.
    """
    for file, tables in _FILES.items():
        if not Path(file).is_file():
            continue
        try:
            found: Any = tomllib.loads(read_text(Path(file)))
        except UnicodeDecodeError:
            raise UsageError(f"{file}: {NO_UTF8}") from None
        except tomllib.TOMLDecodeError as error:
            reason, *numbers = re.split(r" \(at line (\d+), column (\d+)\)", str(error))
            place = ":".join([file, *filter(None, numbers)])
            what = f"is not valid TOML ({reason[:1].lower()}{reason[1:]})"
            raise UsageError(f"{place}: {what}; write lines such as limit = 50, and texts in quotes") from None
        # Go down to scdgen's own table in the file.
        for table in tables:
            found = found.get(table, {}) if isinstance(found, dict) else {}
        if not isinstance(found, dict):
            raise UsageError(f"{file}: {'.'.join(tables)}: is not a table; write options below [{'.'.join(tables)}]")
        if found:
            return file, tables, found
    return "", (), {}


def read_targets() -> tuple[str, dict[str, Any]]:
    """Return the place of the targets, for messages, and the options of each. Raises :class:`UsageError`."""
    file, tables, settings = read_settings()
    place, found = f"{file}: {'.'.join((*tables, TARGETS))}", settings.get(TARGETS, {})
    if not isinstance(found, dict) or not all(isinstance(options, dict) for options in found.values()):
        raise UsageError(
            "is not a table of targets", place=place, fix='write [targets.dev.schemas], and crm = "dev_crm"'
        )
    for name in found:
        if not re.fullmatch(r"[\w-]+", name):  # it is a folder too
            raise UsageError(f"'{name}' is not a name of a target", place=place, fix="write letters, digits, _ and -")
    return place, found
