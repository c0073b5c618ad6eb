"""Build the wheel, install it into an empty environment without pyspark, and render the specs there."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist")
        wheel = next((folder / "dist").glob("*.whl"))
        venv.create(folder / "venv", with_pip=True)
        bin_ = folder / "venv" / "bin"
        run(bin_ / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
        listed = run(bin_ / "python", "-m", "pip", "list", "--format=freeze").lower()
        assert "pyspark" not in listed, "the core install brings pyspark"
        typed = "from importlib.resources import files; assert files('scdgen').joinpath('py.typed').is_file()"
        run(bin_ / "python", "-c", typed, cwd=folder)
        away = folder / "elsewhere"
        for part in ("specs", "generated"):
            shutil.copytree(ROOT / part, away / part)
        run(bin_ / "scdgen", "generate", "--check", "specs", cwd=away)
        run(bin_ / "scdgen", "validate", "specs", cwd=away)
        # Status 3, because pyspark is missing; it says how to install it.
        done = subprocess.run([bin_ / "scdgen", "doctor"], cwd=away, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (3, ""), done
        assert "failed  pyspark is not installed; run: pip install delta-spark==4.4.0\n" in done.stdout, done.stdout
        loaded = "from scdgen.compile.render import environment; environment().get_template('show.html.j2')"
        run(bin_ / "python", "-c", loaded, cwd=away)
        print(f"wheel: {wheel.name} renders the specs in an empty environment without pyspark")


if __name__ == "__main__":
    main()
