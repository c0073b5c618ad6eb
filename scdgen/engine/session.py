"""Sessions: embedded, on a Spark Connect server, and temporary settings of any.

The embedded session is local Spark with Delta, in UTC, with tables in a folder in which the next command finds them by
name. A session of the user may refuse settings: serverless compute allows only a few.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen.engine.failures import translate_without_spec
from scdgen.errors import DEBUG, EngineError, UsageError
from scdgen.sql import quote_parts, text_literal
from scdgen.sql.tokens import first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# For small data, planning and tasks cost most: few partitions, no UI, no progress bar in the output.
_SETTINGS = {
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "4g",
    "spark.log.level": "OFF",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    # Spark 4 needs this to read files in windows-1252, as Excel writes them.
    "spark.sql.legacy.javaCharsets": "true",
    # The defaults of Spark 4: Spark 3 refuses to write a date before 1582.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    # Spark describes the plan of each query for its UI, which is off. The default takes a tenth of a small run.
    "spark.sql.ui.explainMode": "simple",
    # Nor does anybody look at past queries, whose plans and metrics fill gigabytes in a long session.
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    # VACUUM lists the folders of a table with so many tasks; the default is 10,000, which take more than a minute.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

# For a command that reads little: the quick compiler and the simple collector. A long MERGE needs the others.
QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"}
# Settings by which a user chooses JARs; Ivy then resolves all of them together.
_OWN_JARS = ("spark.jars", "spark.driver.extraClassPath", "spark.driver.userClassPathFirst")

INSTALL_JAVA = "install Java 17 or 21"
# What the JVM prints if it does not start -> the message.
_NO_START = (
    (r"Could not reserve enough space|Cannot allocate memory|insufficient memory",
     "Java got too little memory; give less, as in --conf spark.driver.memory=1g"),
    (r"Invalid maximum heap size|Invalid initial heap size|Failed to parse byte string|NumberFormatException: .*size",
     "a size in its settings is none; write it as in --conf spark.driver.memory=2g"),
    (r"No space left on device", "no space is left on the disk; free some, or set spark.local.dir to another one"),
)  # fmt: skip
# Errors of a refused setting: the condition of Databricks, those of Spark 4, the texts of Spark 3.
_REFUSED = re.compile(
    r"\[(CONFIG_NOT_AVAILABLE|CANNOT_MODIFY_(?:STATIC_)?CONFIG)\b|Cannot modify the value of a (?:static|Spark) config"
)
_ANSI = "spark.sql.ansi.enabled"


def local_session(
    warehouse: str | Path = "warehouse", conf: Mapping[str, str] | None = None, needs_tables: bool = False
) -> SparkSession:  # fmt: skip
    """Start Spark with Delta in this process, and register the tables below ``warehouse``.

    Raises :class:`EngineError` if pyspark, Java or the Delta packages are missing, and :class:`UsageError` if the
    session ``needs_tables`` and the folder of tables does not exist.
    """
    may_be_elsewhere = set(conf or {}) - set(QUICK)  # a setting of the user may name another folder
    if needs_tables and not may_be_elsewhere and not Path(warehouse).exists():
        message = f"--warehouse {warehouse}: the folder {Path(warehouse).absolute()} does not exist"
        raise UsageError(f"{message}; name the folder of earlier runs, or run the spec first")
    find_java()
    try:
        from delta import configure_spark_with_delta_pip
        from pyspark import __file__ as pyspark_file
        from pyspark.sql import SparkSession
    except ImportError as error:
        missing = "delta-spark" if error.name == "delta" else error.name
        raise EngineError(f"{missing} is not installed; run: pip install delta-spark==4.4.0") from error
    folder = Path(warehouse).absolute()
    require_folder(folder, warehouse)
    builder: Any = SparkSession.builder
    builder = builder.master("local[*]").appName("scdgen").config("spark.sql.warehouse.dir", str(folder))
    for key, value in {**_SETTINGS, **(conf or {})}.items():
        builder = builder.config(key, value)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Run Python functions with the packages of this process, not those of the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    known = _JarList.of_environment() if _takes_class_path(conf or {}) else None
    jars = known.read() if known else []
    builder = (
        builder.config("spark.driver.extraClassPath", os.pathsep.join(jars))
        if jars
        else configure_spark_with_delta_pip(builder)
    )
    try:
        with _quiet_start() as noise:
            spark: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise EngineError(_start_problem(noise.text() + str(error))) from error
    if known and not jars:
        known.write(str(spark.conf.get("spark.jars", "")), Path(pyspark_file).parent / "jars")
    try:
        register_tables(spark, folder)
    except Exception as error:
        raise translate_without_spec(error) from error
    return spark


def remote_session(url: str, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Connect to a Spark Connect server. Raises :class:`EngineError` if it does not answer."""
    if not url.startswith(("sc://", "local")):
        raise UsageError(f"--remote {url}: is not an address of a Spark Connect server; write it as sc://host:port")
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise EngineError("pyspark is not installed; run: pip install 'pyspark[connect]'") from error
    try:
        builder: Any = SparkSession.builder
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # pandas is too new for pyspark, but not used here
            spark: SparkSession = builder.remote(url).getOrCreate()
        for key, value in (conf or {}).items():
            spark.conf.set(key, value)
        spark.sql("SELECT 1").collect()
    except Exception as error:
        known = translate_without_spec(error)
        line = str(known).removeprefix("Spark: ") if known is not error else f"{first_line(error)}; {DEBUG}"
        raise EngineError(f"{url.split('/;')[0]}: {line}") from error  # the rest may contain a token
    return spark


