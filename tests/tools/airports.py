"""Five dated releases of the package airportsdata from PyPI: real data with a history, for the demo and tests."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

RELEASES = {  # version on PyPI -> the date of the release
    "20230303": "2023-03-03",
    "20231007": "2023-10-07",
    "20241001": "2024-10-01",
    "20250909": "2025-09-09",
    "20260902": "2026-09-02",
}


def fetch(folder: Path) -> dict[str, Path]:
    """Date -> CSV of that release, downloaded into ``folder`` if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for number, (version, date) in enumerate(RELEASES.items(), 1):
        file = folder / f"airports-{date}.csv"
        if not file.exists():
            print(f"downloading release {number} of {len(RELEASES)}: {date}", flush=True)
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
            subprocess.run([*command, "--dest", str(folder), f"airportsdata=={version}"], check=True)
            wheel = next(folder.glob(f"airportsdata-{version}-*.whl"))
            with zipfile.ZipFile(wheel) as archive:
                file.write_bytes(archive.read("airportsdata/airports.csv"))
            wheel.unlink()
        files[date] = file
    return files


if __name__ == "__main__":
    print(f"{len(fetch(Path(sys.argv[1])))} releases in {sys.argv[1]}")
