"""Spark's, Delta's and Java's own errors as one line in our words. The original stays behind ``--debug``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from scdgen import errors
from scdgen.engine.failures_known import CONDITIONS, MALFORMED, TEXTS, Known
from scdgen.errors import DEBUG, DataError, EngineError, ScdgenError, nearest, quoted
from scdgen.files.find import shown_path
from scdgen.spec.load import Lines
from scdgen.spec.model import Spec
from scdgen.spec.rules import sql_texts
from scdgen.sql.tokens import first_line

_ENGINE = ("pyspark", "py4j", "delta", "grpc")


def unreadable(text: str) -> tuple[str | None, str] | None:
    """(the file as Spark names it, if it does; what is wrong with it) where Spark could not read a file."""
    named = re.search(r"\[FAILED_READ_FILE[A-Z_.]*\] Encountered error while reading file (\S+?)\.(?:\s|$)", text)
    if named is None and "[MALFORMED_RECORD_IN_" not in text:
        return None
    file = named[1] if named else None
    for pattern, told in MALFORMED:
        found = re.search(pattern, text)
        if found:
            return file, told.format(*(quoted(part.strip()) for part in found.groups()))
    return file, "cannot be read; mend the file, or name its format as it is"


def translate(spec: Spec, error: Exception) -> ScdgenError:
    """One of our errors for an error of the engine."""
    own = _of_server(str(error))
    if own is not None:
        return own
    broken = unreadable(str(error))
    if broken is not None:
        file, what = broken
        return DataError(f"{spec.target}: {shown_path(file or spec.source.path or 'a source')}: {what}")
    return _told(spec.target, error, spec)


def _of_server(text: str) -> ScdgenError | None:
    """One of our errors that a Python process of the server ended with, which comes as its traceback.

    >>> _of_server("Traceback (most recent call last):\\n  ...\\nscdgen.errors.DataError: a.b: the key id is NULL\\n")
    DataError('a.b: the key id is NULL')
    """
    found = re.findall(rf"^{errors.__name__}\.(DataError|EngineError|SpecError|UsageError): (.+)", text, re.MULTILINE)
    if not found:
        return None
    kind, line = found[-1]
    told: ScdgenError = getattr(errors, kind)(line)
    return told


def of_engine(error: Exception) -> Exception:
    """An error of the engine's that no spec stands beside as one of ours; any other as it is."""
    if isinstance(error, ScdgenError) or type(error).__module__.split(".")[0] not in _ENGINE:
        return error
    told = _told("Spark", error)
    told.__cause__ = error
    return told


def of_place(place: str, error: Exception) -> ScdgenError:
    """An error of the engine's that concerns something beside the specs, which ``place`` names."""
    return error if isinstance(error, ScdgenError) else _told(place, error)


def of_check(spec: Spec, check: str, error: Exception) -> ScdgenError:
    """The error of a check that cannot be worked out, which is not a check that fails."""
    known = _known(error)
    what = known[1].split("; ")[0] if known else _line(error)
    kind = known[0] if known else EngineError
    return kind(f"{spec.target}: the check {check} cannot be worked out: {what}; mend its query or its table")


def _told(place: str, error: Exception, spec: Spec | None = None) -> ScdgenError:
    known = _known(error, spec)
    if known is None:
        return EngineError(f"{place}: {_line(error)}; {DEBUG}")
    kind, line = known
    return kind(f"{place}: {line}")


def _known(error: Exception, spec: Spec | None = None) -> tuple[type[ScdgenError], str] | None:
    """(kind, line) where the cause is known."""
    text = str(error)
    conditions = re.findall(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]", text)
    for known in _candidates(conditions, text):
        found = re.search(known.parts, text, re.DOTALL)
        if found:
            parts = [_plain(part or "") for part in found.groups()]
            where = _where(spec, parts[0]) if spec is not None and parts else ""
            return known.kind, known.line.format(*parts, where=where, hint=_hint(parts))
    return None


def _hint(parts: list[str]) -> str:
    """The way out for a name that is not there, from those that are."""
    if len(parts) < 2:
        return ""
    last = {name.rpartition(".")[2]: name for name in parts[1].split(", ")}
    found = re.search("'(.*)'", nearest(parts[0].rpartition(".")[2], last))
    return f"; did you mean '{last[found[1]]}'?" if found else f"; there are {parts[1]}"


def _where(spec: Spec, word: str) -> str:
    """The options of a spec that have a word in their SQL, and their lines."""
    word = word.strip("'").rpartition(".")[2]
    texts = [(place, text) for place, _, text in sql_texts(spec)]
    texts += [(("columns", name), name) for name, column in spec.columns.items() if column.from_ is None]
    found = [place for place, text in texts if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)]
    if not found:
        return ""
    lines = Lines.of_file(spec.origin) if Path(spec.origin).is_file() else None
    options = ", ".join(
        ".".join(map(str, place)) + (f" in {spec.origin}:{line}" if lines and (line := lines.of(place)) else "")
        for place in found
    )
    return f" ({options})"


def _candidates(conditions: list[str], text: str) -> Iterator[Known]:
    """What is known of the conditions that a text names, then of what it says without one."""
    for condition in conditions:
        for pattern, entries in CONDITIONS:
            if re.fullmatch(rf"(?:{pattern})(?:\..*)?", condition):
                yield from entries
    for pattern, known in TEXTS:
        if re.search(pattern, text):
            yield known


def _plain(part: str) -> str:
    """A piece of Spark's text on one line, names without backticks where they need none."""
    part = re.sub(r"`(\w+)`", r"\1", re.sub(r"^file:/+", "/", " ".join(part.split())))
    return part.removeprefix("spark_catalog.")


def _line(error: Exception) -> str:
    """The first line of Spark's text that says something."""
    text = str(error)
    named = re.search(r"\[[A-Z][A-Z0-9_.]+\] [^\n]+", text)
    java = re.search(r"^: (?:[\w$]+\.)+([\w$]+(?:: [^\n]+)?)", text, re.MULTILINE)  # of a Py4JJavaError
    line = named[0] if named else java[1] if java else text
    return first_line(Exception(re.sub(r"\s*SQLSTATE: .*", "", line, flags=re.DOTALL)))
