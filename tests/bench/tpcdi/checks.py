"""76 checks of the six tables, as many as TPC-DI's audit has of them; in our own words, and by our own queries.

Each has the rule that it stands for, a query for the rows that break it, and a statement that breaks a table so that
the query must find a row. They read the tables in the schema ``dw`` and the files in ``src`` (see ``oracle``).
"""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from tests.bench.tpcdi.files import END, INDUSTRY, RATINGS

OPEN = "DATE '9999-12-31'"


class Check(NamedTuple):
    """A rule about a table."""

    table: str
    name: str
    rule: str
    query: str  # rows that break the rule
    breaks: str  # a statement after which there is one


# Table -> key, surrogate key, rows of its own sources: key and day.
_HISTORIES = {
    "dim_company": ("company_id", "sk_company_id", "SELECT cik::BIGINT AS key, day FROM src.CMP"),
    "dim_security": ("symbol", "sk_security_id", "SELECT symbol AS key, day FROM src.SEC"),
    "dim_customer": (
        "customer_id",
        "sk_customer_id",
        "SELECT C_ID::BIGINT AS key, ts::DATE AS day FROM src.actions WHERE kind IN ('NEW', 'UPDCUST', 'INACT') "
        "UNION ALL SELECT C_ID::BIGINT, day::DATE FROM src.Customer JOIN src.BatchDate USING (batch_id)",
    ),
    "dim_account": (
        "account_id",
        "sk_account_id",
        "SELECT CA_ID::BIGINT AS key, ts::DATE AS day FROM src.actions WHERE CA_ID IS NOT NULL "
        "UNION ALL SELECT CA_ID::BIGINT, day::DATE FROM src.Account JOIN src.BatchDate USING (batch_id)",
    ),
}
# The days of a batch. FINWIRE begins before the actions do.
_WINDOWS = f"(VALUES (1, DATE '1950-01-01', DATE '{END}'), (2, DATE '{END}' + 1, DATE '{END}' + 1), " \
    f"(3, DATE '{END}' + 2, DATE '{END}' + 2)) AS w (batch_id, first, last)"  # fmt: skip


def _history_checks(table: str) -> list[Check]:
    key, surrogate, sources = _HISTORIES[table]
    some = f"ROWID = (SELECT MIN(ROWID) FROM dw.{table})"
    closed = f"ROWID = (SELECT MIN(ROWID) FROM dw.{table} WHERE end_date < {OPEN})"
    last = f"ROWID = (SELECT MIN(ROWID) FROM dw.{table} WHERE end_date = {OPEN})"
    ordered = (
        f"SELECT *, LEAD(effective_date) OVER (PARTITION BY {key} ORDER BY effective_date) AS next FROM dw.{table}"
    )
    checks = [
        ("distinct_keys", "A surrogate key names one version.",
         f"SELECT {surrogate} FROM dw.{table} GROUP BY ALL HAVING COUNT(*) > 1 OR {surrogate} IS NULL",
         f"UPDATE dw.{table} SET {surrogate} = NULL WHERE {some}"),
        ("end_is_next_start", "A version ends on the day on which the next one of its key begins.",
         f"SELECT * FROM ({ordered}) WHERE end_date <> next",
         f"UPDATE dw.{table} SET end_date = end_date - 1 WHERE {closed}"),
        ("no_overlap", "No day is in two versions of a key.",
         f"SELECT a.{key} FROM dw.{table} AS a JOIN dw.{table} AS b ON a.{key} = b.{key} "
         f"AND a.{surrogate} <> b.{surrogate} AND a.effective_date < b.end_date AND b.effective_date < a.end_date",
         f"UPDATE dw.{table} SET end_date = end_date + 1 WHERE {closed}"),
        ("reaches_the_end_of_time", "Each key has one version without an end: nothing is ever deleted.",
         f"SELECT {key} FROM dw.{table} GROUP BY ALL HAVING COUNT_IF(end_date = {OPEN}) <> 1",
         f"UPDATE dw.{table} SET end_date = DATE '2020-01-01' WHERE {last}"),
        ("lasts_a_day", "What changes twice within a day becomes one version: none begins and ends on one day.",
         f"SELECT * FROM dw.{table} WHERE effective_date >= end_date",
         f"UPDATE dw.{table} SET end_date = effective_date WHERE {some}"),
        ("batches", "Rows of each batch that had some for the table are in it.",
         f"SELECT batch_id FROM (SELECT DISTINCT batch_id FROM ({_batches(table)})) "
         f"ANTI JOIN dw.{table} USING (batch_id)",
         f"UPDATE dw.{table} SET batch_id = 9"),
        ("within_its_batch", "A version begins in the days of its batch.",
         f"SELECT * FROM dw.{table} LEFT JOIN {_WINDOWS} USING (batch_id) "
         f"WHERE COALESCE(effective_date NOT BETWEEN first AND last, true)",
         f"UPDATE dw.{table} SET effective_date = DATE '2030-01-01' WHERE {last}"),
        ("status", "The status is a word of the list of states.",
         f"SELECT * FROM dw.{table} WHERE COALESCE(status NOT IN ('Active', 'Inactive'), true)",
         f"UPDATE dw.{table} SET status = 'ACTV' WHERE {some}"),
        ("row_count", "Each day on which a key has a row begins a version, and nothing else but a parent's day does.",
         f"SELECT * FROM (SELECT DISTINCT key, day FROM ({sources})) FULL JOIN ({_own_starts(table)}) USING (key, day) "
         "WHERE mine IS NULL OR (key, day) NOT IN (SELECT (key, day) FROM (" + sources + "))",
         f"DELETE FROM dw.{table} WHERE ROWID = (SELECT arg_min(ROWID, effective_date) FROM dw.{table})"),
    ]  # fmt: skip
    if table != "dim_company":  # has a rule of its own instead
        checks.append(
            ("flag", "The flag is true in versions without an end, and in no other.",
             f"SELECT * FROM dw.{table} WHERE COALESCE(is_current <> (end_date = {OPEN}), true)",
             f"UPDATE dw.{table} SET is_current = NOT is_current WHERE {some}")
        )  # fmt: skip
    return [Check(table, *check) for check in checks]


