"""Run SQL files on the tables of a local warehouse, and print each result under the comment of its query.

python tests/tools/query.py .build/tpcdi/tables FILE...
"""

from __future__ import annotations

import sys
from itertools import takewhile
from pathlib import Path

from scdgen.cli.output import format_table
from scdgen.compile.statements import cut
from scdgen.engine.session import local_session


def main(warehouse: str, *files: str) -> None:
    spark = local_session(warehouse)
    try:
        for file in files:
            for statement in cut(Path(file).read_text()).texts:
                found = spark.sql(statement)
                if found.columns:
                    comment = takewhile(lambda line: line.startswith("-- "), statement.splitlines())
                    title = [line.removeprefix("-- ") for line in comment]
                    print("", *title, format_table(found.columns, found.collect()), sep="\n")
    finally:
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
