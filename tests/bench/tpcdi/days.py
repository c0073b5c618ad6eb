"""The generated SQL over many days on DuckDB, translated as ``scdgen test`` does it: hundreds of runs in minutes.

The rows are those that staging.sql makes of the files, made here from what the oracle has read. Each run has the rows
of some days, the tables with versions in their order; what comes out is compared with the oracle.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import duckdb

from scdgen import load_spec
from scdgen.duck.database import Database
from scdgen.model.spec import Spec
from tests.bench.tpcdi import files, oracle
from tests.bench.tpcdi.oracle import ACCOUNTS, CUSTOMERS
from tests.bench.tpcdi.play import DAILY, FED, FIRST, FOLDER, FOLLOWING


def _actions(db: duckdb.DuckDBPyConnection, events: str, key: str) -> str:
    """Events with the names of the columns that they give."""
    names = [row[0] for row in db.execute(f"DESCRIBE {events}").fetchall()]
    given = [name for name in names if name not in {"id", "day", "ts", "whole"}]
    found = ", ".join(f"CASE WHEN {name} IS NOT NULL THEN '{name}' END" for name in given)
    sets = f"CASE WHEN NOT whole THEN list_filter([{found}], lambda name: name IS NOT NULL) END AS sets"
    return f'SELECT id AS {key}, day, ts AS "at", ts AS cdc_dsn, {", ".join(given)}, {sets} FROM ({events})'


def _sources(db: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, str, str]]:
    """Name, query and spec of each table that the specs read; each has a column ``day``."""
    brokers = (
        "employee::BIGINT AS employee_id, manager::BIGINT AS manager_id, first AS first_name, last AS last_name, "
        "middle AS middle_initial, branch, office, phone, code AS job_code"
    )
    yield "hr", f"SELECT {brokers}, DATE '1950-01-01' AS day FROM src.HR", "dim_broker"
    yield "finwire_cmp", oracle.COMPANIES.replace("day AS effective_date", "pts, day"), "dim_company"
    security = (
        "pts, day, symbol, issue, CASE st WHEN 'ACTV' THEN 'Active' ELSE 'Inactive' END AS status, name, exchange AS "
        "exchange_id, shares::BIGINT AS shares_outstanding, STRPTIME(trade, '%Y%m%d')::DATE AS first_trade, "
        "STRPTIME(traded, '%Y%m%d')::DATE AS first_trade_on_exchange, dividend::DECIMAL(10, 2) AS dividend, "
        "TRY_CAST(company AS BIGINT) AS company_number, company AS company_name"
    )
    yield "finwire_sec", f"SELECT {security} FROM src.SEC", "security"
    for name, events, key, spec in (
        ("customer", CUSTOMERS, "customer_id", "dim_customer"),
        ("account", ACCOUNTS, "account_id", "account"),
    ):
        query = _actions(db, events, key)
        yield f"{name}_actions", f"SELECT * FROM ({query}) WHERE day <= '{files.END}'", spec
        yield f"{name}_rows", f"SELECT * EXCLUDE (sets) FROM ({query}) WHERE day > '{files.END}'", spec


def play_days(db: duckdb.DuckDBPyConnection, runs: int) -> Database:
    """Play the files that ``db`` has loaded in so many runs of equal time, and the two days; return the tables."""
    world = Database()
    inner = world._db
    sources = {}
    for name, query, spec in _sources(db):
        _copy(db, inner, name, query)
        sources[name] = spec
    specs: dict[tuple[str, str], Spec] = {}
    order = [name for name in (*FIRST, *DAILY) if name != "financial"]
    for name in order:
        loaded = load_spec(FOLDER / f"{name}.yml")
        for feed in ("actions", "daily"):
            specs[name, feed] = loaded.for_feed(feed) if name in FED else loaded
    for first, last in _periods(runs):
        feed = "actions" if last <= files.END else "daily"
        due = set()
        for name, spec in sources.items():
            inner.execute(
                f"CREATE OR REPLACE TABLE tpcdi_raw.{name} AS SELECT * FROM kept.{name} "
                f"WHERE day BETWEEN '{first}' AND '{last}'"
            )
            if inner.execute(f"SELECT COUNT(*) FROM tpcdi_raw.{name}").fetchall()[0][0]:
                due.add(spec)
        due |= {"dim_security"} if due & {"dim_company", "security"} else set()
        due |= {"dim_account"} if due & {"dim_customer", "account"} else set()
        begun = first > files.BEGIN
        for name in order:
            if name in due:
                params = {"since": f"{first}"} if name in FOLLOWING and begun else {}
                world.run(specs[name, feed], params=params)
    return world


def _copy(db: duckdb.DuckDBPyConnection, inner: duckdb.DuckDBPyConnection, name: str, query: str) -> None:
    inner.execute("CREATE SCHEMA IF NOT EXISTS kept; CREATE SCHEMA IF NOT EXISTS tpcdi_raw")
    inner.register("_found", db.sql(query).to_arrow_table())
    inner.execute(f"CREATE TABLE kept.{name} AS SELECT * FROM _found")
    inner.unregister("_found")


def _periods(runs: int) -> Iterator[tuple[dt.date, dt.date]]:
    """First and last day of each run; the first one has all that is older."""
    length = (files.END - files.BEGIN).days + 1
    firsts = [files.BEGIN + -(-number * length // runs) * files.DAY for number in range(runs)]
    lasts = [first - files.DAY for first in firsts[1:]] + [files.END]
    firsts[0] = dt.date(1900, 1, 1)
    yield from zip(firsts, lasts, strict=True)
    for number in (1, 2):
        yield files.END + number * files.DAY, files.END + number * files.DAY


def hand_over(world: Database, db: duckdb.DuckDBPyConnection, schema: str) -> None:
    """Copy the tables that were played into a schema of another database."""
    db.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}")
    for name in oracle.KEYS:
        db.register("_found", world._db.sql(f"SELECT * FROM tpcdi.{name}").to_arrow_table())
        db.execute(f"CREATE TABLE {schema}.{name} AS SELECT * FROM _found")
        db.unregister("_found")
