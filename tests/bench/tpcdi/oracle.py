"""The six tables computed from all files at once: Python reads the XML, DuckDB the rest. Nothing of scdgen is used.

The rules: an action gives some values, and the others stay; a full row gives all; the last of a day counts; a version
ends where the next one of its key begins; an account or a security has a version for each version of its customer or
company; a company is named by its number, or by the name that it has on the day of the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import pyarrow as pa

from tests.bench.tpcdi.files import ACCOUNT, ADDRESS, CMP, CUSTOMER, FIN, NAME, SEC

# Table -> its key, and the name of its surrogate key.
KEYS = {
    "dim_broker": ("broker_id", "sk_broker_id"),
    "dim_company": ("company_id", "sk_company_id"),
    "dim_security": ("symbol", "sk_security_id"),
    "dim_customer": ("customer_id", "sk_customer_id"),
    "dim_account": ("account_id", "sk_account_id"),
}
TABLES = (*KEYS, "financial")
# Table -> the surrogate keys of other tables in it.
PARENTS = {
    "dim_security": {"sk_company_id": "dim_company"},
    "dim_account": {"sk_broker_id": "dim_broker", "sk_customer_id": "dim_customer"},
    "financial": {"sk_company_id": "dim_company"},
}
HISTORY = ("effective_date", "end_date", "is_current")
_ACTION = ("batch_id", "kind", "ts", *CUSTOMER, *ACCOUNT)
_STATES = "CASE st WHEN 'ACTV' THEN 'Active' WHEN 'INAC' THEN 'Inactive' END"


def read_xml(path: Path, batch: int) -> list[tuple[object, ...]]:
    """The actions of a file; None where an action gives no value."""
    found: list[tuple[object, ...]] = []
    for element in ElementTree.parse(path).getroot():
        customer = element.find("Customer")
        assert customer is not None
        account = customer.find("Account")
        contact: dict[str, str | None] = {}
        for n in (1, 2, 3):
            for tag, name in (("CTRY_CODE", "CTRY"), ("AREA_CODE", "AREA"), ("LOCAL", "LOCAL"), ("EXT", "EXT")):
                contact[f"C_{name}_{n}"] = customer.findtext(f"ContactInfo/C_PHONE_{n}/C_{tag}")
        given = {**customer.attrib, **contact, **(account.attrib if account is not None else {})}
        for part, names in (("Name", NAME), ("Address", ADDRESS), ("TaxInfo", ("C_LCL_TX_ID", "C_NAT_TX_ID")),
                            ("Account", ("CA_B_ID", "CA_NAME"))):  # fmt: skip
            given |= {name: customer.findtext(f"{part}/{name}") for name in names}
        given["C_EMAIL_1"] = customer.findtext("ContactInfo/C_PRIM_EMAIL")
        given["C_EMAIL_2"] = customer.findtext("ContactInfo/C_ALT_EMAIL")
        given["CA_C_ID"] = given["C_ID"] if account is not None else None
        head = (batch, element.attrib["ActionType"], element.attrib["ActionTS"])
        found.append((*head, *(given.get(name) or None for name in (*CUSTOMER, *ACCOUNT))))
    return found


def _fixed(widths: Sequence[int], names: Sequence[str], rest: str = "") -> str:
    """Columns of a fixed line."""
    starts = [1 + sum(widths[:n]) for n in range(len(widths))]
    columns = [
        f"NULLIF(RTRIM(SUBSTR(line, {start}, {width})), '') AS {name}"
        for start, width, name in zip(starts, widths, names, strict=True)
    ]
    return ", ".join([*columns, *([f"RTRIM(SUBSTR(line, {1 + sum(widths)})) AS {rest}"] if rest else [])])


def load(db: duckdb.DuckDBPyConnection, folders: Sequence[Path]) -> None:
    """Read all files below the folders of batches into the schema ``src``."""
    db.execute("DROP SCHEMA IF EXISTS src CASCADE; CREATE SCHEMA src")
    texts = ", ".join(f"{name} TEXT" for name in _ACTION[3:])
    db.execute(f"CREATE TABLE src.actions (batch_id INT, kind TEXT, ts TIMESTAMP, {texts})")

    def batch_of(path: Path) -> int:
        return next(int(part.removeprefix("Batch")) for part in path.parts if part.startswith("Batch"))

    def rows(name: str, columns: Sequence[str], mark: str) -> None:
        db.execute(f"CREATE TABLE src.{name.split('.')[0]} (batch_id INT, {', '.join(f'{c} TEXT' for c in columns)})")
        for folder in folders:
            for path in sorted(folder.rglob(name)):
                if not path.stat().st_size:
                    continue
                types = ", ".join(f"'{column}': 'TEXT'" for column in columns)
                db.execute(
                    f"INSERT INTO src.{name.split('.')[0]} SELECT {batch_of(path)}, * FROM read_csv('{path}', "
                    f"sep = '{mark}', header = false, nullstr = '', quote = '', columns = {{{types}}})"
                )

    for folder in folders:
        for path in sorted(folder.rglob("CustomerMgmt.xml")):
            if found := read_xml(path, batch_of(path)):
                columns = zip(_ACTION, zip(*found, strict=True), strict=True)
                db.register("found", pa.table({name: pa.array(column) for name, column in columns}))
                db.execute("INSERT INTO src.actions SELECT * FROM found")
    rows("Customer.txt", ("flag", "dsn", *CUSTOMER), "|")
    rows("Account.txt", ("flag", "dsn", *ACCOUNT), "|")
    rows("BatchDate.txt", ("day",), "|")
    hr = ("employee", "manager", "first", "last", "middle", "code", "branch", "office", "phone")
    rows("HR.csv", hr, ",")
    rows("TaxRate.txt", ("tx_id", "tx_name", "tx_rate"), "|")
    rows("Industry.txt", ("in_id", "in_name", "in_sc_id"), "|")
    for name in ("TaxRate", "Industry"):
        db.execute(f"ALTER TABLE src.{name} DROP batch_id")
    db.execute("CREATE TABLE src.lines (line TEXT)")
    for folder in folders:
        for path in sorted(folder.rglob("FINWIRE*")):
            db.execute(
                f"INSERT INTO src.lines SELECT * FROM read_csv('{path}', sep = '\x01', header = false, quote = '', "
                "columns = {'line': 'TEXT'})"
            )
    cmp_names = ("pts", "kind", "name", "cik", "st", "in_id", "rating", "founded", "ad1", "ad2", "zip", "city", "state",
                 "country", "ceo", "description")  # fmt: skip
    sec_names = ("pts", "kind", "symbol", "issue", "st", "name", "exchange", "shares", "trade", "traded", "dividend")
    fin_names = ("pts", "kind", "year", "quarter", "quarter_start", "posted", "revenue", "earnings", "eps", "diluted",
                 "margin", "inventory", "assets", "liability", "shares", "shares_diluted")  # fmt: skip
    day = "STRPTIME(LEFT(pts, 8), '%Y%m%d')::DATE AS day"
    for kind, widths, names, rest in (
        ("CMP", CMP, cmp_names, ""),
        ("SEC", SEC, sec_names, "company"),
        ("FIN", FIN, fin_names, "company"),
    ):
        fields = _fixed(widths, names, rest)
        db.execute(
            f"CREATE TABLE src.{kind} AS SELECT *, {day} FROM (SELECT {fields} FROM src.lines) WHERE kind = '{kind}'"
        )


_PHONE = """
CASE WHEN C_LOCAL_{n} IS NOT NULL THEN
    CASE WHEN C_AREA_{n} IS NULL THEN '' WHEN C_CTRY_{n} IS NULL THEN '(' || C_AREA_{n} || ') '
        ELSE '+' || C_CTRY_{n} || ' (' || C_AREA_{n} || ') ' END || C_LOCAL_{n} || COALESCE(C_EXT_{n}, '')
