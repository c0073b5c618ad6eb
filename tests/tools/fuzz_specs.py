"""Hostile and broken specs at random.

python -m tests.tools.fuzz_specs --count 100000 --seed 1

Every input ends in one of two ways: a :class:`SpecError`, or SQL that the gate accepts and in which no text of the spec
has become code. Anything else is printed with its seed, and ends the run with exit status 1.
"""

from __future__ import annotations

import argparse
import collections
import copy
import json
import random
import sys
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from sqlglot.errors import TokenError

from scdgen.cli.options import find_specs
from scdgen.compile.compile import render
from scdgen.compile.statements import cut
from scdgen.errors import SpecError
from scdgen.model.load import load_spec_text
from scdgen.sql.tokens import tokens

ROOT = Path(__file__).resolve().parents[2]
# The result of a Jinja expression if one were run; no input contains it.
PROOF = "ru" + "nnn"

WORDS = json.loads((ROOT / "tests/cases/hostile_words.json").read_text(encoding="utf-8"))
HOSTILE, OPTIONS, TEXTS = WORDS["values"], WORDS["options"], WORDS["texts"]


def bases() -> list[str]:
    """The texts to damage: every spec of the project, and one with every kind of option."""
    files = find_specs([ROOT / "specs"])
    return [path.read_text(encoding="utf-8") for path in files]


def trees_of(texts: list[str]) -> list[Any]:
    """The documents of the texts."""
    return [json.loads(json.dumps(YAML(typ="safe", pure=True).load(text), default=str)) for text in texts]


def _places(tree: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [at, *(place for key, value in inner for place in _places(value, (*at, key)))]


def _spoil(tree: Any, rng: random.Random) -> Any:
    """A document with one value, one name or one option made hostile."""
    places = [place for place in _places(tree) if place]
    if not places:
        return tree
    *before, last = rng.choice(places)
    holder = tree
    for part in before:
        holder = holder[part]
    value, kind = copy.deepcopy(rng.choice(HOSTILE)), rng.randrange(7)  # its content is damaged next
    if kind == 0 and isinstance(holder, dict):
        renamed = value if isinstance(value, str | int | float | bool) else str(value)
        items = [(renamed if key == last else key, held) for key, held in holder.items()]
        holder.clear()
        holder.update(items)
    elif kind == 1 and isinstance(holder[last], str):
        text, piece = holder[last], str(value)
        cut = rng.randrange(len(text) + 1)
        holder[last] = text[:cut] + piece + text[cut:]
    elif kind == 2 and isinstance(holder, dict):
        holder[rng.choice(OPTIONS)] = value
    elif kind == 3:
        del holder[last]
    elif kind == 4 and isinstance(holder, dict):
        holder[rng.choice(OPTIONS)] = holder[last]
    else:
        holder[last] = value
    return tree


def _tear(text: str, rng: random.Random) -> str:
    """A text with a piece inserted, removed or repeated."""
    cut, kind = rng.randrange(len(text) + 1), rng.randrange(5)
    end = min(len(text), cut + rng.randrange(1, 30))
    if kind == 0:
        return text[:cut] + str(rng.choice(TEXTS)) + text[cut:]
    if kind == 1:
        return text[:cut] + text[end:]
    if kind == 2:
        return text[:end] + text[cut:]
    if kind == 3:
        return text[:cut] + str(rng.choice(HOSTILE)) + text[cut:]
    lines = text.splitlines(keepends=True)
    rng.shuffle(lines)
    return "".join(lines)


def spoilt(seed: int, texts: list[str], trees: list[Any]) -> str:
    """The damaged input of a seed."""
    rng = random.Random(seed)
    number = rng.randrange(len(texts))
    if rng.random() < 0.25:
        text = str(texts[number])
        for _ in range(rng.randrange(1, 4)):
            text = _tear(text, rng)
        return text
    tree = json.loads(json.dumps(trees[number]))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        tree = _spoil(tree, rng)
    return json.dumps(tree)  # JSON is YAML, and allows characters that a YAML writer would refuse


def outcome(text: str) -> str:
    """``refused``, ``sql``, or a description of any other outcome, which is a bug."""
    try:
        spec = load_spec_text(text)
        files = render(spec).files()
    except SpecError as error:
        lines = str(error).splitlines()
        if not lines or any(not line.strip() for line in lines):
            return f"an empty message: {error!r}"
        return "a control character in a message" if _controls(str(error)) else "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    for name, script in files.items():
        if PROOF in script:
            return f"{name}: an expression of Jinja was run"
        kinds = [_kind(statement) for statement in cut(script).texts]
        allowed = ALLOWED[name]
        if any(kind not in allowed for kind in kinds):
            return f"{name}: statements {kinds}"
        if kinds.count("MERGE") != (name in {"merge.sql", "infer.sql"}) and name != "create.sql":
            return f"{name}: {kinds.count('MERGE')} MERGE"
    return "sql"


ALLOWED = {
    "create.sql": {"SELECT", "CREATE", "MERGE"},
    "infer.sql": {"MERGE"},
    "merge.sql": {"DECLARE", "SET", "MERGE"},
    "plan.sql": {"DECLARE", "SET", "CREATE", "SELECT"},
    "checks.sql": {"SELECT", "WITH", "("},
    "views.sql": {"SELECT", "CREATE"},
    "lookups.sql": {"SELECT", "CREATE"},
}


def _kind(statement: str) -> str:
    try:
        first = next(iter(tokens(statement)), None)
    except TokenError:
        return "unreadable"
    return str(first.text).upper() if first else "nothing"


def _controls(text: str) -> bool:
    return any((ord(char) < 32 and char != "\n") or ord(char) == 127 for char in text)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    texts = bases()
    trees = trees_of(texts)
    counts: collections.Counter[str] = collections.Counter()
    first = given.seed * 10_000_000
    for seed in range(first, first + given.count):
        found = outcome(spoilt(seed, texts, trees))
        counts[found if found in ("refused", "sql") else "other"] += 1
        if found not in ("refused", "sql"):
            print(f"{seed}: {found.splitlines()[0][:200]}", flush=True)
    listed = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(f"seed {given.seed}: {given.count} inputs: {listed}")
    return 1 if counts["other"] else 0


if __name__ == "__main__":
    sys.exit(main())