def _batches(table: str) -> str:
    """The batches with rows for a table."""
    file = {"dim_customer": "Customer", "dim_account": "Account"}.get(table)
    return "SELECT 1 AS batch_id" + (f" UNION ALL SELECT batch_id FROM src.{file}" if file else "")


def _own_starts(table: str) -> str:
    """The starts of versions, without those that begin with a version of the parent and are no first one."""
    key = _HISTORIES[table][0]
    start = f"SELECT {key} AS key, t.effective_date AS day, true AS mine FROM dw.{table} AS t"
    parent = {"dim_security": "company", "dim_account": "customer"}.get(table)
    if parent is None:
        return start
    return (
        f"{start} JOIN dw.dim_{parent} AS p USING (sk_{parent}_id) WHERE p.effective_date <> t.effective_date "
        f"OR ({key}, t.effective_date) IN (SELECT (key, day) FROM ({_HISTORIES[table][2]}))"
    )


def _contained(table: str, parent: str) -> tuple[str, str, str, str]:
    return (
        f"sk_{parent}_id",
        f"A version lies within the version of the {parent} that it names.",
        f"SELECT * FROM dw.{table} AS t LEFT JOIN dw.dim_{parent} AS p USING (sk_{parent}_id) "
        "WHERE COALESCE(t.effective_date < p.effective_date OR t.end_date > p.end_date, true)",
        _update(table, "effective_date = DATE '1900-01-01'"),
    )


def _update(table: str, change: str, where: str = "true") -> str:
    return f"UPDATE dw.{table} SET {change} WHERE ROWID = (SELECT MIN(ROWID) FROM dw.{table} WHERE {where})"


def _texts(values: tuple[str, ...]) -> str:
    return ", ".join(f"'{value}'" for value in values)


def _phone(n: int) -> tuple[str, str, str, str]:
    return (
        f"phone{n}",
        "A telephone ends with its local number and extension; an area and a country stand before it, in that form.",
        f"SELECT * FROM dw.dim_customer WHERE NOT regexp_full_match(phone{n}, "
        r"'((\+[0-9]+ )?\([0-9]+\) )?[0-9]{3}-[0-9]{4,8}')",
        _update("dim_customer", f"phone{n} = '47' || phone{n}", f"phone{n} LIKE '(%'"),
    )


def _email(n: int) -> tuple[str, str, str, str]:
    return (
        f"email{n}",
        "An address of mail is that of the files: of the last action or row that gives one.",
        f"SELECT * FROM dw.dim_customer WHERE email{n} NOT IN (SELECT C_EMAIL_{n} FROM src.actions WHERE C_EMAIL_{n} "
        f"IS NOT NULL UNION SELECT C_EMAIL_{n} FROM src.Customer WHERE C_EMAIL_{n} IS NOT NULL) OR email{n} IS NULL",
        _update("dim_customer", f"email{n} = 'x' || email{n}"),
    )


