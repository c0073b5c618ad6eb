"""The column that keeps ``sequence_by``: ``history.sequence`` of scd2, ``sequence`` of scd1."""

from __future__ import annotations

from scdgen import sql
from scdgen.facts.columns import cast, named
from scdgen.model.registry import Found
from scdgen.model.spec import Spec
from scdgen.sql.types import parse_type, struct_fields, struct_type

SEQUENCE = "_scd_sequence"
SEQUENCE_COMMENT = "Order among rows of one time, of the row that this one comes from"


def orders_rows(spec: Spec) -> bool:
    """Whether the source has an order of the rows of one key and time."""
    return bool(spec.source.sequence_by)


def _parts(spec: Spec) -> tuple[tuple[str, str], ...]:
    """Return (name, type) of each expression of ``sequence_by`` in the column that keeps it.

    Of several sources, the first one that has the option gives the names.
    """
    stored = spec.stored_sequence
    if stored is None:
        return ()
    texts = next((feed.source.sequence_by for feed in spec.feeds if orders_rows(feed)), ())
    if len(texts) > 1 and (fields := struct_fields(stored.type)):
        return fields
    bare = [sql.expression(text).bare for text in texts]
    distinct = len({name.lower() for name in bare if name}) == len(texts)
    return tuple((name if name and distinct else f"part_{number}", stored.type) for number, name in enumerate(bare, 1))


def sequence_type(spec: Spec) -> str:
    """Return the type of the column that keeps ``sequence_by``: a STRUCT of several expressions."""
    parts = _parts(spec)
    if len(parts) > 1:
        return struct_type(parts)
    return spec.stored_sequence.type if spec.stored_sequence else ""


def no_sequence(spec: Spec) -> str:
    """Return what a row without a sequence stores."""
    return cast("NULL", sequence_type(spec))


def sequence_casts(spec: Spec) -> list[tuple[str, sql.Fragment, str]]:
    """Return (name, expression, type) of each part of a row's sequence, if it is stored."""
    parts = zip(spec.source.sequence_by, _parts(spec), strict=False)
    return [(name, sql.expression(text), kind) for text, (name, kind) in parts]


def sequence_value(spec: Spec) -> str:
    """Return the sequence of a row as it is stored; NULL of a source that has no order."""
    values = [(sql.quote(name), cast(read.text, kind)) for name, read, kind in sequence_casts(spec)]
    if not values:
        return no_sequence(spec)
    return values[0][1] if len(values) == 1 else named(values)


def sequence_problems(spec: Spec, place: tuple[str, ...]) -> Found:
    """Yield broken rules of the option at ``place``, if the spec has it."""
    stored = spec.stored_sequence
    if stored is None:
        return
    counts = {feed.feed: len(feed.source.sequence_by) for feed in spec.feeds if orders_rows(feed)}
    if not counts:
        yield place, "sequence: stores what sequence_by gives, which no source has; write source.sequence_by"
        return
    if not parse_type(stored.type).has_order:
        yield (*place, "type"), f"sequence: values of {stored.type} have no order; write a type that has one"
    fields = struct_fields(stored.type)
    wanted = len(fields) if fields and max(counts.values()) > 1 else max(counts.values())
    own = counts.get(spec.feed)
    if own not in (None, wanted):
        has = f"sequence_by has {own} expression{'s' if own != 1 else ''}"
        if fields and wanted == len(fields):
            yield (*place, "type"), f"sequence: {stored.type} has {wanted} fields, but {has}; write a field for each"
        else:
            other = next(name for name, count in counts.items() if count == wanted)
            what = f"{has}, and that of {other} has {wanted}; one column keeps both, so write as many in each"
            yield ("source", "sequence_by"), f"sequence: {what}"
