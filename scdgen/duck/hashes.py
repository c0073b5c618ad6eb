"""Spark's hashes that DuckDB does not have."""

from __future__ import annotations

from collections.abc import Sequence

_ALL = (1 << 64) - 1
_PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_SEED = 42  # Spark's


def xxhash64(text: str) -> int:
    """Return what Spark's ``xxhash64`` gives for a text: XXH64 of its UTF-8 bytes, as a signed number.

    >>> xxhash64("ABC"), xxhash64("")
    (4105715581806190027, -7444071767201028348)
    """
    data, one, two, three, four, five = text.encode(), *_PRIMES
    place, length = 0, len(data)
    # 1. Stripes of 32 bytes go into four lanes, which are merged.
    if length >= 32:
        lanes = [_SEED + one + two, _SEED + two, _SEED, _SEED - one]
        while place + 32 <= length:
            words = (_read(data, place + 8 * lane, 8) for lane in range(4))
            lanes = [_rotate(lane + word * two, 31) * one & _ALL for lane, word in zip(lanes, words, strict=True)]
            place += 32
        found = sum(_rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            found = (found ^ _round(lane)) * one + four & _ALL
    else:
        found = _SEED + five
    found = found + length & _ALL
    # 2. The rest goes in by 8, 4 and 1 bytes.
    while place + 8 <= length:
        found = _rotate(found ^ _round(_read(data, place, 8)), 27) * one + four & _ALL
        place += 8
    if place + 4 <= length:
        found = _rotate(found ^ (_read(data, place, 4) * one & _ALL), 23) * two + three & _ALL
        place += 4
    for byte in data[place:]:
        found = _rotate(found ^ (byte * five & _ALL), 11) * one & _ALL
    # 3. Each bit of the input changes half of the bits of the result.
    for shift, factor in ((33, two), (29, three), (32, 1)):
        found = (found ^ found >> shift) * factor & _ALL
    return found - (1 << 64) if found >> 63 else found


def _read(data: Sequence[int], place: int, size: int) -> int:
    return int.from_bytes(data[place : place + size], "little")


def _rotate(value: int, by: int) -> int:
    value &= _ALL
    return (value << by | value >> 64 - by) & _ALL


def _round(value: int) -> int:
    """Mix 8 bytes."""
    return _rotate(value * _PRIMES[1], 31) * _PRIMES[0] & _ALL