def register_tables(spark: SparkSession, folder: Path) -> None:
    """Register the Delta tables of the warehouse: ``<schema>.db/<table>``, and ``<table>`` in the default schema."""
    for log in sorted([*folder.glob("*/_delta_log"), *folder.glob("*.db/*/_delta_log")]):
        if not (any(log.glob("[0-9]*.json")) or any(log.glob("[0-9]*.checkpoint*"))):
            continue  # an interrupted CREATE, which the next run of its spec cleans up
        table = log.parent
        schema = table.parent.name.removesuffix(".db") if table.parent != folder else "default"
        name = quote_parts((schema, table.name))
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {quote_parts((schema,))}")
        spark.sql(f"CREATE TABLE IF NOT EXISTS {name} USING DELTA LOCATION {text_literal(table.as_uri())}")


def know_catalogs(spark: SparkSession, names: Iterable[tuple[str, ...]]) -> None:
    """Register the catalogs of three-part names as aliases of the one catalog of the embedded session.

    ``main.crm.dim`` and ``crm.dim`` are then the same table. Each is a DeltaCatalog that delegates to the session's
    catalog; setting the delegate needs the JVM, which only an embedded session has.
    """
    for catalog in sorted({parts[0] for parts in names if len(parts) == 3 and parts[0] != "spark_catalog"}):
        if not re.fullmatch(r"\w+", catalog):
            raise UsageError(f"'{catalog}' cannot be a catalog of the embedded session; use letters, digits and _")
        spark.conf.set(f"spark.sql.catalog.{catalog}", _SETTINGS["spark.sql.catalog.spark_catalog"])
        manager = spark._jsparkSession.sessionState().catalogManager()
        manager.catalog(catalog).setDelegateCatalog(manager.v2SessionCatalog())


def refuses(error: Exception) -> bool:
    """Whether an error means that the session does not allow a setting to be read or changed.

    >>> refuses(ValueError("[CONFIG_NOT_AVAILABLE] Configuration spark.x is not available. SQLSTATE: 42K0I"))
    True
    """
    return bool(_REFUSED.search(str(error)))


