"""Every text that scdgen renders, for many specs and without Spark, to prove that a change does not alter the SQL.

``python -m tests.tools.golden FOLDER`` writes them to files, so that two commits can be compared with ``diff -r``.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

from scdgen import Spec, SpecError, load_spec, load_spec_text, render
from scdgen.cli.options import find_specs
from scdgen.compile.queries import (
    TableVersion,
    check_all,
    check_script,
    evolve_script,
    plan_rows,
    plan_sample,
    source_counts,
    source_rows,
)
from scdgen.compile.render import render_query
from scdgen.facts.base import Facts
from scdgen.facts.built import Source
from scdgen.patterns.pattern import pattern_of
from scdgen.run.diff import DiffFilter
from scdgen.run.versions import VersionFilter
from scdgen.sql import quote, unquote
from tests.conftest import without_gate
from tests.support.random_specs import make_case, make_cdc_case, make_members_case
from tests.support.spec_variations import BASES, COMBINED, VARIATIONS, changed, combined, load, mixture

ROOT = Path(__file__).parents[2]
SEEDS, MIXTURES, MORE = 300, 100, 80


def specs() -> Iterator[tuple[str, Callable[[], Spec]]]:
    """(name, what loads it) of the folder ``specs``, of random specs, and of each variation of each base."""
    for path in find_specs([ROOT / "specs"]):
        if path.parent.name == "tpcdi":  # test_generated.py compares their files, too; here they would add nothing
            continue
        name = str(path.relative_to(ROOT))
        yield name, partial(lambda path, name: load_spec(path).placed_at(name), path, name)
    for seed in range(1, SEEDS + 1):
        yield f"seed-{seed}", partial(_random, make_case, "t", seed)
    for base, variations in VARIATIONS.items():
        for number, (option, value) in enumerate(variations):
            yield from _unless_refused(
                f"{base}-{number}", partial(lambda *given: load(changed(*given)), BASES[base], option, value)
            )
    for number, (base, options) in enumerate(COMBINED):
        yield f"combined-{number}", partial(lambda *given: load(combined(*given)), base, options)
    for seed in range(1, MIXTURES + 1):
        yield f"mixture-{seed}", partial(lambda seed: mixture(seed)[0], seed)
    for seed in range(1, MORE + 1):
        for kind, make in (("cdc", make_cdc_case), ("members", make_members_case)):
            yield from _unless_refused(f"{kind}-{seed}", partial(_random, make, kind, seed))


def _unless_refused(name: str, make: Callable[[], Spec]) -> Iterator[tuple[str, Callable[[], Spec]]]:
    """A spec of a pattern or a feed that may not have the options."""
    try:
        spec = make()
    except SpecError:
        return
    yield name, lambda: spec


def _random(make: Callable[..., Any], kind: str, seed: int) -> Spec:
    return load_spec_text(make(seed, f"r.{kind}{seed}", "data/x").text)


def texts(spec: Spec) -> dict[str, str]:
    """File name -> text: the files of a spec, and the queries that commands run without writing them."""
    columns = pattern_of(spec).columns(spec)
    added = tuple(
        column for column in columns if (name := unquote(column.name)) in spec.columns and name not in spec.keys
    )
    has_times = spec.pattern == "scd2"
    queries: dict[str, Facts | None] = {
        "counts.sql": pattern_of(spec).counts(Source(spec)),
        "show.sql": VersionFilter({spec.keys[0]: 1}, current=True).query(spec),
        "show_as_of.sql": VersionFilter(as_of="2024-01-01", deleted=True).query(spec)
        if spec.pattern == "scd2"
        else None,
        "diff_times.sql": DiffFilter("2024-01-01", "2024-02-01").query(spec) if has_times else None,
        "diff_run.sql": DiffFilter(run_id="r", keys={spec.keys[0]: 1}).query(spec, (_before(spec), TableVersion(4))),
        "plan_rows.sql": plan_rows(spec),
        "plan_sample.sql": plan_sample(spec, 5),
        "source_rows.sql": source_rows(spec),
        "source_counts.sql": source_counts(spec, wanted=True),
    }
    checks = check_all(spec)
    return {
        **render(spec).files(),
        "evolve.sql": evolve_script(spec, added, adopt=True).text,
        "check_all.sql": checks.counts,
        "check_rows.sql": ";\n\n".join(checks.rows),
        "checks.job.sql": check_script(spec),
        **{name: render_query(facts) if facts else "" for name, facts in queries.items()},
    }


def _before(spec: Spec) -> TableVersion:
    """A version of the table without the last column of the spec, unless that is a key."""
    return TableVersion(3, frozenset({quote([*spec.columns][-1])} - {*map(quote, spec.keys)}))


def rendered(every: int = 1) -> dict[str, dict[str, str]]:
    """The texts of all specs, or of every eighth one, without the gate, which does not change them."""
    with without_gate(), patch("scdgen.run.versions.find_form", lambda *_: None):  # a key of any type is 1
        return {name: texts(make()) for name, make in islice(specs(), 0, None, every)}


def digest(found: dict[str, dict[str, str]]) -> str:
    """One hash of all texts."""
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def main(folder: Path) -> None:
    """Write every text below ``folder``, and print the hashes."""
    found = rendered()
    for name, files in found.items():
        for file, text in files.items():
            path = folder / name.replace("/", "-") / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    print(len(found), "specs", sum(map(len, found.values())), "texts", digest(found))
    print("of every eighth spec", digest({name: found[name] for name in [*found][::8]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
