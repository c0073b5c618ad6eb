"""Drafts a spec from the flows of AUTO CDC into one table; a clause is mapped, or listed as not mapped in a comment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import sqlglot
from sqlglot import exp

from scdgen import sql
from scdgen.errors import UsageError, nearest
from scdgen.init.draft import WHOLE, Draft, Given, find_column, free_name, put_columns, read_select, set_option
from scdgen.init.flow_sources import put_source
from scdgen.init.flows import Clause, Columns, Flow, Pipeline, TargetTable
from scdgen.init.flows_python import read_python
from scdgen.init.flows_sql import read_sql
from scdgen.sql.tokens import DIALECT
from scdgen.sql.types import data_type

_HISTORY_TYPES = {"DATE": "date", **dict.fromkeys(WHOLE, "bigint")}
_STORED = ("SCD TYPE 1", "SCD TYPE 2", "BITEMPORAL")
# The columns that AUTO CDC adds to a table.
_ADDED = ("__start_at", "__end_at", "__system_start_at", "__system_end_at")
# What the flows into one table have to agree on, because a spec says it once for all its sources.
_SHARED = (Clause.KEYS, Clause.TRACKED, Clause.NULLS)


def draft_from_auto_cdc(path: Path, text: str, name: str | None, target: str | None, given: Given) -> Draft:
    """Draft a spec from the flows of a file into one table; ``given`` are types from elsewhere.

    A file whose name ends in ``.py`` is Python, any other SQL. ``name`` chooses the table if there are several. Raises
    :class:`SpecError` if a flow cannot be read, :class:`UsageError` if an option does not fit it.
    """
    pipeline = read_python(path, text) if path.suffix == ".py" else read_sql(path, text)
    flows = _choose(pipeline, name)
    for flow in flows:
        _check(flow, flows[0])
    table = pipeline.tables.get(flows[0].target.lower(), TargetTable())
    own = flows[0].target
    draft = Draft(header=[f"Drafted by scdgen init from {path.name}; read it before the first run."])
    draft.put("target", target or own, f"Given with --target instead of {own}." if target else None)
    if table.description:
        draft.put("description", " ".join(table.description.split()))
    draft.put("pattern", "scd1" if flows[0].stored == "SCD TYPE 1" else "scd2")
    if Clause.STORED not in flows[0].clauses:
        draft.note(f"The default of {flows[0].label(Clause.STORED)}.", "pattern")
    # The rules read the columns, and the times their types, so the order matters.
    named = _name_sources(flows)
    for place, flow in named.items():
        put_source(draft, place, flow)
    _put_columns(draft, flows, table, given)
    _put_times(draft, named, table, given)
    _put_rules(draft, flows)
    if table.left_out:
        draft.left_out.append(f"of the table: {', '.join(table.left_out)}; see table and expectations in a spec")
    return draft


def _choose(pipeline: Pipeline, name: str | None) -> list[Flow]:
    """Return the flows into one table: those that go on before those that run once."""
    targets = {flow.target.lower(): flow.target for flow in pipeline.flows}
    listed = ", ".join(targets.values())
    if name is None and len(targets) > 1:
        what = f"holds flows into {len(targets)} tables ({listed}); choose one with --name"
        raise UsageError(what, place=pipeline.file, option="--auto-cdc")
    if name is not None and name.lower() not in targets:
        what = f"{pipeline.file} has flows into {listed}{nearest(name, targets.values())}"
        raise UsageError(what, option="--name", value=name)
    chosen = [flow for flow in pipeline.flows if name is None or flow.target.lower() == name.lower()]
    return sorted(chosen, key=lambda flow: flow.once)


def _check(flow: Flow, first: Flow) -> None:
    """Raise :class:`SpecError` for clauses that are missing, or that differ between flows."""
    for clause in (Clause.KEYS,) if flow.is_snapshot else (Clause.KEYS, Clause.SEQUENCE):
        if clause not in flow.clauses:
            raise flow.wrong(clause, "is missing; AUTO CDC needs it, and so does a spec")
    if flow.stored not in _STORED:
        raise flow.wrong(Clause.STORED, f"'{flow.stored}' is not a type; write SCD TYPE 1 or SCD TYPE 2")
    keys = flow.columns(Clause.KEYS)
    if keys is None or keys.all_but:
        raise flow.wrong(Clause.KEYS, "is not a list of columns; write KEYS (a, b)")
    if flow is first:
        return
    where = f"the flow in line {first.place.line}"
    if flow.stored != first.stored:
        raise flow.wrong(Clause.STORED, f"'{flow.stored}' is not that of {where}, '{first.stored}'; write one for both")
    for clause in _SHARED:
        if flow.is_snapshot != first.is_snapshot and clause == Clause.NULLS:
            continue
        mine, other = ((clause in one.clauses, one.columns(clause)) for one in (flow, first))
        if mine != other:
            raise flow.wrong(clause, f"is not that of {where}; a spec says it once for a table: write the same in both")


def _name_sources(flows: Sequence[Flow]) -> dict[str, Flow]:
    """Return each flow by the place of its source in the spec: ``source``, or ``sources.NAME`` if there are several."""
    if len(flows) == 1:
        return {"source": flows[0]}
    named: dict[str, Flow] = {}
    for flow in flows:
        name = re.sub(r"\W+", "_", flow.name or flow.target.split(".")[-1].strip("`")).strip("_")
        name = name if name[:1].isalpha() else f"flow_{name}"
        same = sum(place == f"sources.{name}" or place.startswith(f"sources.{name}_") for place in named)
        named[f"sources.{name}" if not same else f"sources.{name}_{same + 1}"] = flow
    return named


def _put_columns(draft: Draft, flows: Sequence[Flow], table: TargetTable, given: Given) -> None:
    """Write columns and keys, with the types that are known."""
    first = flows[0]
    keys = first.columns(Clause.KEYS)
    assert keys is not None
    kept = _kept_sequence(draft, flows)
    # 1. The columns: keys first, then those that are listed, then the time that scd1 keeps.
    names, left, is_open = _list_columns(flows, table, given)
    names = [*keys.names, *names, *([kept] if kept else [])]
    left.pop((kept or "").lower(), None)
    spelt = {name.lower(): name for name in reversed(names)}
    order = dict.fromkeys(name.lower() for name in names if name.lower() not in left)
    ordering = {bare.lower() for flow in flows for part in flow.sequence if (bare := sql.expression(part).bare)}
    extra = [name for name in given.columns if name.lower() not in {*order, *left, *ordering}]
    if extra:
        what = "the statement's COLUMNS does not list it; add it there or remove it"
        raise UsageError(what, option="--columns", value=extra[0])
    # 2. Their types: a text is a safe guess for a value; numbers and dates keep their order as timestamps.
    of_query = {name.lower(): kind for name, kind in _columns_of_query(first).items() if kind}
    types = {**of_query, **_known_types(table, given)}
    ordered = {_type_of_sequence(flow, types) for flow in flows}
    if kept and len(ordered) == 1 and (kind := next(iter(ordered))):
        types.setdefault(kept.lower(), kind)
    guess = {name: "timestamp" if kept and name == kept.lower() else "string" for name in order}
    put_columns(draft, {spelt[name]: types.get(name, guess[name]) for name in order}, Given())
    guessed = [spelt[name] for name in order if name not in types]
    for kind in dict.fromkeys(guess[name.lower()] for name in guessed):
        of_kind = ", ".join(name for name in guessed if guess[name.lower()] == kind)
        draft.note(f"The statement has no types: {kind} is a guess for {of_kind}.", "columns")
    # 3. What else the statement of the table says of them.
    for name, options in table.columns.items():
        for option in ("nullable", "comment"):
            if option in options and name.lower() in order:
                set_option(draft, spelt[name.lower()], option, options[option])
    if is_open:
        but = f" except {', '.join(left.values())}" if left else ""
        draft.note(f"COLUMNS * stands for all of the source{but}: add those that are missing.", "columns")
    draft.put("keys", [find_column(draft, name, first.label(Clause.KEYS)) for name in keys.names])


def _list_columns(flows: Sequence[Flow], table: TargetTable, given: Given) -> tuple[list[str], dict[str, str], bool]:
    """Return the columns that are known, those left out by their names in lower case, and whether there may be more."""
    chosen, left = _chosen_columns(flows)
    if chosen is not None:
        return chosen, {}, False
    own = [name for name in table.columns if name.lower() not in _ADDED]
    if not own and len(flows) == 1:
        own = [*_columns_of_query(flows[0])]
    if own:
        return own, left, False
    named = [flows[0].columns(clause) for clause in (Clause.TRACKED, Clause.NULLS)]
    names = [*given.data, *given.columns, *(name for part in named if part for name in part.names)]
    return names, left, not given.data


def _columns_of_query(flow: Flow) -> dict[str, str | None]:
    """Return the columns of the query that a snapshot is, with the types of casts; none if it does not list them."""
    text = flow.clauses.get(Clause.SNAPSHOT, "")
    return read_select(text[1:-1])[0] if text.startswith("(") else {}


def _known_types(table: TargetTable, given: Given) -> dict[str, str]:
    """Return the types that are known, by the name in lower case."""
    own = {name: options["type"] for name, options in table.columns.items()}
    return {name.lower(): kind for name, kind in {**given.data, **own, **given.columns}.items()}


def _chosen_columns(flows: Sequence[Flow]) -> tuple[list[str] | None, dict[str, str]]:
    """Return the columns that the flows list, if they do, and those that they leave out, by names in lower case."""
    chosen: Columns | None = None
    left: dict[str, str] = {}
    for flow in flows:
        listed = flow.columns(Clause.COLUMNS)
        if listed is None:
            continue
        if listed.all_but:
            for name in listed.names:
                left.setdefault(name.lower(), name)
        elif chosen is not None and listed != chosen:
            what = "lists other columns than another flow into the table; list the same in both"
            raise flow.wrong(Clause.COLUMNS, what)
        else:
            chosen = listed
    return (list(chosen.names), {}) if chosen is not None else (None, left)


def _kept_sequence(draft: Draft, flows: Sequence[Flow]) -> str | None:
    """Return the name of the column with the time of a row, which scd1 keeps; ``None`` in scd2, and if none can be."""
    if draft.options["pattern"] != "scd1" or any(flow.is_snapshot for flow in flows):
        return None
    bare = {name.lower() if name else None: name for name in (flow.bare_sequence for flow in flows)}
    return next(iter(bare.values())) or "updated_at" if len(bare) == 1 else "updated_at"


def _put_times(draft: Draft, named: dict[str, Flow], table: TargetTable, given: Given) -> None:
    """Write the history columns of scd2, or the column that orders changes in scd1."""
    types, flows = _known_types(table, given), list(named.values())
    changes = {place: flow for place, flow in named.items() if not flow.is_snapshot}
    if draft.options["pattern"] == "scd1":
        kept = _kept_sequence(draft, flows)
        if kept is not None:
            draft.put("updated_at", kept, "Orders changes across batches; AUTO CDC hides it.")
            _put_kept(draft, changes, kept)
        elif changes:
            names = ", ".join(place.split(".")[-1] for place in named if place not in changes)
            why = f"the snapshots ({names}) have no time, so no column orders rows across batches"
            draft.warnings.append(f"SEQUENCE BY: {why}; write effective_at for them, and updated_at")
    else:
        kind = _find_history_type(list(changes.values()), types)
        chosen = kind or "timestamp"
        draft.put("history.type", chosen)
        if kind is None and (changes or any(flow.has_version for flow in flows)):
            of = Clause.SEQUENCE if changes else "the version"
            draft.note(f"A guess: the statement has no type of {of}; timestamp, date or bigint.", "history", "type")
        draft.put("history.valid_from", "__START_AT", "The columns of AUTO CDC.")
        draft.put("history.valid_to", "__END_AT")
        draft.put("history.is_current", None)
        if "snapshot" in draft.options:
            draft.put("params", {"version": chosen})
    _put_ties(draft, list(changes.values()), types)


def _find_history_type(changes: Sequence[Flow], types: dict[str, str]) -> str | None:
    """Return the type of the times of versions, if it is known. Raises :class:`SpecError` if flows differ in it."""
    known = [(flow, _type_of_sequence(flow, types)) for flow in changes]
    named = {_HISTORY_TYPES.get(data_type(kind), "timestamp"): flow for flow, kind in known if kind and "<" not in kind}
    if len(named) > 1:
        *_, (kind, flow) = named.items()
        others = " and ".join(other for other in named if other != kind)
        message = f"is of type {kind}, and that of another flow into the table {others}; order both by one type"
        raise flow.wrong(Clause.SEQUENCE, message)
    start = types.get("__start_at", "<")
    return next(iter(named), None if "<" in start else _HISTORY_TYPES.get(data_type(start), "timestamp"))


def _type_of_sequence(flow: Flow, types: dict[str, str]) -> str | None:
    """Return the type of what orders the rows of a flow, if its column's is known or it is a CAST."""
    if not flow.sequence:
        return None
    if flow.bare_sequence is not None:
        return types.get(flow.bare_sequence.lower())
    tree = sqlglot.parse_one(flow.sequence[0], dialect=DIALECT)
    return tree.to.sql(dialect=DIALECT).lower() if isinstance(tree, exp.Cast | exp.TryCast) else None


