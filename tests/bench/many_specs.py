"""The cost of the generator itself: validate and generate on many specs, as whole processes.

Writes specs of mixed kinds to a temporary folder, each made from its number alone, and runs the commands on the first
100, 300 and all of them, so that it shows whether time and memory grow with their number.

    python -m tests.bench.many_specs [specs]
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

WORDS = [
    "account", "address", "amount", "balance", "brand", "campaign", "category", "channel", "city", "contract",
    "country", "currency", "device", "discount", "district", "email", "family", "grade", "height", "invoice",
    "item", "label", "language", "level", "limit", "manager", "margin", "market", "model", "name", "number",
    "owner", "phone", "plan", "policy", "price", "product", "quantity", "rating", "reason", "region", "segment",
    "shipment", "size", "status", "store", "supplier", "tariff", "team", "tier", "type", "unit", "vendor",
    "warehouse", "weight", "zone",
]  # fmt: skip
TYPES = (
    "string", "string", "string", "int", "bigint", "double", "decimal(12,2)", "date", "timestamp", "boolean",
    "varchar(40)", "array<string>", "struct<street:string,zip:string>",
)  # fmt: skip
FROM = ("trim({name})", "upper(src_{name})", "coalesce({name}, old_{name})", "payload.{name}", "src_{name}")


def document(number: int) -> dict[str, Any]:
    """The spec of a number, as a YAML document: scd2 or scd1, changes or a snapshot, 5 to 40 columns, some options."""
    rng = random.Random(number)
    scd2, snapshot = rng.random() < 0.7, rng.random() < 0.35
    keys = rng.choice([["id"], ["id"], ["id", "region_code"], ["tenant", "id"]])
    columns: dict[str, Any] = {key: "bigint" if key == "id" else "string" for key in keys}
    for index in range(rng.randint(5, 40) - len(keys)):
        columns[f"{rng.choice(WORDS)}_{rng.choice(WORDS)}_{index}"] = rng.choice(TYPES)
    source: dict[str, Any] = {"table": f"raw.feed_{number}"}
    if rng.random() < 0.15:
        source = {"query": f"SELECT * FROM raw.feed_{number} AS f WHERE f.region <> 'test' AND f.amount > 0"}
    elif rng.random() < 0.1:
        source = {"path": f"landing/feed_{number}", "format": rng.choice(["parquet", "csv", "json"])}
    spec: dict[str, Any] = {"target": f"dwh.table_{number}", "pattern": "scd2" if scd2 else "scd1", "source": source}
    spec |= {"description": f"Table {number}: one row per {' and '.join(keys)}", "keys": keys, "columns": columns}
    for name in [name for name in columns if name not in keys]:
        if rng.random() < 0.3:
            columns[name] = _column(rng, name, columns[name], scd2)
    if snapshot:
        source["feed"] = "snapshot"
        spec["params"] = {"taken": {"type": "timestamp", "default": "current_timestamp()"}}
        spec["snapshot"] = {"taken_at": ":taken", "max_deleted": rng.choice([0.2, 0.5, 1.0])}
    elif scd2 or rng.random() < 0.5:
        source["effective_at"] = rng.choice(["changed_at", "coalesce(changed_at, loaded_at)", "to_timestamp(ts_ms)"])
    if not snapshot and rng.random() < 0.5:
        source["delete_when"] = rng.choice(["op = 'D'", "is_deleted OR op IN ('D', 'X')"])
    if rng.random() < 0.4:
        source["sequence_by"] = ["lsn"] if rng.random() < 0.6 else ["lsn", "row_number_in_file"]
    if rng.random() < 0.3:
        source["where"] = "id > 0 AND (kind = 'A' OR kind IS NULL)"
    if scd2:
        _history(rng, spec)
    elif "effective_at" in source and rng.random() < 0.5:
        spec["updated_at"] = "changed_at"
    spec["bad_rows"] = rng.choice(["fail", "fail", "skip"])
    spec["conflicts"] = rng.choice(["fail", "fail", "any"])
    if rng.random() < 0.4:
        spec["table"] = {rng.choice(["partition_by", "cluster_by"]): [keys[-1]]}
    if rng.random() < 0.3:
        spec["views"] = {"current": f"dwh.table_{number}_now"}
    if rng.random() < 0.2:
        query = f"SELECT * FROM dwh.table_{number} WHERE id IS NULL"
        spec["checks"] = [{"name": "known_id", "query": query}]
    return spec


def _column(rng: random.Random, name: str, kind: str, scd2: bool) -> dict[str, Any]:
    column: dict[str, Any] = {"type": kind}
    if rng.random() < 0.5:
        column["from"] = rng.choice(FROM).format(name=name)
    if rng.random() < 0.3:
        column["comment"] = f"The {name.replace('_', ' ')}, as the source has it"
    if scd2 and rng.random() < 0.3:
        column["track"] = False
    if scd2 and rng.random() < 0.2:
        column["nulls"] = rng.choice(["ignore", "fill"])
    return column


def _history(rng: random.Random, spec: dict[str, Any]) -> None:
    history: dict[str, Any] = {}
    if rng.random() < 0.3:
        history |= {"valid_from": "begins_at", "valid_to": "ends_at"}
    if rng.random() < 0.3:
        history["gap"] = rng.choice(["1 microsecond", "1 day"])
    if rng.random() < 0.3:
        history["open_end"] = "9999-12-31 23:59:59.999"
    if rng.random() < 0.3:
        history["is_current"] = {"name": "current_flag", "type": "string", "open": "Y", "closed": "N"}
    for option in ("row_hash", "surrogate_key", "action"):
        if rng.random() < 0.3:
            history[option] = f"the_{option}"
    spec["on_delete"] = rng.choice(["close", "close", "mark", "ignore"])
    if spec["on_delete"] == "mark":
        history["deleted"] = "is_deleted_version"
    if history:
        spec["history"] = history
    if rng.random() < 0.3:
        spec["unchanged"] = "keep"


def write_specs(folder: Path, count: int) -> list[Path]:
    """The first ``count`` specs as files in a folder, in block style as people write them."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"table_{number:04}.yml" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text("\n".join(_lines(document(number), 0)) + "\n")
    return paths


