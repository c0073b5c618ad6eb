"""Four of the tables as people write them by hand, and what a batch costs beside the specs.

Batch1 is a query with windows into an empty table; a day closes versions and opens others in one MERGE per table, fed
by two rows for each change, as the published versions do it. It knows no late row, no day twice, no file without its
others, and tests no rule. After each part the tables are those of the oracle.

    python -m tests.bench.tpcdi.by_hand [--scale SF] [--rounds N] [--days TIMES,TIMES]
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import duckdb

from scdgen.engine.session import local_session
from tests.bench.session import ROOT
from tests.bench.tpcdi import files, oracle
from tests.bench.tpcdi.play import DAILY, FIRST, Ran, hand_over, play, stage, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = ROOT / ".build" / "tpcdi-bench"
OPEN = "DATE '9999-12-31'"
COMPANY = "status, name, industry, sp_rating, is_low_grade, ceo, address_line1, address_line2, postal_code, city, " \
    "state_prov, country, description, founding_date"  # fmt: skip
SECURITY = "issue, status, name, exchange_id, shares_outstanding, first_trade, first_trade_on_exchange, dividend"
CUSTOMER = "tax_id, status, last_name, first_name, middle_initial, gender, tier, dob, address_line1, address_line2, " \
    "postal_code, city, state_prov, country, phone1, phone2, phone3, email1, email2, national_tax_rate_desc, " \
    "national_tax_rate, local_tax_rate_desc, local_tax_rate"  # fmt: skip
ACCOUNT = "broker_id, customer_id, status, account_desc, tax_status"


def _last(rows: str, key: str, order: str) -> str:
    """The last row of a day."""
    return f"SELECT * FROM {rows} QUALIFY ROW_NUMBER() OVER (PARTITION BY {key}, day ORDER BY {order} DESC) = 1"


def _lasting(rows: str, key: str) -> str:
    """Versions with their end."""
    end = f"COALESCE(LEAD(day) OVER (PARTITION BY {key} ORDER BY day), {OPEN}) AS end_date"
    return f"SELECT *, day AS effective_date, {end} FROM ({rows})"


def _filled(rows: str, key: str, columns: str) -> str:
    """What an action does not give is as before."""
    filled = ", ".join(
        f"LAST_VALUE({column}) IGNORE NULLS OVER (PARTITION BY {key} ORDER BY at) AS {column}"
        for column in columns.split(", ")
    )
    return f"(SELECT {key}, at, day, batch_id, {filled} FROM {rows})"


def _stored(key: str, columns: str, surrogate: str) -> str:
    """The columns of a table, with the flag and the surrogate key."""
    return (
        f"{key}, {columns}, batch_id, effective_date, end_date, end_date = {OPEN} AS is_current, "
        f"xxhash64({key}, effective_date) AS {surrogate}"
    )


def _split(child: str, parent: str, key: str, columns: str) -> str:
    return (
        f"SELECT {columns}, p.sk_{parent}_id, GREATEST(c.batch_id, p.batch_id) AS batch_id, GREATEST(c.effective_date, "
        f"p.effective_date) AS effective_date, LEAST(c.end_date, p.end_date) AS end_date FROM ({child}) AS c LEFT JOIN "
        f"hand.dim_{parent} AS p ON p.{key} = c.{key} AND p.effective_date < c.end_date "
        "AND c.effective_date < p.end_date"
    )


def _create(spark: SparkSession, table: str, query: str) -> None:
    spark.sql(
        f"CREATE OR REPLACE TABLE hand.{table} USING DELTA TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') "
        f"AS {query}"
    )


def company(spark: SparkSession) -> None:
    rows = _lasting(_last("(SELECT *, 1 AS batch_id FROM tpcdi_raw.finwire_cmp)", "company_id", "pts"), "company_id")
    _create(spark, "dim_company", f"SELECT {_stored('company_id', COMPANY, 'sk_company_id')} FROM ({rows})")


def security(spark: SparkSession) -> None:
    found = (
        "(SELECT s.*, COALESCE(s.company_number, n.company_id) AS company_id, 1 AS batch_id "
        "FROM tpcdi_raw.finwire_sec AS s LEFT JOIN hand.dim_company AS n ON s.company_name = n.name "
        "AND s.day >= n.effective_date AND s.day < n.end_date)"
    )
    own = ", ".join(f"c.{column}" for column in f"symbol, {SECURITY}".split(", "))
    split = _split(_lasting(_last(found, "symbol", "pts"), "symbol"), "company", "company_id", own)
    stored = _stored("symbol", f"{SECURITY}, sk_company_id", "sk_security_id")
    stored = stored.replace("dividend", "CAST(dividend AS DECIMAL(10, 2)) AS dividend")
    _create(spark, "dim_security", f"SELECT {stored} FROM ({split})")


def customer(spark: SparkSession) -> None:
    filled = _filled("tpcdi_raw.customer_actions", "customer_id", CUSTOMER)
    rows = _lasting(_last(filled, "customer_id", "at"), "customer_id")
    _create(spark, "dim_customer", f"SELECT {_stored('customer_id', CUSTOMER, 'sk_customer_id')} FROM ({rows})")


def account(spark: SparkSession) -> None:
    filled = _filled("tpcdi_raw.account_actions", "account_id", ACCOUNT)
    rows = _lasting(_last(filled, "account_id", "at"), "account_id")
    own = "c.account_id, c.broker_id, c.status, c.account_desc, c.tax_status"
    split = _split(rows, "customer", "customer_id", own)
    joined = f"({split}) AS a LEFT JOIN (SELECT broker_id, sk_broker_id FROM tpcdi.dim_broker) USING (broker_id)"
    columns = "sk_broker_id, sk_customer_id, status, account_desc, tax_status"
    _create(spark, "dim_account", f"SELECT {_stored('account_id', columns, 'sk_account_id')} FROM {joined}")


def _close_and_open(spark: SparkSession, table: str, key: str, columns: str, surrogate: str, changed: str) -> None:
    names = [*columns.split(", "), "batch_id"]
    spark.sql(
        f"MERGE INTO hand.{table} AS t USING (WITH changed AS ({changed}) SELECT {key} AS merge_key, * FROM changed "
        f"UNION ALL SELECT NULL, * FROM changed) AS s ON t.{key} = s.merge_key AND t.is_current "
        "WHEN MATCHED THEN UPDATE SET is_current = FALSE, end_date = s.day "
        f"WHEN NOT MATCHED AND s.merge_key IS NULL THEN INSERT ({key}, {', '.join(names)}, effective_date, end_date, "
        f"is_current, {surrogate}) VALUES (s.{key}, {', '.join(f's.{name}' for name in names)}, s.day, {OPEN}, TRUE, "
        f"xxhash64(s.{key}, s.day))"
    ).collect()


def customer_day(spark: SparkSession) -> None:
    changed = _last("tpcdi_raw.customer_rows", "customer_id", "cdc_dsn")
    columns = f"customer_id, {CUSTOMER}, batch_id, day"
    _close_and_open(
        spark, "dim_customer", "customer_id", CUSTOMER, "sk_customer_id", f"SELECT {columns} FROM ({changed})"
    )


def account_day(spark: SparkSession) -> None:
    """After the customers: rows of accounts, and open accounts of which the customer has a new version."""
    rows = _last("tpcdi_raw.account_rows", "account_id", "cdc_dsn")
    changed = (
        f"WITH rows AS ({rows}) "
        "SELECT account_id, b.sk_broker_id, c.sk_customer_id, r.status, account_desc, tax_status, r.batch_id, r.day "
        "FROM rows AS r LEFT JOIN tpcdi.dim_broker AS b ON r.broker_id = b.broker_id "
        "LEFT JOIN hand.dim_customer AS c ON r.customer_id = c.customer_id AND c.is_current UNION ALL "
        "SELECT account_id, sk_broker_id, new.sk_customer_id, a.status, account_desc, tax_status, new.batch_id, "
        "new.effective_date FROM hand.dim_account AS a INNER JOIN hand.dim_customer AS old "
        "ON a.sk_customer_id = old.sk_customer_id AND NOT old.is_current INNER JOIN hand.dim_customer AS new "
        "ON old.customer_id = new.customer_id AND new.is_current LEFT ANTI JOIN rows USING (account_id) "
        "WHERE a.is_current"
    )
    columns = "sk_broker_id, sk_customer_id, status, account_desc, tax_status"
    _close_and_open(spark, "dim_account", "account_id", columns, "sk_account_id", changed)


# What is measured together: of the specs, of those by hand.
PARTS = {
    "companies and securities": (("dim_company", "security", "dim_security"), (company, security)),
    "customers": (("dim_customer",), (customer,)),
    "accounts": (("account", "dim_account"), (account,)),
}
DAYS = {"customers": (("dim_customer",), (customer_day,)), "accounts": (("account", "dim_account"), (account_day,))}
TABLES = {"tpcdi": ("dim_customer", "account", "dim_account"), "hand": ("dim_customer", "dim_account")}


class Bench:
    """The seconds and bytes of each part, of the specs and by hand."""

    def __init__(self, spark: SparkSession):
        self.spark = spark
        self.seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        self.sizes: dict[tuple[str, str], int] = {}

    def round(self, number: int, feed: str, since: object = None) -> None:
        """One round, in which each way goes first every other time; number 0 warms up."""
        for name, (specs, functions) in (PARTS if feed == "actions" else DAYS).items():
            ways = ("specs", "hand") if number % 2 else ("hand", "specs")
            for way in ways:
                begin, done = time.monotonic(), list[Ran]()
                if way == "specs":
                    done = play(self.spark, specs, feed, since)  # type: ignore[arg-type]
                else:
                    for function in functions:
                        function(self.spark)
                taken = sum(each.seconds for each in done) if done else time.monotonic() - begin
                if number:
                    self.seconds[name, way].append(taken)
                if feed == "daily":
                    table = f"hand.dim_{name[:-1]}"
                    self.sizes[name, way] = sum(each.size for each in done) if done else written(self.spark, table)

    def report(self, title: str) -> None:
        print(title)
        for name in dict.fromkeys(name for name, _ in self.seconds):
            specs, hand = (self.seconds[name, way] for way in ("specs", "hand"))
            ratio = median(one / other for one, other in zip(specs, hand, strict=True))
            size = "".join(f", {way} {self.sizes[name, way] / 1e6:.2f} MB" for way in ("specs", "hand") if self.sizes)
            print(f"  {name:<25} specs {median(specs):6.1f} s, by hand {median(hand):6.1f} s, ratio {ratio:4.2f}{size}")
        self.seconds.clear()
        self.sizes.clear()


def require_same(spark: SparkSession, db: duckdb.DuckDBPyConnection, schema: str) -> None:
    """The tables of both ways are those of the oracle."""
    hand_over(spark, db, schema, tuple(oracle.KEYS))
    for name in ("dim_company", "dim_security", "dim_customer", "dim_account"):
        assert not (found := oracle.differences(db, schema, name)), (schema, name, found)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--days", default="1,100", help="how many times the changes of a day")
    given = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    world_files = FOLDER / "files"
    parts = files.write(world_files, given.scale)
    spark = local_session(FOLDER / "tables", {"spark.driver.memory": "6g"})
    spark.sql("CREATE SCHEMA hand")
    bench = Bench(spark)
    with duckdb.connect() as db:
        stage(spark, parts[0], parts[0])
        play(spark, [name for name in FIRST if name in {"dim_broker", "financial"}][:1], "actions")
        for number in range(given.rounds + 1):
            if number:
                for table in ("dim_company", "security", "dim_security", *DAILY):
                    spark.sql(f"DROP TABLE IF EXISTS tpcdi.{table}")
            bench.round(number, "actions")
        spark.sql("CREATE OR REPLACE VIEW hand.dim_broker AS SELECT * FROM tpcdi.dim_broker")
        check(spark, db, parts[:1])
        bench.report(f"scale factor {given.scale:g}, ten years; rows: {sizes(db)}")
        for times in map(float, given.days.split(",")):
            # The day after the ten years, with the changes of a greater scale factor.
            day = day_of(given.scale, times)
            stage(spark, day, parts[0])
            before = {
                f"{schema}.{table}": spark.sql(f"DESCRIBE HISTORY {schema}.{table} LIMIT 1").collect()[0].version
                for schema, tables in TABLES.items()
                for table in tables
            }
            for number in range(given.rounds + 1):
                if number:
                    for table, version in before.items():
                        spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF {version}")
                bench.round(number, "daily", files.END + files.DAY)
            check(spark, db, [parts[0], day])
            bench.report(f"scale factor {given.scale:g}, a day {times:g} times as large: {changes(db)} rows")
            for table, version in before.items():
                spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF {version}")
    spark.stop()


def day_of(scale: float, times: float) -> Path:
    """The folder of Batch2 with so many times the changes."""
    world = files.World(scale, 1)
    world.history()
    world.scale = scale * times
    folder = FOLDER / f"{times:g}" / "Batch2"
    files.write_day(folder, files.END + files.DAY, world.day(files.END + files.DAY))
    return folder


def check(spark: SparkSession, db: duckdb.DuckDBPyConnection, parts: list[Path]) -> None:
    oracle.load(db, parts)
    oracle.build(db)
    for schema in TABLES:
        require_same(spark, db, schema)


def sizes(db: duckdb.DuckDBPyConnection) -> str:
    return ", ".join(
        f"{name} {db.execute(f'SELECT COUNT(*) FROM dw.{name}').fetchall()[0][0]:,}" for name in oracle.KEYS
    )


def changes(db: duckdb.DuckDBPyConnection) -> int:
    found = db.execute("SELECT (SELECT COUNT(*) FROM src.Customer) + (SELECT COUNT(*) FROM src.Account)").fetchall()
    return int(found[0][0])


if __name__ == "__main__":
    main()