def _tax(name: str) -> tuple[str, str, str, str]:
    return (
        f"{name}_tax_rate",
        "A tax rate has the name and the number of one row of the list of rates.",
        f"SELECT * FROM dw.dim_customer LEFT JOIN src.TaxRate ON {name}_tax_rate_desc = tx_name "
        f"WHERE COALESCE(tx_rate::DECIMAL(6, 5) <> {name}_tax_rate, true)",
        _update("dim_customer", f"{name}_tax_rate = {name}_tax_rate + 0.1"),
    )


def _last_rows(table: str, key: str, name: str, columns: dict[str, str]) -> tuple[str, str, str, str]:
    """Of the last full row of each key of the two days."""
    differ = " OR ".join(f"t.{column} IS DISTINCT FROM r.{source}" for column, source in columns.items())
    return (
        name,
        "The open version has the values of the last full row of its key, those that are empty too.",
        f"SELECT * FROM (SELECT * FROM src.{'Customer' if key == 'C_ID' else 'Account'} QUALIFY ROW_NUMBER() OVER "
        f"(PARTITION BY {key} ORDER BY batch_id DESC, dsn::INT DESC) = 1) AS r LEFT JOIN dw.{table} AS t "
        f"ON t.{'customer_id' if key == 'C_ID' else 'account_id'} = r.{key}::BIGINT AND t.is_current WHERE {differ}",
        f"UPDATE dw.{table} SET {next(iter(columns))} = NULL WHERE is_current",
    )


