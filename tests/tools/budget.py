"""How many lines each room has, and how many it may have: ``[tool.scdgen-budget]`` in pyproject.toml.

``python -m tests.tools.budget`` prints both, and exits with 1 if a room has more. A room is a folder with all its
files; ``core`` is what turns a spec into SQL and runs it: scdgen without ``init`` and ``scdgen test``.
"""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
LODGERS = ("scdgen/init", "scdgen/duck", "scdgen/cases", "scdgen/cli/init.py", "scdgen/cli/test.py")


def count_lines(place: str) -> int:
    """Return the lines of a file, or of all files of a folder."""
    path = ROOT / place
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.read_bytes().count(b"\n") for file in files if "__pycache__" not in file.parts)


def count_room(name: str) -> int:
    """Return the lines of a room."""
    return count_lines("scdgen") - sum(map(count_lines, LODGERS)) if name == "core" else count_lines(name)


def main() -> int:
    """Print the rooms, then a line for each that is over; return the exit status."""
    budget: dict[str, int] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scdgen-budget"]
    rooms = {name: count_room(name) for name in budget}
    for name, lines in rooms.items():
        print(f"{name:<16} {lines:>7,} of {budget[name]:>7,}")
    wrong = [
        f"{name}: {lines - budget[name]:,} lines over; make it smaller, or raise its number and say why beside it"
        for name, lines in rooms.items()
        if lines > budget[name]
    ]
    packages = sorted(path.parent.name for path in (ROOT / "scdgen").glob("*/__init__.py"))
    wrong += [f"scdgen/{name}: has no number" for name in packages if f"scdgen/{name}" not in budget]
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