END AS phone{n}"""
_CUSTOMER_VALUES = f"""
C_TAX_ID AS tax_id, {_STATES} AS status, C_L_NAME AS last_name, C_F_NAME AS first_name, C_M_NAME AS middle_initial,
CASE WHEN UPPER(C_GNDR) IN ('M', 'F') THEN UPPER(C_GNDR) WHEN whole OR C_GNDR IS NOT NULL THEN 'U' END AS gender,
C_TIER::INT AS tier, C_DOB::DATE AS dob, C_ADLINE1 AS address_line1, C_ADLINE2 AS address_line2,
C_ZIPCODE AS postal_code, C_CITY AS city, C_STATE_PROV AS state_prov, C_CTRY AS country,
{",".join(_PHONE.format(n=n) for n in (1, 2, 3))},
C_EMAIL_1 AS email1, C_EMAIL_2 AS email2, nat.tx_name AS national_tax_rate_desc,
nat.tx_rate::DECIMAL(6, 5) AS national_tax_rate, lcl.tx_name AS local_tax_rate_desc,
lcl.tx_rate::DECIMAL(6, 5) AS local_tax_rate"""
_ACCOUNT_VALUES = f"""
CA_B_ID::BIGINT AS broker_id, CA_C_ID::BIGINT AS customer_id, {_STATES} AS status, CA_NAME AS account_desc,
CA_TAX_ST::INT AS tax_status"""
CUSTOMERS = f"""
SELECT id, day, ts, whole, batch_id, {_CUSTOMER_VALUES}
FROM (
    SELECT *, C_ID::BIGINT AS id, ts::DATE AS day, kind = 'NEW' AS whole,
        CASE kind WHEN 'NEW' THEN 'ACTV' WHEN 'INACT' THEN 'INAC' END AS st
    FROM src.actions WHERE kind IN ('NEW', 'UPDCUST', 'INACT')
    UNION ALL BY NAME
    SELECT * EXCLUDE (day), C_ID::BIGINT AS id, day::DATE AS day,
        day::TIMESTAMP + TO_SECONDS(dsn::INT) AS ts, true AS whole,
        C_ST_ID AS st
    FROM src.Customer JOIN src.BatchDate USING (batch_id)
)
LEFT JOIN src.TaxRate AS nat ON nat.tx_id = C_NAT_TX_ID
LEFT JOIN src.TaxRate AS lcl ON lcl.tx_id = C_LCL_TX_ID"""
ACCOUNTS = f"""
SELECT id, day, ts, whole, batch_id, {_ACCOUNT_VALUES}
FROM (
    SELECT *, CA_ID::BIGINT AS id, ts::DATE AS day, kind IN ('NEW', 'ADDACCT') AS whole,
        CASE kind WHEN 'NEW' THEN 'ACTV' WHEN 'ADDACCT' THEN 'ACTV' WHEN 'CLOSEACCT' THEN 'INAC' END AS st
    FROM src.actions WHERE CA_ID IS NOT NULL
    UNION ALL BY NAME
    SELECT * EXCLUDE (day), CA_ID::BIGINT AS id, day::DATE AS day,
        day::TIMESTAMP + TO_SECONDS(dsn::INT) AS ts, true AS whole,
        CA_ST_ID AS st
    FROM src.Account JOIN src.BatchDate USING (batch_id)
)"""
COMPANIES = """
SELECT cik::BIGINT AS company_id, CASE st WHEN 'ACTV' THEN 'Active' WHEN 'INAC' THEN 'Inactive' END AS status, name,
    in_name AS industry, rating AS sp_rating, rating[1] <> 'A' AND LEFT(rating, 3) <> 'BBB' AS is_low_grade, ceo,
    ad1 AS address_line1, ad2 AS address_line2, zip AS postal_code, city, state AS state_prov, country, description,
    STRPTIME(founded, '%Y%m%d')::DATE AS founding_date, 1 AS batch_id, day AS effective_date
