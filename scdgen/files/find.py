"""The files that a path names: their format, their order, and how each is called in a message and in Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scdgen.engine.failures import local_path
from scdgen.errors import DataError, UsageError
from scdgen.files.dialect import Dialect, find_dialect

_FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
_PACKED = ".gz"
_TAKES = "a .csv, .json, .jsonl or .parquet file (.csv.gz and .json.gz too), or a folder"


@dataclass(frozen=True)
class Files:
    """What ``--source`` names: ``shown`` as given, its format, and the local files in order (none: a URL or Delta).

    ``given`` are options of Spark's CSV reader, ``likely`` those of the files that these stand for.
    """

    shown: str
    kind: str
    local: tuple[Path, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)
    likely: Mapping[str, str] = field(default_factory=dict)

    def dialect(self, file: Path) -> Dialect:
        """How one of the files, a CSV, is written."""
        return find_dialect(file, self.given, self.likely)

    @property
    def folder(self) -> bool:
        """Whether it is a folder of this machine."""
        return bool(self.local) and Path(self.shown).is_dir()

    def options(self) -> dict[str, str]:
        """Options of Spark's reader that keep the columns which a folder's own folders name (``day=1``)."""
        return {"basePath": f"file://{Path(self.shown).absolute()}"} if self.local and Path(self.shown).is_dir() else {}

    def paths(self) -> list[str]:
        """The paths that Spark reads."""
        if self.local:
            return [spark_path(file) for file in self.local]
        return [self.shown if "://" in self.shown else spark_path(Path(self.shown))]

    def named(self, uri: str | None) -> tuple[str, Path | None]:
        """(the name that a message gives a file of Spark's, the local file) for what ``_metadata.file_path`` holds."""
        place = local_path(uri or "")
        found = next((file for file in self.local if file.absolute() == place), None)
        if found is None and len(self.local) == 1:
            found = self.local[0]
        return (str(found) if found else self.shown), found


def spark_path(path: Path) -> str:
    """A local path as Spark takes it, which reads ``*?[]{}`` as a pattern.

    >>> spark_path(Path("/tmp/a b[1].csv"))
    'file:///tmp/a b\\\\[1\\\\].csv'
    """
    return "file://" + re.sub(r"([\\{}\[\]*?])", r"\\\1", str(path.absolute()))


def find(path: str) -> Files:
    """The files of a path. Raises :class:`UsageError` where it is not there or its format cannot be told."""
    if "://" in path:
        return Files(path, _kind(Path(path)) or "delta")
    place = Path(path)
    if place.is_dir():
        return _folder(path, place)
    kind = _kind(place)
    if not place.exists():
        raise UsageError(f"{path}: no such file or folder; give the path of {_TAKES}")
    if kind is None:
        raise UsageError(f"{path}: cannot tell its format by its name; give {_TAKES}")
    return Files(path, kind, (_sniffed(place, kind),))


def _folder(path: str, place: Path) -> Files:
    if (place / "_delta_log").is_dir():
        return Files(path, "delta")
    files = sorted(file for file in place.rglob("*") if file.is_file() and not _hidden(file.relative_to(place)))
    kinds: dict[str | None, Path] = {}
    for file in files:
        kinds.setdefault(_kind(file), file)
    if not kinds:
        raise UsageError(f"{path}: the folder holds no files; give one of csv, json, parquet or delta")
    if len(kinds) > 1 or None in kinds:
        listed = " and ".join(sorted(str(file.relative_to(place)) for file in kinds.values()))
        raise UsageError(f"{path}: the folder holds {listed}; give a folder of one format: csv, json, parquet or delta")
    kind = str(next(iter(kinds)))
    return Files(path, kind, tuple(_sniffed(file, kind) for file in files))


def _hidden(inside: Path) -> bool:
    """Whether Spark takes a path below a folder for its own notes: ``_SUCCESS``, ``.part.crc``; not ``_day=1/…``."""
    return any(part.startswith(".") or (part.startswith("_") and "=" not in part) for part in inside.parts)


def _kind(path: Path) -> str | None:
    name = path.name.lower().removesuffix(_PACKED)
    kind = _FORMATS.get(Path(name).suffix)
    return None if kind == "parquet" and path.suffix.lower() == _PACKED else kind


def _sniffed(file: Path, kind: str) -> Path:
    """The file, where its first bytes do not say that its name is wrong."""
    with file.open("rb") as stream:
        begin = stream.read(4)
    if kind == "parquet" and begin not in {b"PAR1", b"PARE"}:
        raise DataError(f"{file}: is not a Parquet file; give it the ending of its format")
    if kind != "parquet" and begin == b"PAR1":
        raise DataError(f"{file}: is a Parquet file; give it the ending .parquet")
    if begin and (begin[:2] == b"\x1f\x8b") != (file.suffix.lower() == _PACKED) and kind != "parquet":
        what = "is not a gzip file; take the ending .gz away" if file.suffix.lower() == _PACKED else "is a gzip file"
        raise DataError(f"{file}: {what}{'' if ';' in what else '; give it the ending .gz'}")
    return file