_OTHERS: dict[str, list[tuple[str, str, str, str]]] = {
    "dim_broker": [
        ("distinct_keys", "A surrogate key names one broker.",
         "SELECT sk_broker_id FROM dw.dim_broker GROUP BY ALL HAVING COUNT(*) > 1 OR sk_broker_id IS NULL",
         "UPDATE dw.dim_broker SET sk_broker_id = 1"),
        ("row_count", "Each employee with the job code 314 has one row, and nobody else has.",
         "SELECT * FROM (SELECT employee::BIGINT AS broker_id FROM src.HR WHERE code = '314') FULL JOIN "
         "(SELECT broker_id, COUNT(*) AS n FROM dw.dim_broker GROUP BY ALL) AS t USING (broker_id) "
         "WHERE n IS DISTINCT FROM 1 OR broker_id NOT IN (SELECT employee::BIGINT FROM src.HR WHERE code = '314')",
         _update("dim_broker", "broker_id = -1")),
        ("effective_date", "A broker is there from the first day of the calendar on.",
         "SELECT * FROM dw.dim_broker WHERE effective_date IS DISTINCT FROM DATE '1950-01-01'",
         _update("dim_broker", "effective_date = DATE '2007-07-07'")),
        ("end_date", "A broker has no end.",
         f"SELECT * FROM dw.dim_broker WHERE end_date IS DISTINCT FROM {OPEN}",
         _update("dim_broker", "end_date = NULL")),
        ("flag", "Each row of a broker is current.",
         "SELECT * FROM dw.dim_broker WHERE is_current IS DISTINCT FROM true",
         _update("dim_broker", "is_current = false")),
        ("batch", "Brokers come with the first batch alone.",
         "SELECT * FROM dw.dim_broker WHERE batch_id IS DISTINCT FROM 1", _update("dim_broker", "batch_id = 2")),
    ],
    "dim_company": [
        ("distinct_names", "No two companies have one name on one day.",
         "SELECT a.name FROM dw.dim_company AS a JOIN dw.dim_company AS b ON a.name = b.name "
         "AND a.company_id < b.company_id AND a.effective_date < b.end_date AND b.effective_date < a.end_date",
         "UPDATE dw.dim_company SET name = 'One'"),
        ("industry", "The industry is a name of the list of industries.",
         f"SELECT * FROM dw.dim_company WHERE COALESCE(industry NOT IN ({_texts(INDUSTRY)}), true)",
         _update("dim_company", "industry = '07'")),
        ("rating", "A rating is one that there is, or NULL; the flag says whether it is below BBB.",
         f"SELECT * FROM dw.dim_company WHERE sp_rating NOT IN ({_texts(RATINGS)}) OR is_low_grade IS DISTINCT FROM "
         "(sp_rating NOT IN ('AAA', 'AA+', 'AA', 'AA-', 'A+', 'A', 'A-', 'BBB+', 'BBB', 'BBB-'))",
         _update("dim_company", "is_low_grade = NOT is_low_grade", "sp_rating IS NOT NULL")),
        ("country", "The country is one of the records, or empty.",
         "SELECT * FROM dw.dim_company WHERE country NOT IN (SELECT country FROM src.CMP WHERE country IS NOT NULL)",
         _update("dim_company", "country = 'Nowhere'")),
    ],
    "dim_security": [
        _contained("dim_security", "company"),
        ("exchange", "A security has the exchange of its record.",
         "SELECT * FROM dw.dim_security AS t ANTI JOIN src.SEC AS s "
         "ON t.symbol = s.symbol AND t.exchange_id = s.exchange",
         _update("dim_security", "exchange_id = 'X'")),
        ("issue", "A security has the kind of issue of the last record until its start.",
         "SELECT * FROM dw.dim_security AS t LEFT JOIN LATERAL (SELECT arg_max(issue, pts) AS told FROM src.SEC AS s "
         "WHERE s.symbol = t.symbol AND s.day <= t.effective_date) ON true WHERE told IS DISTINCT FROM t.issue",
         _update("dim_security", "issue = 'X'")),
    ],
    "dim_customer": [
        _email(1),
        _email(2),
        ("gender", "A gender is M, F or U.",
         "SELECT * FROM dw.dim_customer WHERE COALESCE(gender NOT IN ('M', 'F', 'U'), true)",
         _update("dim_customer", "gender = 'f'")),
        _tax("local"),
        _tax("national"),
        _phone(1),
        _phone(2),
        _phone(3),
        ("tax_id", "A tax number has the form of one, and a customer keeps it for ever.",
         "SELECT customer_id FROM dw.dim_customer GROUP BY ALL HAVING COUNT(DISTINCT tax_id) <> 1 "
         r"OR COUNT_IF(NOT regexp_full_match(tax_id, '\d{3}-\d{2}-\d{4}')) > 0",
         _update("dim_customer", "tax_id = '1'")),
        ("birth", "A date of birth is that of the first row; no later one changes it.",
         "SELECT customer_id FROM dw.dim_customer GROUP BY ALL "
         "HAVING COUNT(DISTINCT dob) <> 1 OR COUNT_IF(dob IS NULL) > 0",
         _update("dim_customer", "dob = NULL")),
        ("tier", "A tier that is none of the three stays as it is: as many customers begin with one as the files say.",
         "SELECT tier FROM (SELECT arg_min_null(tier, effective_date) AS tier, -1 AS n FROM dw.dim_customer "
         "GROUP BY customer_id UNION ALL SELECT C_TIER::INT, 1 FROM src.actions WHERE kind = 'NEW' UNION ALL "
         "SELECT arg_max_null(C_TIER::INT, dsn::INT), 1 FROM src.Customer GROUP BY C_ID, batch_id "
         "HAVING COUNT_IF(flag = 'I') > 0) GROUP BY ALL HAVING SUM(n) <> 0",
         # Of a first version, whatever the order of the rows.
         _update("dim_customer", "tier = 7", "tier = 9 AND (customer_id, effective_date) IN "
                 "(SELECT (customer_id, MIN(effective_date)) FROM dw.dim_customer GROUP BY customer_id)")),
        _last_rows("dim_customer", "C_ID", "last_rows",
                   {"city": "C_CITY", "country": "C_CTRY", "address_line2": "C_ADLINE2", "last_name": "C_L_NAME"}),
        ("inactive", "Customers are inactive from their INACT, or a row that says so, on; no others are.",
         "SELECT * FROM (SELECT customer_id FROM dw.dim_customer WHERE is_current AND status = 'Inactive') FULL JOIN "
         "(SELECT DISTINCT C_ID::BIGINT AS customer_id, true AS told FROM (SELECT C_ID FROM src.actions WHERE kind = "
         "'INACT' UNION ALL SELECT C_ID FROM src.Customer WHERE C_ST_ID = 'INAC')) AS f USING (customer_id) "
         "WHERE told IS NULL OR customer_id NOT IN (SELECT customer_id FROM dw.dim_customer WHERE status = 'Inactive')",
         "UPDATE dw.dim_customer SET status = 'Active'"),
    ],
    "dim_account": [
        ("sk_broker_id", "A version names a broker who is there.",
         "SELECT * FROM dw.dim_account ANTI JOIN dw.dim_broker USING (sk_broker_id)",
         _update("dim_account", "sk_broker_id = 1")),
        _contained("dim_account", "customer"),
        ("tax_status", "A tax status is 0, 1 or 2.",
         "SELECT * FROM dw.dim_account WHERE COALESCE(tax_status NOT IN (0, 1, 2), true)",
         _update("dim_account", "tax_status = 3")),
        ("inactive", "An account is closed by its own CLOSEACCT, or a row that says so; by nothing else.",
         "SELECT * FROM (SELECT account_id FROM dw.dim_account WHERE is_current AND status = 'Inactive') FULL JOIN "
         "(SELECT DISTINCT CA_ID::BIGINT AS account_id, true AS told FROM (SELECT CA_ID FROM src.actions WHERE kind = "
         "'CLOSEACCT' UNION ALL SELECT CA_ID FROM src.Account WHERE CA_ST_ID = 'INAC')) AS f USING (account_id) "
         "WHERE told IS NULL OR account_id NOT IN (SELECT account_id FROM dw.dim_account WHERE status = 'Inactive')",
         "UPDATE dw.dim_account SET status = 'Active'"),
        _last_rows("dim_account", "CA_ID", "last_rows", {"account_desc": "CA_NAME"}),
    ],
    "financial": [
        ("sk_company_id", "Numbers belong to the version that the company had on the day of their record.",
         "SELECT * FROM src.FIN AS f LEFT JOIN dw.dim_company AS c ON (c.name = f.company OR c.company_id = "
         "TRY_CAST(f.company AS BIGINT)) AND f.day >= c.effective_date AND f.day < c.end_date ANTI JOIN dw.financial "
         "AS t ON t.sk_company_id = c.sk_company_id AND t.fi_year = f.year::INT AND t.fi_qtr = f.quarter::INT",
         _update("financial", "sk_company_id = 1")),
        ("row_count", "Each record has one row.",
         "SELECT * FROM (SELECT COUNT(*) AS n FROM dw.financial) WHERE n <> (SELECT COUNT(*) FROM src.FIN)",
         "DELETE FROM dw.financial WHERE ROWID = (SELECT MIN(ROWID) FROM dw.financial)"),
        ("year", "A year is the one in which the quarter begins.",
         "SELECT * FROM dw.financial WHERE fi_year IS DISTINCT FROM YEAR(fi_qtr_start_date)",
         _update("financial", "fi_year = 1901")),
        ("quarter", "A quarter is one of four.",
         "SELECT * FROM dw.financial WHERE COALESCE(fi_qtr NOT BETWEEN 1 AND 4, true)",
         _update("financial", "fi_qtr = 5")),
        ("quarter_start", "The start of a quarter is the first day of its first month.",
         "SELECT * FROM dw.financial WHERE fi_qtr_start_date IS DISTINCT FROM MAKE_DATE(fi_year, fi_qtr * 3 - 2, 1)",
         _update("financial", "fi_qtr_start_date = fi_qtr_start_date + 1")),
        ("earnings_per_share", "The two earnings per share are those of the record.",
         "SELECT * FROM dw.financial JOIN dw.dim_company AS c USING (sk_company_id) ANTI JOIN src.FIN AS f ON "
         "f.year::INT = fi_year AND f.quarter::INT = fi_qtr AND f.eps::DECIMAL(10, 2) = fi_basic_eps "
         "AND f.diluted::DECIMAL(10, 2) = fi_dilut_eps",
         _update("financial", "fi_basic_eps = -1")),
    ],
}  # fmt: skip

CHECKS = [
    check
    for table, others in _OTHERS.items()
    for check in [*(_history_checks(table) if table in _HISTORIES else []), *(Check(table, *other) for other in others)]
]


def failures(db: duckdb.DuckDBPyConnection, check: Check, schema: str = "dw") -> int:
    """How many rows break a rule, in the tables of a schema."""
    query = check.query.replace("dw.", f"{schema}.")
    found = db.execute(f"SELECT COUNT(*) FROM ({query})").fetchone()
    assert found
    return int(found[0])


def found_when_broken(db: duckdb.DuckDBPyConnection, check: Check) -> int:
    """How many rows the check finds after its statement; the table is then as before."""
    db.execute("BEGIN")
    try:
        db.execute(check.breaks)
        return failures(db, check)
    finally:
        db.execute("ROLLBACK")