def _lines(mapping: dict[str, Any], depth: int) -> list[str]:
    """YAML: mappings of mappings as blocks, all else as JSON, which is YAML on one line."""
    found = []
    for key, value in mapping.items():
        if isinstance(value, dict) and depth < 2 and len(value) > 1:
            found += [f"{'  ' * depth}{key}:", *_lines(value, depth + 1)]
        else:
            found.append(f"{'  ' * depth}{key}: {json.dumps(value)}")
    return found


def measured(*command: str) -> tuple[float, float, int]:
    """Seconds, CPU seconds (of all its processes) and peak memory (MB, of the largest of them) of a command."""
    script = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-m', 'scdgen', *sys.argv[1:]], stdout=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss)\n"
        "sys.exit(done.returncode)\n"
    )
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    if done.returncode:
        raise SystemExit(f"scdgen {' '.join(command)} failed: {done.stderr}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    cpu, memory = done.stdout.split()
    return seconds, float(cpu), int(memory) // unit


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{os.cpu_count()} cores; seconds, CPU seconds of all processes, peak memory of the largest:")
    for some in sorted({min(100, count), min(300, count), count}):
        with tempfile.TemporaryDirectory() as folder:
            specs = Path(folder, "specs")
            write_specs(specs, some)
            for name, command in (
                ("validate", ["validate", str(specs)]),
                ("generate", ["generate", str(specs), "--out", f"{folder}/generated"]),
                ("generate --check", ["generate", "--check", str(specs), "--out", f"{folder}/generated"]),
            ):
                seconds, cpu, memory = measured(*command)
                print(f"  {some:>5} specs  {name:<17} {seconds:6.1f} s  {cpu:6.1f} s CPU  {memory:>4} MB", flush=True)


if __name__ == "__main__":
    main()
