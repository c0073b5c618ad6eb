"""Checks of this machine for ``scdgen doctor``; only :func:`try_spark` and :func:`try_remote` import pyspark."""

from __future__ import annotations

import platform
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from scdgen.engine.failures import translate_without_spec
from scdgen.engine.jvm import INSTALL_JAVA, find_java, ivy_folder
from scdgen.engine.session import local_session, remote_session, require_folder
from scdgen.errors import ScdgenError, line_and_status
from scdgen.url import Url

_SPARK = "pip install delta-spark==4.4.0"
_JAVAS = (17, 21)


@dataclass(frozen=True)
class Finding:
    """The result of a check."""

    ok: bool
    """Whether it passed."""
    line: str
    """What was found, in one line; if it failed, with the way out at the end."""

    def __str__(self) -> str:
        return f"{'ok' if self.ok else 'failed':<8}{self.line}"


def check_machine(warehouse: str, conf: Mapping[str, str]) -> Iterator[Finding]:
    """Check what an embedded Spark needs."""
    yield check_python()
    yield check_java()
    yield check_package("pyspark")
    yield check_package("delta-spark")
    if _version("pyspark") and _version("delta-spark"):
        yield check_fit()
        yield check_jars(conf)
    yield check_warehouse(warehouse)


def check_python() -> Finding:
    """Name the Python that runs."""
    return Finding(True, f"Python {platform.python_version()}, scdgen {_version('scdgen')}")


def check_java() -> Finding:
    """Check for a Java that Spark supports."""
    try:
        number, path = find_java()
    except ScdgenError as error:
        return Finding(False, str(error))
    if number not in _JAVAS:
        what = f"Java {number or 'of an unknown version'} at {path} is not supported by Spark"
        return Finding(False, f"{what}; {INSTALL_JAVA}")
    return Finding(True, f"Java {number} at {path}")


def check_package(name: str) -> Finding:
    """Check that a package is installed, in a version that scdgen supports."""
    found, wanted = _version(name), _requirement("scdgen", name)
    if found is None:
        return Finding(False, f"{name} is not installed; run: {_SPARK}")
    if not wanted.contains(found, prereleases=True):
        return Finding(False, f"{name} {found} is not supported (scdgen needs {wanted}); run: {_SPARK}")
    return Finding(True, f"{name} {found}")


def check_fit() -> Finding:
    """Check that delta-spark supports this pyspark, as its own requirements say."""
    pyspark, delta, wanted = _version("pyspark"), _version("delta-spark"), _requirement("delta-spark", "pyspark")
    if not wanted.contains(str(pyspark), prereleases=True):
        return Finding(False, f"delta-spark {delta} needs pyspark {wanted}, not {pyspark}; run: {_SPARK}")
    return Finding(True, f"delta-spark {delta} fits pyspark {pyspark}")


def check_jars(conf: Mapping[str, str]) -> Finding:
    """Check that Delta's JARs are in the cache of Ivy, which otherwise downloads them when Spark starts."""
    pyspark, delta = str(_version("pyspark")), str(_version("delta-spark"))
    minor = ".".join(pyspark.split(".")[:2])
    folder = Path(conf.get("spark.jars.ivy", ivy_folder(pyspark))) / "jars"
    name = re.compile(rf"io\.delta_delta-spark(_{re.escape(minor)})?_2\.1\d-{re.escape(delta)}\.jar")
    found = next((jar for jar in sorted(folder.glob("io.delta_*.jar")) if name.fullmatch(jar.name)), None)
    if found is None:
        what = f"Delta's JARs for delta-spark {delta} and Spark {minor} are not in {folder}"
        return Finding(False, f"{what}; run once with a network: scdgen doctor --spark (about 90 MB)")
    return Finding(True, f"Delta's JARs: {found}")


def check_warehouse(warehouse: str) -> Finding:
    """Check that tables can be written below the folder, or that it can be created."""
    folder = Path(warehouse).absolute()
    try:
        require_folder(folder, warehouse)
        place = next(place for place in (folder, *folder.parents) if place.exists())
        with tempfile.TemporaryFile(dir=place):
            pass
    except ScdgenError as error:
        return Finding(False, str(error))
    except OSError as error:
        why = error.strerror or error
        return Finding(False, f"--warehouse {warehouse}: {place} cannot be written ({why}); name another folder")
    return Finding(True, f"warehouse {folder}{'' if folder.exists() else ', which the first run creates'}")


def try_spark(warehouse: str, conf: Mapping[str, str]) -> Finding:
    """Start Spark, and write and read a Delta table in a temporary folder."""
    begin = time.monotonic()
    try:
        spark = local_session(warehouse, conf)
        try:
            with tempfile.TemporaryDirectory() as folder:
                place = str(Path(folder, "table"))
                spark.range(3).write.format("delta").save(place)
                spark.read.format("delta").load(place).collect()
            version = spark.version
        finally:
            spark.stop()
    except Exception as error:
        return Finding(False, _describe(error))
    return Finding(True, f"Spark {version} writes and reads a Delta table ({time.monotonic() - begin:.0f} s)")


def try_remote(url: Url, conf: Mapping[str, str]) -> Finding:
    """Connect to a Spark Connect server."""
    try:
        spark = remote_session(url, conf)
        version = spark.version
        spark.stop()
    except Exception as error:
        return Finding(False, _describe(error))
    return Finding(True, f"Spark {version} answers at {url}")


def _describe(error: Exception) -> str:
    return line_and_status(translate_without_spec(error))[0]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _requirement(package: str, of: str) -> SpecifierSet:
    """The versions of a package that another one requires; any, if it names none."""
    try:
        listed = map(Requirement, metadata.requires(package) or [])
    except metadata.PackageNotFoundError:
        return SpecifierSet()
    return next((found.specifier for found in listed if canonicalize_name(found.name) == of), SpecifierSet())
