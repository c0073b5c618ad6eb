"""Sessions: embedded, on a Spark Connect server, and temporary settings of any, which serverless compute refuses."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scdgen import paths
from scdgen.engine.failures import translate_at, translate_without_spec
from scdgen.engine.jvm import FEW_ROWS, JarList, explain_start, find_java, takes_class_path
from scdgen.errors import EngineError, UsageError
from scdgen.sql import quote_parts, text_literal
from scdgen.sql.zones import same_zone
from scdgen.url import Url, hide_secrets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from scdgen.model.spec import Spec

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
    # A name in the data such as ${env:HOME} is a name.
    "spark.sql.variable.substitute": "false",
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

# Errors of a refused setting: the condition of Databricks, those of Spark 4, the texts of Spark 3.
_REFUSED = re.compile(
    r"\[(CONFIG_NOT_AVAILABLE|CANNOT_MODIFY_(?:STATIC_)?CONFIG)\b|Cannot modify the value of a (?:static|Spark) config"
)
_ANSI = "spark.sql.ansi.enabled"
# Settings with which Spark reads another text than the one of a statement; scdgen's SQL is written for false, and so
# is a user's as sqlglot has read it: escapes in strings, double quotes around strings, names that are not patterns.
_READING = (
    "spark.sql.parser.escapedStringLiterals",
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.parser.quotedRegexColumnNames",
)
# By default Spark puts settings, and variables of the environment, in the place of ``${name}`` in every statement.
_SUBSTITUTE = "spark.sql.variable.substitute"
_TABLE_NAME = re.compile(r"\w+", re.ASCII)  # of Spark's own catalog
_ZONE = "spark.sql.session.timeZone"
_TIMESTAMP = "spark.sql.timestampType"
# By default Spark infers numbers and dates from the names of folders, and `branch=007` loses its zeros.
PARTITIONS_AS_TEXT = {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}


def local_session(
    warehouse: str | Path = "warehouse", conf: Mapping[str, str] | None = None, needs_tables: bool = False
) -> SparkSession:
    """Start Spark with Delta in this process, and register the tables below ``warehouse``.

    Raises :class:`EngineError` if pyspark, Java or the Delta packages are missing, and :class:`UsageError` if the
    session ``needs_tables`` and the folder of tables does not exist.
    """
    # Refuse a missing folder before Java starts, which takes seconds.
    may_be_elsewhere = set(conf or {}) - set(FEW_ROWS)  # a setting of the user may name another folder
    if needs_tables and not may_be_elsewhere and not Path(warehouse).exists():
        what = f"the folder {Path(warehouse).absolute()} does not exist"
        fix = "name the folder of earlier runs, or run the spec first"
        raise UsageError(what, option="--warehouse", value=warehouse, fix=fix)
    find_java()  # before Spark starts, whose own error does not say what to install
    try:
        from delta import configure_spark_with_delta_pip
        from pyspark import __file__ as pyspark_file
        from pyspark.sql import SparkSession
    except ImportError as error:
        missing = "delta-spark" if error.name == "delta" else error.name
        raise EngineError(f"{missing} is not installed; run: pip install delta-spark==4.4.0") from error
    folder = Path(warehouse).absolute()
    require_folder(folder, warehouse)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Run Python functions with the packages of this process, not those of the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Take the JARs from the list of an earlier start, because Ivy takes seconds to find them.
    known = JarList.of_environment() if takes_class_path(conf or {}) else None
    jars = known.read() if known else []
    # Let the user's settings win.
    settings = {"spark.sql.warehouse.dir": str(folder), **_SETTINGS, **(conf or {})}
    builder: Any = SparkSession.builder
    builder = builder.master("local[*]").appName("scdgen").config(map=settings)
    # Put the known JARs on the class path, or else let delta-spark name the packages to Ivy.
    if jars:
        builder = builder.config("spark.driver.extraClassPath", os.pathsep.join(jars))
    else:
        builder = configure_spark_with_delta_pip(builder)
    noise: list[str] = []
    try:
        with _quiet_start(noise):
            spark: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise EngineError(explain_start("".join(noise) + str(error))) from error
    if known and not jars:
        known.write(str(spark.conf.get("spark.jars", "")), Path(pyspark_file).parent / "jars")
    # Give names to the tables of earlier runs: the embedded catalog forgets them when the session ends.
    try:
        register_tables(spark, folder)
    except Exception as error:
        raise translate_without_spec(error) from error
    return spark


def remote_session(address: Url | str, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Connect to a Spark Connect server. Raises :class:`EngineError` if it does not answer."""
    url = Url(address) if isinstance(address, str) else address
    if not url.full.startswith(("sc://", "local")):
        raise UsageError(
            "is not an address of a Spark Connect server; write it as sc://host:port", option="--remote", value=url
        )
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise EngineError("pyspark is not installed; run: pip install 'pyspark[connect]'") from error
    try:
        builder: Any = SparkSession.builder
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # pandas is too new for pyspark, but not used here
            spark: SparkSession = builder.remote(url.full).getOrCreate()
        # Set scdgen's own setting first, so that one of the user wins.
        try:
            spark.conf.set(_SUBSTITUTE, "false")
        except Exception as error:
            if not refuses(error):
                raise
        for key, value in (conf or {}).items():
            spark.conf.set(key, value)
        # Send a query, so that a server that does not answer fails here.
        spark.sql("SELECT 1").collect()
    except Exception as error:
        # The error may quote the URL, which can hold a token.
        known = translate_at("Spark", error)
        raise EngineError(hide_secrets(known.what), place=str(url), fix=known.fix) from error
    return spark


