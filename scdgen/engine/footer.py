"""The schema in the footer of a Parquet file: what tells its columns apart before Spark reads them.

Spark infers no type for nanoseconds, and says neither in which file nor in which column they are. The footer is a
Thrift structure in the compact protocol; only its schema is read here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SCHEMA, _NAME, _CHILDREN, _LOGICAL = 2, 4, 5, 10
_TIMESTAMP, _UTC, _UNIT, _NANOS = 8, 1, 2, 3  # in the logical type
_MOST = 1 << 26  # bytes of a footer


@dataclass(frozen=True)
class Footer:
    """What a Parquet file says of its columns."""

    schema: str
    """A text that is equal for files with the same columns and types."""
    nanoseconds: dict[tuple[str, ...], bool]
    """Path of a column with nanoseconds -> whether they are in UTC."""


def read_footer(file: Path) -> Footer | None:
    """Read the footer of a local file; ``None`` if it is encrypted or broken, which Spark reports."""
    try:
        with file.open("rb") as stream:
            # A file ends in the length of the footer and the magic bytes; the footer stands before them.
            stream.seek(-8, 2)
            tail = stream.read(8)
            size = int.from_bytes(tail[:4], "little")
            if tail[4:] != b"PAR1" or not 0 < size <= _MOST:
                return None
            stream.seek(-8 - size, 2)
            elements = _Reader(stream.read(size)).struct(until=_SCHEMA).get(_SCHEMA, [])
            return Footer(repr(elements), dict(_nanoseconds(iter(elements))))
    except (OSError, IndexError, StopIteration, RuntimeError, TypeError, ValueError, AttributeError, RecursionError):
        return None


def _nanoseconds(elements: Iterator[dict[int, Any]]) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield the columns with nanoseconds; the elements are the tree of the schema, parents first."""
    root = next(elements)
    for _ in range(root.get(_CHILDREN, 0)):
        yield from _below(elements, ())


def _below(elements: Iterator[dict[int, Any]], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], bool]]:
    element = next(elements)
    place = (*above, element[_NAME].decode())
    time = element.get(_LOGICAL, {}).get(_TIMESTAMP)
    if time is not None and _NANOS in time.get(_UNIT, {}):
        yield place, bool(time.get(_UTC))
    for _ in range(element.get(_CHILDREN, 0)):
        yield from _below(elements, place)


class _Reader:
    """Reads Thrift's compact protocol: a struct as field number -> value."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def struct(self, until: int | None = None) -> dict[int, Any]:
        """Read a struct; up to the field ``until``, if it is given, because statistics of columns may follow."""
        found: dict[int, Any] = {}
        number = 0
        while True:
            head = self._byte()
            if head == 0:
                return found
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            found[number] = kind == 1 if kind in (1, 2) else self._value(kind)
            if number == until:
                return found

    def _value(self, kind: int) -> Any:
        if kind in (1, 2, 3):  # in a list a boolean is a byte
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._unsigned())
        if kind in (9, 10):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._unsigned()
            return [self._value(head & 15) for _ in range(size)]
        if kind == 11:
            size = self._unsigned()
            kinds = self._byte() if size else 0
            return [(self._value(kinds >> 4), self._value(kinds & 15)) for _ in range(size)]
        if kind == 12:
            return self.struct()
        raise ValueError(f"no type {kind} of Thrift's compact protocol")

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _bytes(self, size: int) -> bytes:
        self.at += size
        if self.at > len(self.data):
            raise ValueError("the footer ends early")
        return self.data[self.at - size : self.at]

    def _unsigned(self) -> int:
        found, shift = 0, 0
        while True:
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
            shift += 7

    def _signed(self) -> int:
        found = self._unsigned()
        return (found >> 1) ^ -(found & 1)
