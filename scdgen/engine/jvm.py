"""Java as the embedded session starts it: which one, with which options and class path, and why it did not start."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from scdgen.errors import DEBUG, EngineError
from scdgen.paths import cache_folder, home_folder, make_private
from scdgen.sql.tokens import first_line

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# For a command that reads little: the quick compiler and the simple collector. A long MERGE needs the others.
QUICK = {JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"}
# For one that reads some thousand rows: Spark compiles no code for them and plans nothing twice, which takes longer
# than reading the rows (docs/decisions/0022-a-run-of-few-rows.md).
FEW_ROWS = {
    **QUICK,
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
}
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


def find_java() -> tuple[int, str]:
    """Find the version and the path of the Java that starts Spark. Raises :class:`EngineError` if it is not fit."""
    # JAVA_HOME comes before the PATH, as in Spark's own scripts.
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
    # Java 8 calls itself 1.8.
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    number = int(found[1]) if found else 0
    if found and number < 17:
        raise EngineError(f"Java {number} at {java} is too old for Spark 4; {INSTALL_JAVA}")
    return number, java


def ivy_folder(pyspark: str) -> Path:
    """The folder into which Ivy downloads JARs, in this version of pyspark, if no setting names another one."""
    return home_folder() / (".ivy2" if pyspark.startswith("3.") else ".ivy2.5.2")


def takes_class_path(conf: Mapping[str, str]) -> bool:
    """Whether all of Spark is in this JVM, and the user chooses no JARs.

    >>> takes_class_path({"spark.master": "local[2]"}), takes_class_path({"spark.master": "local-cluster[2,1,1024]"})
    (True, False)
    """
    in_process = re.fullmatch(r"local(\[.*\])?", conf.get("spark.master", "local"))
    return bool(in_process) and not any(key.startswith(_OWN_JARS) for key in conf)


@dataclass(frozen=True)
class JarList:
    """A file in the user's cache with the JARs of Delta that Ivy has found, because it takes seconds to look again."""

    file: Path
    """Its path."""

    @classmethod
    def of_environment(cls) -> JarList:
        """The list for the installed versions of pyspark and delta-spark."""
        versions = "-".join(version(package) for package in ("pyspark", "delta-spark"))
        return cls(cache_folder() / f"jars-{versions}.txt")

    def read(self) -> list[str]:
        """The paths; none if the list or one of them is missing, or if one is not of Ivy."""
        try:
            jars = self.file.read_text(encoding="utf-8").split("\n") if make_private(self.file.parent) else []
        except (OSError, UnicodeDecodeError):
            return []
        return jars if self._are_of_ivy(jars) else []

    def _are_of_ivy(self, jars: Sequence[str]) -> bool:
        """Whether all paths are JARs in the folder of Ivy."""
        folder = (ivy_folder(version("pyspark")) / "jars").resolve()
        found = [Path(jar).resolve() for jar in jars]
        return all(jar.is_file() and jar.is_relative_to(folder) for jar in found)

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
        if not jars or not self._are_of_ivy(jars) or not make_private(self.file.parent):
            return
        with suppress(OSError):  # a cache is optional
            part = self.file.with_suffix(f".{os.getpid()}")
            part.write_text("\n".join(jars), encoding="utf-8")
            part.replace(self.file)


def explain_start(noise: str) -> str:
    """Explain on one line why Spark did not start."""
    # Look at what Ivy says first: the errors of Java that follow do not give the reason.
    if failed := sorted(set(re.findall(r"download failed: ([\w.:#;!()-]+)", noise))):
        return (
            f"the package {failed[0]} could not be copied from the local Maven repository, which has its description "
            "but not its JAR; remove its folder below ~/.m2/repository and run again"
        )
    if missing := sorted(set(re.findall(r":: ([\w.-]+#[\w.-]+;[\w.]+): not found", noise))):
        return (
            f"the package {missing[0]} could not be downloaded; check the network or the Maven mirror settings, and "
            "that delta-spark fits pyspark (pip install delta-spark==4.4.0 brings one that does)"
        )
    if "UnsupportedClassVersionError" in noise:
        return f"this Java is too old for Spark; {INSTALL_JAVA}"
    for pattern, message in _NO_START:
        if re.search(pattern, noise):
            return f"Spark did not start: {message}"
    # Show the last exception, which is the cause of the ones before it.
    lines = [line for line in noise.splitlines() if "Exception" in line or "Error" in line]
    return f"Spark did not start: {lines[-1].strip() if lines else 'no reason given'}; {DEBUG}"
