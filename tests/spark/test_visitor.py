"""The tables that the visitor lookup is made of, from generated page views, against the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scdgen import Runner, load_spec
from tests.visitor import View, views, write
from tests.visitor_reference import FirstDate, Mapped, first_dates, merged, user_mapping


@pytest.mark.parametrize(("seed", "late"), [(1, 0.0), (2, 0.2)])
def test_every_file_against_the_reference(spark: Any, tmp_path: Path, seed: int, late: float) -> None:
    runner = Runner(spark)
    mapping, first = (load_spec(f"specs/visitor/{name}.yml") for name in ("user_mapping", "first_dates"))
    for spec in (mapping, first):
        spark.sql(f"DROP TABLE IF EXISTS {spec.target}")

    def rows(spec: Any, kind: Any) -> list[Any]:
        columns = kind._fields
        return sorted((kind(*row) for row in spark.table(spec.target).select(*columns).collect()), key=repr)

    arrived = views(seed, cookies=60, files=3, late=late, partitions=3)
    mapped: list[Mapped] = []
    everything: list[View] = []
    for path, file in zip(write(tmp_path, arrived), arrived, strict=True):
        frame = spark.read.json(path.as_uri())
        mapped, everything = user_mapping(merged(mapped, file)), [*everything, *file]
        for spec in (mapping, first):
            runner.run(spec, source=frame)
        assert rows(mapping, Mapped) == mapped
        assert rows(first, FirstDate) == first_dates(everything)
    for spec in (mapping, first):
        again = runner.run(spec, source=frame)
        assert (again.inserted, again.updated, again.deleted) == (0, 0, 0)
        assert not [check for check in runner.check(spec) if check.failures]
    if not late:
        assert mapped == user_mapping(everything)
