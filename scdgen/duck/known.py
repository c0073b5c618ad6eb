"""What may be translated of a user's SQL: the functions that it may call, and the forms of their arguments.

Everything else is refused by default, because what DuckDB computes instead may look right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from scdgen.errors import UsageError

# Topic -> the functions whose translation gives Spark's value, whatever the values, after their parameters and result.
# A parameter is a kind of values (`text`, ...), a type, a literal ('...' is not empty, 0.. is a number from there on),
# `same` for values of one kind, or `plain` for such without nested ones. With ? it may be left out, with + it may be
# repeated.
_FUNCTIONS = {
    "text": """
        (text) STRING: LOWER LTRIM MD5 RTRIM TRIM UPPER
        (text) BIGINT: LENGTH
        (text+) STRING: CONCAT
        ('...', text+) STRING: CONCAT_WS
        (text, text) BOOLEAN: CONTAINS ENDSWITH STARTSWITH
        (text, 0..) STRING: LEFT RIGHT SHA2
        (text, 1.., 0..?) STRING: SUBSTR SUBSTRING
        (text, 0.., '...') STRING: LPAD
        (text, '...', text) STRING: REGEXP_REPLACE REPLACE
        (text, '...', 0..?) STRING: REGEXP_EXTRACT
        (text, '...') ARRAY: SPLIT
        (text, path) STRING: GET_JSON_OBJECT
    """,
    "numbers": """
        (number) same: ABS
        (number) BIGINT: CEIL FLOOR
        (number, 0..12?) same: ROUND
    """,
    "dates and times": """
        (time) BIGINT: DAY HOUR MINUTE MONTH QUARTER SECOND YEAR
        (time) DATE: LAST_DAY
        (time, 0..) DATE: ADD_MONTHS DATE_ADD DATE_SUB
        (time, time) BIGINT: DATEDIFF
        (unit, time) TIMESTAMP_LTZ: DATE_TRUNC
        (any, form) STRING: DATE_FORMAT
        (any) DATE: DATE TO_DATE
        (any) TIMESTAMP_LTZ: TO_TIMESTAMP
        (text, form) DATE: TO_DATE
        (text, form) TIMESTAMP_LTZ: TO_TIMESTAMP
        (BIGINT) TIMESTAMP_LTZ: TIMESTAMP_MILLIS TIMESTAMP_SECONDS
        (TIMESTAMP_LTZ) BIGINT: UNIX_MICROS
        () DATE: CURRENT_DATE
        () TIMESTAMP_LTZ: CURRENT_TIMESTAMP
    """,
    "conditionals": """
        (same+) same: COALESCE
        (same, same) same: IFNULL NVL
        (plain, plain) same: NULLIF
        (plain+) same: GREATEST LEAST
        (boolean, same+) same: IF
    """,
    "nested values": """
        (same+) ARRAY: ARRAY
        (array) ARRAY: ARRAY_COMPACT
        (array) BIGINT: SIZE
        (any+) any: MAP NAMED_STRUCT STRUCT
        (text, sign, sign) any: STR_TO_MAP
    """,
    "groups and windows": """
        (any+) BIGINT: COUNT
        (boolean) BIGINT: COUNT_IF
        (number) same: SUM
        (plain) same: MAX MIN
        (any, plain) any: MAX_BY
        (same, 0..?) same: LAG LEAD
        () BIGINT: ROW_NUMBER
    """,
}
UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
"""What DATE_TRUNC and intervals take."""
FORMS = [
    *("yyyy-MM-dd", "yyyy/MM/dd", "yyyyMMdd", "dd.MM.yyyy", "dd/MM/yyyy", "dd-MM-yyyy", "MM/dd/yyyy", "MM-dd-yyyy"),
    *("d.M.yyyy", "M/d/yyyy", "yyyy-MM", "yyyyMM", "yyyy-MM-dd HH:mm", "yyyy-MM-dd HH:mm:ss", "yyyyMMddHHmmss"),
    *("yyyy-MM-dd HH:mm:ss.SSSSSS", "dd.MM.yyyy HH:mm", "dd.MM.yyyy HH:mm:ss", "dd/MM/yyyy HH:mm:ss"),
    *("MM/dd/yyyy HH:mm:ss", "MM/dd/yyyy hh:mm:ss a"),
]
"""The patterns of dates and times that both read and write alike."""
TIME_TEXT = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
"""A date or a time that both engines read alike."""
JSON_PATH = re.compile(r"\$(\.\w+|\[\d+\])+")
"""The path of a field of JSON that both read alike."""


@dataclass(frozen=True)
class Signature:
    """The parameters of a function, as the list above writes them, and the type of its result."""

    parameters: tuple[str, ...]
    result: str

    def fit(self, number: int) -> list[str] | None:
        """Return a parameter for each of so many arguments, or None if it does not take so many.

        >>> Signature(("boolean", "same+"), "same").fit(3), Signature(("text", "0..?"), "STRING").fit(3)
        (['boolean', 'same', 'same'], None)
        """
        given = list(self.parameters)
        if given and given[-1].endswith("+"):
            given += given[-1:] * (number - len(given))
        least = sum(not one.endswith("?") for one in given)
        return [one.rstrip("?+") for one in given[:number]] if least <= number <= len(given) else None


TOPICS: dict[str, list[str]] = {}
"""Topic -> its functions."""
FUNCTIONS: dict[str, list[Signature]] = {}
"""Function -> what it may be called with."""
for _topic, _lines in _FUNCTIONS.items():
    for _parameters, _result, _names in re.findall(r"\((.*)\) (\S+): (.*)", _lines):
        for _name in _names.split():
            FUNCTIONS.setdefault(_name, []).append(Signature(tuple(filter(None, _parameters.split(", "))), _result))
            if _name not in TOPICS.setdefault(_topic, []):
                TOPICS[_topic].append(_name)


_WORDS = """
    ALL AND AS BETWEEN BY CASE CAST CHAR DEC DECIMAL DISTINCT DIV ELSE EXCEPT EXISTS FILTER FROM HAVING IN INTERVAL IS
    JOIN LATERAL LIKE LIMIT NOT NUMERIC ON OR OVER RLIKE SELECT THEN TRY_CAST UNION USING VALUES VARCHAR WHEN WHERE
"""
WORDS = frozenset(_WORDS.split())
"""What may stand before a parenthesis without being a call."""


class UnknownError(UsageError):
    """SQL without a known counterpart in DuckDB; the message names it, and says to use Spark.

    >>> str(UnknownError("the function f"))
    'the function f: use --engine spark'
    """

    def __init__(self, what: str):
        super().__init__(f"{what}: use --engine spark")
        self.what = what
