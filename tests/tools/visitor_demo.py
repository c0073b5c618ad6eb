"""The demo of the visitor pipeline: streams files in steps, and prints one cookie's lookup after each.

python tests/tools/visitor_demo.py FOLDER
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.visitor import View, views, write  # noqa: E402

STEPS = 3


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    arrived = views(seed=7, cookies=300, files=STEPS, partitions=4)
    paths = write(folder / "all", arrived)
    incoming = folder / "in"
    incoming.mkdir()
    cookie = _interesting(arrived)
    for number, path in enumerate(paths, 1):
        path.rename(incoming / path.name)
        print(f"\n{path.name} has come: {len(arrived[number - 1])} views")
        call("stream", "specs/visitor", "--source", str(incoming), "--checkpoint", str(folder / "cp"),
             "--warehouse", str(folder / "tables"))  # fmt: skip
        call("show", "specs/visitor/visitor_lookup_direct.yml", "--key", f"visitor_cookie_id={cookie}",
             "--warehouse", str(folder / "tables"))  # fmt: skip
    call("check", "specs/visitor", "--warehouse", str(folder / "tables"))


def _interesting(arrived: list[list[View]]) -> str:
    """The cookie with the most users that starts with a view without a user."""
    users: dict[str, list[int | None]] = {}
    for file in arrived:
        for view in file:
            users.setdefault(view.cookie, []).append(view.user)
    return max((c for c, seen in users.items() if seen[0] is None), key=lambda c: (len({*users[c]}), c))


def call(*arguments: str) -> None:
    shown = (Path(a).relative_to(ROOT).as_posix() if a.startswith(f"{ROOT}/") else a for a in arguments)
    print(f"$ scdgen {' '.join(shown)}", flush=True)
    subprocess.run([sys.executable, "-m", "scdgen", *arguments], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
