"""Tables read without Spark have the rows, changes and log that Spark reads, with values of every type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scdgen import Runner, load_spec_text
from scdgen.engine.session import register_tables
from scdgen.model.spec import Spec
from scdgen.paths import spark_url
from scdgen.run.diff import DiffFilter, read_diff
from scdgen.run.local import LocalTables, UnreadableError
from scdgen.run.versions import SparkTables, VersionFilter, read_history, read_versions
from tests.conftest import Called

# Column -> type, and the values of three versions.
TYPES = {
    "flag": ("boolean", ("true", "false", "NULL")),
    "tiny": ("tinyint", ("1", "-128", "NULL")),
    "small": ("smallint", ("1", "32767", "1")),
    "number": ("int", ("-1", "-1", "2147483647")),
    "big": ("bigint", ("1", "9007199254740993", "-9223372036854775808")),
    "single": ("float", ("0.1", "'NaN'", "3.4028235e38")),
    "twice": ("double", ("1e-300", "'-Infinity'", "12345678.9")),
    "price": ("decimal(9,2)", ("1.50", "0.00", "-1234567.89")),
    "wide": ("decimal(38,10)", ("1234567890123456789012345678.0123456789", "0.0000000001", "NULL")),
    "name": ("string", ("''", "'NULL'", "'\\u00e9\\n\\ud83d\\ude00 \"'")),
    "code": ("varchar(20)", ("'a'", "'A'", "NULL")),
    "fixed": ("char(3)", ("'a'", "'b'", "'abc'")),
    "day": ("date", ("'0001-01-01'", "'9999-12-31'", "'2024-02-29'")),
    "moment": ("timestamp", ("'2024-01-01 00:00:00.000001'", "'0001-01-01'", "'9999-12-31 23:59:59.5'")),
    "clock": ("timestamp_ntz", ("'2024-03-31 02:30:00'", "'1582-10-10 00:00:00'", "NULL")),
    "raw": ("binary", ("X'00FF'", "X''", "NULL")),
    "list": ("array<decimal(4,1)>", ("array(1.5, NULL)", "array()", "NULL")),
    "parts": (
        "struct<at:timestamp,raw:binary,days:array<date>>",
        (
            "named_struct('at', TIMESTAMP '9999-12-31 23:59:59.5', 'raw', X'0A', 'days', array(DATE '2024-01-02'))",
            "named_struct('at', NULL, 'raw', NULL, 'days', NULL)",
            "NULL",
        ),
    ),
}
KEYS = ("1", "-5", "20")
HISTORIES = {
    "plain": "history: {}",
    "literal": "history: {open_end: '9999-12-31 23:59:59.999', gap: 1 millisecond, action: did}",
    "days": "history: {type: date, gap: 1 day, is_current: {name: cur, type: int, open: 1, closed: 0}}",
    "numbers": "history: {type: bigint, gap: 1, open_end: 999}",
    "mark": "history: {deleted: gone, is_current: null}\non_delete: mark",
    "keep": "unchanged: keep",
    "run": "history: {open_end: last_run, gap: 1 microsecond}\nparams: {last_run: timestamp}",
}

NAMES = [*HISTORIES, "scd1"]


def spec_of(name: str, more: str, pattern: str = "scd2") -> Spec:
    columns = "".join(
        f"  {column}: {{type: '{kind}'}}\n"
        for column, (kind, _) in TYPES.items()
        if pattern == "scd2" or column != "fixed"  # Delta cannot update a CHAR column by an expression over itself
    )
    return load_spec_text(
        f"target: look.{name}\npattern: {pattern}\n"
        f"source: {{table: nowhere, effective_at: at{', delete_when: gone_by' if pattern == 'scd2' else ''}}}\n"
        f"keys: [id]\ncolumns:\n  id: int\n{columns}{more}\n"
    )


def merge(spark: Any, spec: Spec, batch: int) -> str:
    """Merge a batch with versions of three keys, of which one is deleted or comes again; the id of the run."""
    rows = []
    for place, key in enumerate(KEYS):
        for step in (0, 1) if batch == 0 else (2, 3):
            values = [
                f"CAST({of[(place + step) % 3]} AS {'string' if 'char' in kind else kind}) AS {name}"
                for name, (kind, of) in TYPES.items()
            ]
            at = {"date": f"DATE '2024-0{step + 1}-1{place}'", "bigint": f"{10 * step + place}L"}.get(
                spec.history.type, f"TIMESTAMP '2024-0{step + 1}-1{place} 06:00:00.25'"
            )
            rows.append(f"SELECT {key} AS id, {', '.join(values)}, {at} AS at, {key} = -5 AND {step} = 1 AS gone_by")
    run = f"{spec.target_parts[-1]}-{batch}"
    params = {"last_run": f"2024-12-0{batch + 1}"} if spec.params else {}
    Runner(spark, run_id=run).run(spec, source=spark.sql(" UNION ALL ".join(rows)), params=params)
    return run


def looks(spec: Spec) -> list[Any]:
    """Everything that the commands ask: (how, filter)."""
    first = {"date": "2024-02-15", "bigint": "12"}.get(spec.history.type, "2024-02-15 00:00:00")
    last = {"date": "2024-03-31", "bigint": "22"}.get(spec.history.type, "2024-03-31")
    versions = [VersionFilter(), VersionFilter({"id": "-5"}, deleted=True)]
    runs = [DiffFilter(run_id=f"{spec.target_parts[-1]}-{batch}") for batch in (0, 1)]
    runs.append(DiffFilter(run_id=runs[1].run_id, keys={"id": "20"}))
    if spec.keeps_history:
        versions += [VersionFilter(as_of=first), VersionFilter(current=True)]
        runs += [DiffFilter(first, last), DiffFilter(first), DiffFilter(first, keys={"id": "1"})]
    return [*versions, *runs]


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_rows_without_spark_are_those_of_spark(spark: Any, warehouse: Path, name: str) -> None:
    spec = spec_of(name, "updated_at: seen", "scd1") if name == "scd1" else spec_of(name, HISTORIES[name])
    for batch in (0, 1):
        merge(spark, spec, batch)
    local, ours = LocalTables(warehouse), SparkTables(spark)
    for wanted in looks(spec):
        read: Any = read_versions if isinstance(wanted, VersionFilter) else read_diff
        for limit in (0, 2) if wanted in (VersionFilter(), DiffFilter(run_id=f"{name}-1")) else (0,):
            found, expected = read(local, spec, wanted, limit), read(ours, spec, wanted, limit)
            assert repr(found) == repr(expected), wanted  # repr: NaN differs from itself, and true from 1
            assert expected.rows, wanted
    assert read_history(local, spec) == read_history(ours, spec)
    assert read_history(local, spec, 1) == read_history(ours, spec, 1)


@pytest.mark.nightly
def test_tables_below_a_folder_with_odd_characters_are_found_again(spark: Any, tmp_path: Path) -> None:
    """Neither percent-encoded nor a pattern: a warehouse below "My Documents (100%)"."""
    folder = tmp_path / "My Documents (100%20) [a]*"
    spark.range(3).write.format("delta").save(spark_url(folder / "odd.db/t"))
    register_tables(spark, folder)
    try:
        assert spark.table("odd.t").count() == 3
    finally:
        spark.sql("DROP SCHEMA odd CASCADE")
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


@pytest.mark.nightly
def test_what_might_differ_is_left_to_spark(spark: Any, warehouse: Path) -> None:
    local = LocalTables(warehouse)
    maps = load_spec_text(
        "target: look.maps\npattern: scd1\nsource: {table: nowhere}\nkeys: [id]\n"
        "columns: {id: 'decimal(4,1)', by_day: 'map<date,int>'}\n"
    )
    Runner(spark).run(maps, source=spark.sql("SELECT 1.5 AS id, MAP(DATE '2024-01-01', 3) AS by_day"))
    with pytest.raises(UnreadableError, match="Map"):
        read_versions(local, maps, VersionFilter())
    with pytest.raises(UnreadableError, match=r"'1\.5' may not be a DECIMAL"):
        read_versions(local, maps, VersionFilter({"id": "1.5"}))
    mapped = load_spec_text(
        "target: look.mapped\npattern: scd1\nsource: {table: nowhere}\nkeys: [id]\ncolumns: {id: int}\n"
        "table: {properties: {delta.columnMapping.mode: name}}\n"
    )
    Runner(spark).run(mapped, source=spark.sql("SELECT 1 AS id"))
    with pytest.raises(UnreadableError, match="columnMapping"):
        read_versions(local, mapped, VersionFilter())


@pytest.mark.verify
def test_commands_read_the_warehouse_without_spark(
    spark: Any, warehouse: Path, called: Called, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "target: look.quick\npattern: scd2\nsource: {table: x, effective_at: at}\nkeys: [id]\ncolumns: {id: int}\n"
    file = tmp_path / "quick.yml"
    file.write_text(text)
    Runner(spark, run_id="q1").run(load_spec_text(text), source=spark.sql("SELECT 1 AS id, DATE '2024-01-01' AS at"))

    def ask(*given: str) -> list[tuple[int, str, str]]:
        commands = (("show", "--key", "id=1"), ("diff", "--run", "q1"), ("diff", "--from", "2023-01-01"), ("history",))
        return [called(name, str(file), *options, *given) for name, *options in commands]

    with_spark = ask("--conf", "spark.sql.session.timeZone=UTC")
    monkeypatch.setattr("scdgen.engine.session.local_session", lambda *_: pytest.fail("Spark was started"))
    assert ask("--warehouse", str(warehouse)) == with_spark
    assert [status for status, _, _ in with_spark] == [0, 0, 0, 0]