@contextmanager
def set_while(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[bool]:
    """Change settings of the session, and restore them on exit.

    Yields ``False``, with nothing changed, if the session refuses one of them.
    """
    before: dict[str, str | None] = {}
    try:
        taken = _set(spark, settings, before)
        if not taken:
            _back(spark, before)
        yield taken
    finally:
        _back(spark, before)


def _set(spark: SparkSession, settings: Mapping[str, str], before: dict[str, str | None]) -> bool:
    """Change settings, and keep their previous values in ``before``; ``False`` if one is refused."""
    try:
        for name, value in settings.items():
            found = spark.conf.get(name, None)
            spark.conf.set(name, value)
            before[name] = found
    except Exception as error:
        if not refuses(error):
            raise
        return False
    return True


def _back(spark: SparkSession, before: dict[str, str | None]) -> None:
    while before:
        name, value = before.popitem()
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


@contextmanager
def ansi(spark: SparkSession) -> Iterator[None]:
    """Turn ANSI mode on, in which a value that does not convert is an error, not NULL.

    Raises :class:`EngineError` if it is off and the session does not allow it to be changed.
    """
    if _is_ansi(spark):
        yield
        return
    with set_while(spark, {_ANSI: "true"}) as taken:
        if not taken:
            raise EngineError(
                f"Spark: {_ANSI} is false here and may not be changed, so that a value which does not convert would "
                "become NULL; set it to true for this compute"
            )
        yield


def _is_ansi(spark: SparkSession) -> bool:
    try:
        return str(spark.conf.get(_ANSI)) == "true"
    except Exception as error:
        if not refuses(error):
            raise
    try:
        spark.sql("SELECT CAST('a' AS INT)").collect()
    except Exception as error:
        if "CAST_INVALID_INPUT" not in str(error):
            raise
        return True
    return False


def require_folder(folder: Path, shown: str | Path) -> None:
    """Refuse a warehouse that cannot be a folder, before Java fails on it deep in a statement."""
    place = next(place for place in (folder, *folder.parents) if place.exists())
    if not place.is_dir():
        raise UsageError(f"--warehouse {shown}: {place} is a file; remove it, or name another folder")


def find_java() -> tuple[int, str]:
    """Find the Java that starts Spark: its version and its path.

    Raises :class:`EngineError` if it is missing, does not run, or is too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or not shutil.which(java):
        where = f"JAVA_HOME is {home}, but no bin/java in it" if home else "no java on the PATH"
        raise EngineError(f"Java was not found ({where}); {INSTALL_JAVA}")
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise EngineError(f"{java}: cannot be run ({error.strerror}); {INSTALL_JAVA}") from error
    if done.returncode:
        said = first_line(Exception(done.stderr or done.stdout or f"it ends with status {done.returncode}"))
        raise EngineError(f"{java}: cannot be run ({said}); {INSTALL_JAVA}")
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    number = int(found[1]) if found else 0
    if found and number < 17:
        raise EngineError(f"Java {number} at {java} is too old for Spark 4; {INSTALL_JAVA}")
    return number, java


def _takes_class_path(conf: Mapping[str, str]) -> bool:
    """Whether all of Spark is in this JVM, and the user chooses no JARs.

    >>> _takes_class_path({"spark.master": "local[2]"}), _takes_class_path({"spark.master": "local-cluster[2,1,1024]"})
    (True, False)
    """
    in_process = re.fullmatch(r"local(\[.*\])?", conf.get("spark.master", "local"))
    return bool(in_process) and not any(key.startswith(_OWN_JARS) for key in conf)


@dataclass(frozen=True)
class _JarList:
    """A file in the user's cache with the JARs of Delta that Ivy has found, because it takes seconds to look again."""

    file: Path

    @classmethod
    def of_environment(cls) -> _JarList:
        """The list for the installed versions of pyspark and delta-spark."""
        versions = "-".join(version(package) for package in ("pyspark", "delta-spark"))
        return cls(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "scdgen", f"jars-{versions}.txt"))

    def read(self) -> list[str]:
        """The paths; none if the list or one of them is missing."""
        try:
            jars = self.file.read_text(encoding="utf-8").split("\n")
        except OSError:
            return []
        return jars if all(Path(jar).is_file() for jar in jars) else []

    def write(self, found: str, shipped: Path) -> None:
        """Save the paths of ``spark.jars``, except JARs that Spark has too, in the folder ``shipped``.

        On the class path they would come before Spark's own, which are of other versions.
        """
        own = {re.sub(r"-\d.*", "", jar.name) for jar in shipped.glob("*.jar")}
        if "jcl-over-slf4j" in own:  # which has the same classes
            own.add("commons-logging")
        paths = [re.sub("^file:/+", "/", jar) for jar in found.split(",") if jar]
        # Ivy's file names are <group>_<artifact>-<version>.jar
        jars = [path for path in paths if re.sub(r"^[^_]*_|-\d.*", "", Path(path).name) not in own]
        if not jars or not all(Path(jar).is_file() for jar in jars):
            return
        with suppress(OSError):  # a cache is optional
            self.file.parent.mkdir(parents=True, exist_ok=True)
            part = self.file.with_suffix(f".{os.getpid()}")
            part.write_text("\n".join(jars), encoding="utf-8")
            part.replace(self.file)


class _quiet_start:  # noqa: N801  (reads as a verb in the with statement)
    """Capture what the JVM and Ivy print while Spark starts."""

    def __enter__(self) -> _quiet_start:
        import tempfile

        self._file = tempfile.TemporaryFile()
        self._saved = [(fd, os.dup(fd)) for fd in (1, 2)]
        for fd, _ in self._saved:
            os.dup2(self._file.fileno(), fd)
        return self

    def __exit__(self, *_: object) -> None:
        for fd, saved in self._saved:
            os.dup2(saved, fd)
            os.close(saved)
        self._file.seek(0)
        self._text = self._file.read().decode("utf-8", "replace")
        self._file.close()

    def text(self) -> str:
        """Return what was printed."""
        return self._text


def _start_problem(noise: str) -> str:
    """Explain on one line why Spark did not start."""
    failed = sorted(set(re.findall(r"download failed: ([\w.:#;!()-]+)", noise)))
    if failed:
        return (
            f"the package {failed[0]} could not be copied from the local Maven repository, which has its description "
            "but not its JAR; remove its folder below ~/.m2/repository and run again"
        )
    missing = sorted(set(re.findall(r":: ([\w.-]+#[\w.-]+;[\w.]+): not found", noise)))
    if missing:
        return (
            f"the package {missing[0]} could not be downloaded; check the network or the Maven mirror settings, and "
            "that delta-spark fits pyspark (pip install delta-spark==4.4.0 brings one that does)"
        )
    if "UnsupportedClassVersionError" in noise:
        return f"this Java is too old for Spark; {INSTALL_JAVA}"
    for pattern, message in _NO_START:
        if re.search(pattern, noise):
            return f"Spark did not start: {message}"
    lines = [line for line in noise.splitlines() if "Exception" in line or "Error" in line]
    return f"Spark did not start: {lines[-1].strip() if lines else 'no reason given'}; {DEBUG}"