def register_tables(spark: SparkSession, folder: Path) -> None:
    """Register the Delta tables of the warehouse: ``<schema>.db/<table>``, and ``<table>`` in the default schema."""
    for commits in sorted([*folder.glob("*/_delta_log"), *folder.glob("*.db/*/_delta_log")]):
        if not (any(commits.glob("[0-9]*.json")) or any(commits.glob("[0-9]*.checkpoint*"))):
            continue  # an interrupted CREATE
        table = commits.parent
        schema = table.parent.name.removesuffix(".db") if table.parent != folder else "default"
        if not (_TABLE_NAME.fullmatch(schema) and _TABLE_NAME.fullmatch(table.name)):
            continue  # the catalog has no such name
        name = quote_parts((schema, table.name))
        spark.sql(f"CREATE SCHEMA IF NOT EXISTS {quote_parts((schema,))}")
        spark.sql(f"CREATE TABLE IF NOT EXISTS {name} USING DELTA LOCATION {text_literal(paths.spark_url(table))}")


def know_catalogs(spark: SparkSession, names: Iterable[tuple[str, ...]]) -> None:
    """Register the catalogs of three-part names: ``main.crm.dim`` and ``crm.dim`` are one table.

    Each is a DeltaCatalog that delegates to the session's catalog, for which it needs the JVM of an embedded session.
    """
    for catalog in sorted({parts[0] for parts in names if len(parts) == 3 and parts[0] != "spark_catalog"}):
        if not re.fullmatch(r"\w+", catalog):
            raise UsageError(f"'{catalog}' cannot be a catalog of the embedded session; use letters, digits and _")
        spark.conf.set(f"spark.sql.catalog.{catalog}", _SETTINGS["spark.sql.catalog.spark_catalog"])
        manager = spark._jsparkSession.sessionState().catalogManager()
        manager.catalog(catalog).setDelegateCatalog(manager.v2SessionCatalog())


def refuses(error: Exception) -> bool:
    """Whether an error means that the session does not allow a setting to be read or changed."""
    return bool(_REFUSED.search(str(error)))