FROM (
    SELECT * REPLACE (CASE WHEN list_contains(['AAA', 'AA', 'A', 'BBB', 'BB', 'B', 'CCC', 'CC', 'C', 'D', 'AA+', 'A+',
        'BBB+', 'BB+', 'B+', 'CCC+', 'AA-', 'A-', 'BBB-', 'BB-', 'B-', 'CCC-'], rating) THEN rating END AS rating)
    FROM src.CMP QUALIFY ROW_NUMBER() OVER (PARTITION BY cik, day ORDER BY pts DESC) = 1
)
LEFT JOIN src.Industry USING (in_id)"""
_SECURITIES = """
SELECT symbol, issue, CASE st WHEN 'ACTV' THEN 'Active' WHEN 'INAC' THEN 'Inactive' END AS status, s.name,
    exchange AS exchange_id, shares::BIGINT AS shares_outstanding, STRPTIME(trade, '%Y%m%d')::DATE AS first_trade,
    STRPTIME(traded, '%Y%m%d')::DATE AS first_trade_on_exchange, dividend::DECIMAL(10, 2) AS dividend,
    1 AS batch_id, c.company_id, s.day AS effective_date
FROM (SELECT * FROM src.SEC QUALIFY ROW_NUMBER() OVER (PARTITION BY symbol, day ORDER BY pts DESC) = 1) AS s
LEFT JOIN dw.dim_company AS c ON s.day >= c.effective_date AND s.day < c.end_date
    AND CASE WHEN s.company SIMILAR TO '[0-9]{10}' THEN c.company_id = s.company::BIGINT ELSE c.name = s.company END"""


def _filled(events: str, key: str) -> str:
    """Of each day of a key the values after its last event; what an event does not give is as before."""
    return f"""
