"""Finds the files at a path: their format, their order, and their names in messages and in Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from glob import escape, glob
from pathlib import Path

from scdgen.engine.failures import local_path
from scdgen.errors import DataError, UsageError
from scdgen.files.dialect import Dialect, find_dialect
from scdgen.paths import spark_url

_TEXT = ".txt"
# Ending -> format of a file of rows.
FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".psv", _TEXT), "csv"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "json"),
    ".parquet": "parquet",
}
PACKED = ".gz"
_TAKES = "a .csv, .tsv, .txt, .json, .jsonl or .parquet file (.csv.gz and .json.gz too), or a folder"


@dataclass(frozen=True)
class Files:
    """The files of ``--source``: the path as given, its format, and the local files in order (none: a URL or Delta).

    ``given`` are options of Spark's CSV reader, ``likely`` those in the spec for the files that these replace.
    """

    shown: str
    kind: str
    local: tuple[Path, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    likely: Mapping[str, str] = field(default_factory=dict)

    def dialect(self, file: Path) -> Dialect:
        """Detect the dialect of one of the files, a CSV."""
        return find_dialect(file, self.given, self.likely)

    @property
    def folder(self) -> bool:
        """Whether it is a folder of this machine."""
        return bool(self.local) and Path(self.shown).is_dir()

    def options(self) -> dict[str, str]:
        """Reader options that keep the partition columns of a folder (``day=1``)."""
        return {"basePath": spark_url(Path(self.shown))} if self.folder else {}

    def paths(self) -> list[str]:
        """The paths that Spark reads."""
        if self.local:
            return [spark_path(file) for file in self.local]
        return [self.shown if "://" in self.shown else spark_path(Path(self.shown))]

    def named(self, uri: str | None) -> tuple[str, Path | None]:
        """(name for messages, local file) of a value of ``_metadata.file_path``."""
        place = local_path(uri or "")
        found = next((file for file in self.local if file.absolute() == place), None)
        if found is None and len(self.local) == 1:
            found = self.local[0]
        return (str(found) if found else self.shown), found


@dataclass(frozen=True)
class Match:
    """A path that a pattern matches, and the text that each ``*`` of the pattern stands for in it."""

    path: str
    stars: tuple[str, ...]


def is_pattern(path: str) -> bool:
    """Whether a path stands for each path that it matches; a URL with ``*`` does not: Spark reads it as one source."""
    return "*" in path and "://" not in path and not Path(path).exists()


def find_matches(pattern: str) -> list[Match]:
    """The files and folders that a pattern matches, in the natural order of their names.

    A ``*`` stands for any text without a slash, as short as it can be. Raises :class:`UsageError` if nothing matches.
    """
    pieces = str(Path(pattern)).split("*")
    form = re.compile("([^/]*?)".join(map(re.escape, pieces)), re.DOTALL)
    # Not Path.glob, whose * matches hidden files too.
    found = (form.fullmatch(path) for path in glob("*".join(map(escape, pieces))))  # noqa: PTH207
    matches = [Match(match[0], match.groups()) for match in found if match is not None]
    if not matches:
        raise UsageError(f"{pattern}: matches no file or folder; give a pattern that does, or one path")
    return sorted(matches, key=lambda match: [natural_key(part) for part in Path(match.path).parts])


def natural_key(text: str) -> tuple[list[str | int], str]:
    """A key that sorts numbers in texts by their values.

    >>> sorted(["sub-10.csv", "sub-9.csv", "sub-09.csv", "sub.csv"], key=natural_key)
    ['sub-09.csv', 'sub-9.csv', 'sub-10.csv', 'sub.csv']
    """
    parts = re.split("([0-9]+)", text)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)], text


def spark_path(path: Path) -> str:
    """A local path for Spark, which would read an unescaped ``*?[]{}`` as a pattern.

    >>> spark_path(Path("/tmp/a b[1].csv"))
    'file:///tmp/a b\\\\[1\\\\].csv'
    """
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", spark_url(path))


def find(path: str) -> Files:
    """Find the files of a path. Raises :class:`UsageError` if it does not exist or its format is unknown."""
    if "://" in path:
        return Files(path, _format_of(Path(path)) or "delta")
    place = Path(path)
    if place.is_dir():
        return _find_in_folder(path, place)
    kind = _format_of(place)
    if not place.exists():
        raise UsageError(f"{path}: no such file or folder; give the path of {_TAKES}")
    if kind is None:
        raise UsageError(f"{path}: cannot tell its format by its name; give {_TAKES}")
    return Files(path, kind, (_check_signature(place, kind),))


def _find_in_folder(path: str, place: Path) -> Files:
    if (place / "_delta_log").is_dir():
        return Files(path, "delta")
    files = sorted(file for file in place.rglob("*") if file.is_file() and not _is_hidden(file.relative_to(place)))
    kinds: dict[str | None, Path] = {}
    # A text beside files of another ending is more likely a README than rows.
    of_text = all(_ending(file) == _TEXT for file in files)
    for file in files:
        kinds.setdefault(None if _ending(file) == _TEXT and not of_text else _format_of(file), file)
    if not kinds:
        raise UsageError(f"{path}: the folder holds no files; give one of csv, json, parquet or delta")
    if len(kinds) > 1 or None in kinds:
        listed = " and ".join(sorted(str(file.relative_to(place)) for file in kinds.values()))
        raise UsageError(f"{path}: the folder holds {listed}; give a folder of one format: csv, json, parquet or delta")
    kind = str(next(iter(kinds)))
    return Files(path, kind, tuple(_check_signature(file, kind) for file in files))


def list_data(path: Path) -> list[Path]:
    """List the files that Spark reads at a local path: a file, a folder, or a pattern; none if there are none."""
    places = [path] if path.exists() else [Path(found) for found in glob(str(path))]  # noqa: PTH207
    inside = ((place, file) for place in places if place.is_dir() for file in place.rglob("*"))
    listed = [file for place, file in inside if file.is_file() and not _is_hidden(file.relative_to(place))]
    return sorted([*listed, *(place for place in places if place.is_file())])


def _is_hidden(inside: Path) -> bool:
    """Whether Spark skips a path below a folder, as it does ``_SUCCESS`` and ``.part.crc``, but not ``_day=1/…``."""
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in inside.parts)


def _ending(path: Path) -> str:
    return Path(path.name.lower().removesuffix(PACKED)).suffix


def _format_of(path: Path) -> str | None:
    kind = FORMATS.get(_ending(path))
    return None if kind == "parquet" and path.suffix.lower() == PACKED else kind


def _check_signature(file: Path, kind: str) -> Path:
    """Return the file. Raises :class:`DataError` if its first bytes contradict its extension."""
    with file.open("rb") as stream:
        begin = stream.read(4)
    if kind == "parquet" and begin not in {b"PAR1", b"PARE"}:
        raise DataError(f"{file}: is not a Parquet file; give it the ending of its format")
    if kind != "parquet" and begin == b"PAR1":
        raise DataError(f"{file}: is a Parquet file; give it the ending .parquet")
    is_named_packed = file.suffix.lower() == PACKED
    if begin and (begin[:2] == b"\x1f\x8b") != is_named_packed and kind != "parquet":
        not_packed, packed = "is not a gzip file; take the ending .gz away", "is a gzip file; give it the ending .gz"
        raise DataError(f"{file}: {not_packed if is_named_packed else packed}")
    return file