@contextmanager
def set_while(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[bool]:
    """Change settings, and restore them on exit. Yields ``False``, with nothing changed, if the session refuses one."""
    with ExitStack() as changed:
        try:
            for name, value in settings.items():
                before = spark.conf.get(name, None)
                spark.conf.set(name, value)
                changed.callback(*((spark.conf.unset, name) if before is None else (spark.conf.set, name, before)))
            taken = True
        except Exception as error:
            if not refuses(error):
                raise
            changed.close()
            taken = False
        yield taken


@contextmanager
def strict(spark: SparkSession) -> Iterator[None]:
    """Let the session read statements and values as the generated SQL means them.

    That is ANSI mode; TIMESTAMP as the type of instants, of which the generated SQL refuses the other one; and
    :func:`as_written`. Raises :class:`EngineError` if ANSI mode is off and may not be changed.
    """
    instants = {_TIMESTAMP: "TIMESTAMP_LTZ"} if _read(spark, _TIMESTAMP) == "TIMESTAMP_NTZ" else {}
    plain = {} if _read(spark, _SUBSTITUTE) == "false" else {_SUBSTITUTE: "false"}
    ansi = {} if _is_ansi(spark) else {_ANSI: "true"}
    held = _held(spark, ansi, "a value which does not convert would become NULL")
    with set_while(spark, instants), set_while(spark, plain), as_written(spark), held:
        yield


def is_as_written(spark: SparkSession) -> bool:
    """Whether Spark reads the text of statements as it is written, but for ``${name}``."""
    return not any(_read(spark, name) == "true" for name in _READING)


def as_written(spark: SparkSession) -> AbstractContextManager[None]:
    """Let Spark read the strings and names of statements as they are written.

    Raises :class:`EngineError` if a setting has another meaning and may not be changed.
    """
    wrong = [name for name in _READING if _read(spark, name) == "true"]
    return _held(spark, dict.fromkeys(wrong, "false"), "texts and names in the SQL would mean something else")


@contextmanager
def _held(spark: SparkSession, settings: Mapping[str, str], otherwise: str) -> Iterator[None]:
    """Change flags. Raises :class:`EngineError` with what would happen ``otherwise`` if the session refuses one."""
    with set_while(spark, settings) as taken:
        if not taken:
            (name, value), *_ = settings.items()
            what = f"{name} is {'false' if value == 'true' else 'true'} here and may not be changed"
            raise EngineError(f"Spark: {what}, so that {otherwise}; set it to {value} for this compute")
        yield


def read_zone(spark: SparkSession) -> str:
    """Return the time zone of the session; UTC if it may not be read, which the generated SQL then tests."""
    return _read(spark, _ZONE) or "UTC"


def zone_while(spark: SparkSession, zone: str) -> AbstractContextManager[bool]:
    """Set the time zone of the session; if it refuses, the generated SQL stops."""
    return set_while(spark, {} if same_zone(read_zone(spark), zone) else {_ZONE: zone})


def _read(spark: SparkSession, setting: str) -> str | None:
    """Return a setting of the session; ``None`` if it may not be read, or is unknown."""
    try:
        found = spark.conf.get(setting, None)
    except Exception as error:
        if not refuses(error):
            raise
        return None
    return None if found is None else str(found)


def _is_ansi(spark: SparkSession) -> bool:
    if (found := _read(spark, _ANSI)) is not None:
        return found == "true"
    # The server does not show the setting, so try a cast that only ANSI refuses.
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
        raise UsageError(f"{place} is a file; remove it, or name another folder", option="--warehouse", value=shown)


def require_primary_keys(spark: SparkSession, spec: Spec) -> None:
    """Raise :class:`EngineError` for ``table.primary_key`` outside of Databricks, whose Delta alone has such a key."""
    if not spec.table.primary_key:
        return
    try:
        spark.sql("SELECT current_version()").collect()  # a function of Databricks
    except Exception as error:
        what = "this engine has no primary keys, which only Databricks has"
        fix = "remove it, or run the spec on Databricks"
        raise EngineError(f"{spec.target}: table.primary_key: {what}; {fix}") from error


@contextmanager
def _quiet_start(noise: list[str]) -> Iterator[None]:
    """Put what the JVM and Ivy print in this block into ``noise``."""
    with tempfile.TemporaryFile() as file:
        saved = [(fd, os.dup(fd)) for fd in (1, 2)]
        for fd, _ in saved:
            os.dup2(file.fileno(), fd)
        try:
            yield
        finally:
            for fd, copy in saved:
                os.dup2(copy, fd)
                os.close(copy)
            file.seek(0)
            noise.append(file.read().decode("utf-8", "replace"))