def _put_kept(draft: Draft, changes: dict[str, Flow], kept: str) -> None:
    """Write where scd1's time comes from, if that is not a column of the same name."""
    if {(flow.bare_sequence or "").lower() for flow in changes.values()} != {kept.lower()}:
        values = {place.split(".")[-1]: flow.sequence[0] for place, flow in changes.items()}
        one, *others = set(values.values())
        set_option(draft, find_column(draft, kept, "updated_at"), "from", values if others else one)


def _put_ties(draft: Draft, changes: Sequence[Flow], types: dict[str, str]) -> None:
    """Write the column that keeps the further fields of SEQUENCE BY, to order rows of one time across batches."""
    ties = [flow.sequence[1:] for flow in changes]
    if not any(ties) or (draft.options["pattern"] == "scd1" and "updated_at" not in draft.options):
        return
    # One column can keep the further fields only if they are of one form.
    if len({len(fields) for fields in ties if fields}) > 1:
        hint = "write as many in each, and history.sequence or sequence"
        draft.warnings.append(f"SEQUENCE BY: the flows have different numbers of fields; {hint}")
        return
    fields = next(fields for fields in ties if fields)
    kinds = {types.get((sql.expression(field).bare or "").lower()) for field in fields}
    kind = kinds.pop() if len(kinds) == 1 else None
    place = "sequence" if draft.options["pattern"] == "scd1" else "history.sequence"
    note = "Keeps the further fields of SEQUENCE BY, which order rows of one time across batches."
    guess = "" if kind else " Its type is a guess: the statement has none."
    draft.put(place, {"name": free_name("sequence_by", draft.options["columns"]), "type": kind or "bigint"})
    draft.note(note + guess, *place.split(".")[:1])