SELECT id AS {key}, COLUMNS(* EXCLUDE (id, day, ts, whole, batch_id, part)), batch_id, day AS effective_date FROM (
    SELECT id, day, ts, whole, batch_id, part,
        LAST_VALUE(COLUMNS(* EXCLUDE (id, day, ts, whole, batch_id, part)) IGNORE NULLS)
        OVER (PARTITION BY id, part ORDER BY ts)
    FROM (SELECT *, COUNT(*) FILTER (whole) OVER (PARTITION BY id ORDER BY ts) AS part FROM ({events}))
) QUALIFY ROW_NUMBER() OVER (PARTITION BY id, day ORDER BY ts DESC) = 1"""


def _versions(rows: str, key: str) -> str:
    end = f"COALESCE(LEAD(effective_date) OVER (PARTITION BY {key} ORDER BY effective_date), DATE '9999-12-31')"
    return f"SELECT *, {end} AS end_date FROM ({rows})"


def _split(child: str, parent: str, columns: str, own: str) -> str:
    """A row for each pair of a version and the version of its parent that it meets."""
    key = KEYS[parent][0]
    return f"""
SELECT {columns}, GREATEST(c.batch_id, p.batch_id) AS batch_id,
    GREATEST(c.effective_date, p.effective_date) AS effective_date, LEAST(c.end_date, p.end_date) AS end_date
