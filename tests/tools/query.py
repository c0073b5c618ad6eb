"""Run SQL files on the tables of a local warehouse, and print the results with the comment above each.

python tests/tools/query.py .build/sales/tables FILE...
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scdgen.cli.output import format_table
from scdgen.engine.session import local_session
from scdgen.sql.tokens import split_statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Result(NamedTuple):
    """The rows of a statement, and the last comment before it."""

    title: str
    columns: list[str]
    rows: list[tuple[object, ...]]


def results(spark: SparkSession, text: str) -> Iterator[Result]:
    """Run the statements of a text, and yield what those with a result return."""
    for statement in split_statements(text):
        found = spark.sql(statement)
        if found.columns:
            titles = re.findall(r"^-- (.*)$", statement, re.MULTILINE)
            yield Result(titles[-1] if titles else "", found.columns, [tuple(row) for row in found.collect()])


def main(args: Sequence[str]) -> None:
    """Run the files: the warehouse, then the files."""
    warehouse, *files = args
    spark = local_session(warehouse)
    try:
        for file in files:
            for title, columns, rows in results(spark, Path(file).read_text()):
                print(f"\n{title}\n{format_table(columns, rows)}")
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