def _put_rules(draft: Draft, flows: Sequence[Flow]) -> None:
    """Write the options of single columns, and list the clauses that are not mapped."""
    first, stored = flows[0], flows[0].stored
    changes = next((flow for flow in flows if not flow.is_snapshot), first)
    # Which columns open a version.
    tracked = first.columns(Clause.TRACKED)
    if stored == "SCD TYPE 1" and Clause.TRACKED in first.clauses:
        draft.left_out.append(f"{first.label(Clause.TRACKED)}: a table of type 1 has no history")
    elif tracked is not None:
        keys = draft.options["keys"]
        kept = _meant(draft, tracked, first.label(Clause.TRACKED))
        for name in [name for name in draft.options["columns"] if name not in kept and name not in keys]:
            set_option(draft, name, "track", False)
    # What a NULL in a change means.
    if stored == "SCD TYPE 1" and Clause.NULLS in changes.clauses:
        why = "nulls: is for scd2; source.sets can name the columns of each row"
        draft.left_out.append(f"{changes.label(Clause.NULLS)}: {why}")
    elif Clause.NULLS in changes.clauses:
        label = changes.label(Clause.NULLS)
        draft.note(f"{label}: nulls: ignore in each column that it means.", "columns")
        for name in _meant(draft, changes.columns(Clause.NULLS) or Columns((), all_but=True), label):
            set_option(draft, name, "nulls", "ignore")
    # What a table cannot keep as AUTO CDC does.
    if stored == "SCD TYPE 1" and any(Clause.DELETES in flow.clauses for flow in flows):
        _put_deletes(draft, any(Clause.SETS in flow.clauses for flow in flows))
    if stored == "BITEMPORAL":
        is_sql = first.label(Clause.STORED) == Clause.STORED
        label = "STORED AS BITEMPORAL" if is_sql else "stored_as_scd_type: bitemporal"
        draft.left_out.append(f"{label}: drafted as scd2; history.recorded keeps the time of a run")
    for flow in flows:
        if Clause.SYSTEM_SEQUENCE in flow.clauses:
            what = "history.recorded takes the time of a run, not that of a column"
            draft.left_out.append(f"{flow.label(Clause.SYSTEM_SEQUENCE)}: {what}")