FROM ({child}) AS c LEFT JOIN dw.{parent} AS p
    ON p.{key} = c.{key} AND p.effective_date < c.end_date AND c.effective_date < p.end_date {own}"""


def _create(db: duckdb.DuckDBPyConnection, name: str, query: str) -> None:
    """A table with the flag, and a number as its surrogate key."""
    key, surrogate = KEYS[name]
    db.execute(
        f"CREATE TABLE dw.{name} AS SELECT *, end_date = '9999-12-31' AS is_current, "
        f"(HASH({key}, effective_date) >> 1)::BIGINT AS {surrogate} FROM ({query})"
    )


def build(db: duckdb.DuckDBPyConnection) -> None:
    """The tables in the schema ``dw``, of all files that are loaded."""
    db.execute("DROP SCHEMA IF EXISTS dw CASCADE; CREATE SCHEMA dw")
    brokers = """
    SELECT employee::BIGINT AS broker_id, manager::BIGINT AS manager_id, first AS first_name, last AS last_name,
        middle AS middle_initial, branch, office, phone, 1 AS batch_id, DATE '1950-01-01' AS effective_date
    FROM src.HR WHERE code = '314'"""
    _create(db, "dim_broker", _versions(brokers, "broker_id"))
    _create(db, "dim_company", _versions(COMPANIES, "company_id"))
    security = "symbol, issue, c.status, c.name, exchange_id, sk_company_id, shares_outstanding, first_trade, " \
        "first_trade_on_exchange, dividend"  # fmt: skip
    _create(db, "dim_security", _split(_versions(_SECURITIES, "symbol"), "dim_company", security, ""))
    _create(db, "dim_customer", _versions(_filled(CUSTOMERS, "customer_id"), "customer_id"))
    account = "account_id, sk_broker_id, sk_customer_id, c.status, account_desc, tax_status"
    accounts = _versions(_filled(ACCOUNTS, "account_id"), "account_id")
    join = "LEFT JOIN (SELECT broker_id, sk_broker_id FROM dw.dim_broker) AS b ON b.broker_id = c.broker_id"
    _create(db, "dim_account", _split(accounts, "dim_customer", account, join))
    db.execute("""
    CREATE TABLE dw.financial AS
    SELECT c.sk_company_id, year::INT AS fi_year, quarter::INT AS fi_qtr,
        STRPTIME(quarter_start, '%Y%m%d')::DATE AS fi_qtr_start_date, revenue::DECIMAL(15, 2) AS fi_revenue,
        earnings::DECIMAL(15, 2) AS fi_net_earn, eps::DECIMAL(10, 2) AS fi_basic_eps,
        diluted::DECIMAL(10, 2) AS fi_dilut_eps, margin::DECIMAL(10, 2) AS fi_margin,
        inventory::DECIMAL(15, 2) AS fi_inventory, assets::DECIMAL(15, 2) AS fi_assets,
        liability::DECIMAL(15, 2) AS fi_liability, shares::BIGINT AS fi_out_basic,
        shares_diluted::BIGINT AS fi_out_dilut
    FROM src.FIN AS f JOIN dw.dim_company AS c ON c.effective_date <= f.day AND f.day < c.end_date
        AND (c.company_id = TRY_CAST(f.company AS BIGINT) OR c.name = f.company)""")


def comparable(db: duckdb.DuckDBPyConnection, schema: str, table: str) -> str:
    """A query of the table in which surrogate keys are the keys and starts that they stand for."""
    columns = [row[0] for row in db.execute(f"DESCRIBE dw.{table}").fetchall()]
    own = KEYS[table][1] if table in KEYS else ""
    shown = []
    joins = ""
    for column in columns:
        parent = PARENTS.get(table, {}).get(column)
        if parent:
            joins += f" LEFT JOIN {schema}.{parent} AS {parent} ON t.{column} = {parent}.{column}"
            shown.append(f"{parent}.{KEYS[parent][0]} || ' ' || {parent}.effective_date AS {column}")
        elif column != own:
            shown.append(f"t.{column}")
    return f"SELECT {', '.join(shown)} FROM {schema}.{table} AS t{joins}"


def differences(db: duckdb.DuckDBPyConnection, schema: str, table: str, limit: int = 5) -> list[tuple[object, ...]]:
    """Rows that only ``schema``, or only ``dw``, has."""
    theirs, ours = comparable(db, schema, table), comparable(db, "dw", table)
    return db.execute(
        f"(SELECT '{schema}' AS only_in, * FROM ({theirs} EXCEPT ALL {ours}) LIMIT {limit}) "
        f"UNION ALL (SELECT 'dw', * FROM ({ours} EXCEPT ALL {theirs}) LIMIT {limit})"
    ).fetchall()