def _put_deletes(draft: Draft, partial: bool) -> None:
    """Write how scd1 remembers deletes, as AUTO CDC does; it cannot if rows set only some columns."""
    if partial or "updated_at" not in draft.options:
        draft.note("A deleted key is not remembered: a late row, older than the delete, brings it back.", "pattern")
        return
    draft.put("on_delete", "mark", "AUTO CDC remembers a delete for a while; here its row stays, flagged, for good.")
    draft.put("deleted", free_name("is_deleted", draft.options["columns"]))
    *schema, table = sql.split_name(draft.options["target"])
    view = sql.quote_parts((*schema, f"{table}_current"))
    draft.put("views.current", view, "Without the flagged rows, for readers.")
    # A delete of an unknown key has NULL in its other columns.
    for name, options in draft.options["columns"].items():
        required = isinstance(options, dict) and options.get("nullable") is False
        if required and name not in (*draft.options["keys"], draft.options["updated_at"]):
            del options["nullable"]
            draft.options["columns"][name] = options if len(options) > 1 else options["type"]
            draft.left_out.append(f"{name}: nullable: false: a delete of a key that the table lacks gives no value")


def _meant(draft: Draft, columns: Columns, option: str) -> list[str]:
    """Return the columns of the draft that a list means, keys left out."""
    named = {find_column(draft, name, option) for name in columns.names}
    keys = draft.options["keys"]
    return [name for name in draft.options["columns"] if (name in named) != columns.all_but and name not in keys]
