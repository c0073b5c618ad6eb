"""Errors of Spark, Delta and Java on one line; ``--debug`` shows the original.

The line is the first one of the engine's message, unless the error is listed here with a line that adds the fix.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from scdgen import errors, sql
from scdgen.engine.footer import describe_unread
from scdgen.errors import DEBUG, DataError, EngineError, ScdgenError, quoted
from scdgen.model.load import Lines
from scdgen.model.option import sql_texts
from scdgen.model.rules import place_of_feed
from scdgen.model.spec import Spec
from scdgen.sql.tokens import first_line

AFTER_QUOTE = (
    "text follows a closing quote; write a quote inside a quoted cell twice, or give --source-option 'escape=\\' if a "
    "backslash is before it"
)
_MODULES = ("pyspark", "py4j", "delta", "grpc")
_NAME = r"((?:`[^`]+`\.?)+|\S+?)"

# Pattern in the text of an error -> what is wrong and the fix, with the pattern's groups in them; the first match wins.
# {where} is where the spec has the name in the first group, {hint} the most similar of the names in the second group,
# {schemas} what names a catalog, {source} how rows are passed, {value} the last group where it may hold values of rows.
_KNOWN: tuple[tuple[str, type[ScdgenError], str, str], ...] = (
    (r"\[(?:TABLE_OR_VIEW_NOT_FOUND|DELTA_TABLE_NOT_FOUND|DELTA_MISSING_DELTA_TABLE)\b.*?"
     rf"(?:table or view|Delta table) {_NAME} (?:cannot be found|doesn't exist|is not)",
     DataError, "no table or view {0}", "name one that is there, or give the rows with {source}"),
    (rf"\[(?:CATALOG_NOT_FOUND|NO_SUCH_CATALOG_EXCEPTION)\b.*?[cC]atalog '?{_NAME}'? (?:was )?not found|"
     r"\[REQUIRES_SINGLE_PART_NAMESPACE\b.*?identifier `?([^`.]+)`?\.",
     DataError, "there is no catalog {0}{1}", "create it, or correct {schemas}"),
    (rf"\[UNRESOLVED_COLUMN\b.*?with name {_NAME} cannot be resolved"
     r".*?Did you mean one of the following\? \[([^\]]*)\]",
     DataError, "no column {0}{where}", "{hint}"),
    (rf"\[UNRESOLVED_COLUMN\b.*?with name {_NAME} cannot be resolved",
     DataError, "no column {0}{where}", "fix the spec's expressions or the source"),
    (rf"\[FIELD_NOT_FOUND\] No such struct field {_NAME} in (.*?)\.",
     DataError, "no field {0} in the structure{where}", "{hint}"),
    (r"\[INVALID_EXTRACT_BASE_FIELD_TYPE\] Can't extract a value from \"(.*?)\"",
     DataError, "{0} has no fields, as it is NULL in all rows or text{where}", "give its fields in source.schema"),
    (r"\[CANNOT_MERGE_SCHEMAS\]",
     DataError, "the files of the source have a column of different types", "write them with one type, or give them "
     "with --source, which reads them in the types of the spec"),
    (r"\[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES\] CHECK constraint (.*?) violated by row with values:[\s-]*"
     r"(.*?)(?:\.? SQLSTATE|\n(?! - )|$)",
     DataError, "a row breaks the table's own constraint {0}, with {value}", "fix the source, leave such rows out by "
     "source.where, or drop the constraint"),
    (rf"\[UNRESOLVED_ROUTINE\b.*?routine {_NAME} on search path",
     DataError, "Spark has no function {0}{where}", "fix its name"),
    (r"\[PARSE_SYNTAX_ERROR\b.*?at or near ('.*?'|end of input)",
     DataError, "Spark cannot read the SQL of the spec, it fails at {0}{where}", "fix what comes before it"),
    (r"\[(?:UNABLE_TO_INFER_SCHEMA|FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY)\b",
     DataError, "the files of the source are empty or of another format", "fix them, or name their format"),
    (r"\[DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE\b",
     DataError, "two rows of one key and time are in the table", "find them with `scdgen check`, and delete one"),
    (r"\[PYTHON_EXCEPTION\b.*?\n((?:\w+\.)*\w+(?:Error|Exception)\b[^\n]*)",
     DataError, "a Python function that the spec calls fails with {value}", "fix it"),
    (r"(?:UnsupportedFileSystemException|No FileSystem for scheme).*?scheme \"?(\w+)\"?",
     DataError, "Spark knows no file system {0}", "fix the path, or add the packages of this one with --conf "
     "spark.jars.packages=..."),
    (r"\[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION\].*? location \('(.*?)'\)",
     DataError, "{0} is not empty, and no table", "remove what an interrupted run left there, or name "
     "another folder"),
    (r"\[DELTA_CANNOT_CREATE_LOG_PATH\] Cannot create (\S+?)(?:/_delta_log)?[.\s]",
     EngineError, "the folder {0} cannot be made", "ask for the right to write there, or name another one"),
    (r"\[DELTA_(?:UNSUPPORTED_FEATURES_FOR_(?:READ|WRITE)|INVALID_PROTOCOL_VERSION)\b",
     EngineError, "the table was written by a newer Delta Lake than this", "install a newer delta-spark"),
    (r"\[UNSUPPORTED_FEATURE\.TABLE_OPERATION\].*?MERGE INTO|MERGE destination only supports Delta sources|"
     r"MERGE INTO TABLE is not supported",
     DataError, "it is not a Delta table, or the session has no Delta Lake", "name another table, or start Spark with "
     "delta-spark"),
    (r"\[DATA_SOURCE_NOT_FOUND\b.*?data source: `?delta",
     EngineError, "this session has no Delta Lake", "start Spark with delta-spark"),
    (r"AccessControlException|AccessDeniedException|Permission denied|Mkdirs failed to create",
     EngineError, "permission is denied", "ask for the rights on the folder, or name another one"),
    # Before Spark 4 without the name of the condition.
    (r"([\w-]+) >= [\d.]+ must be installed; however",
     EngineError, "Spark Connect needs {0}, which is not installed", "run: pip install 'pyspark[connect]'"),
    (r"No space left on device",
     EngineError, "no space is left on the disk", "free some and run again, the table is as it was"),
    (r"Read-only file system",
     EngineError, "the disk is read-only", "name another place with --warehouse or table.location"),
    (r"Java heap space|OutOfMemoryError|GC overhead limit",
     EngineError, "Spark's memory is used up", "give it more, as in --conf spark.driver.memory=8g"),
    (r"StatusCode\.UNAVAILABLE|Connection refused|DNS resolution failed|failed to connect",
     EngineError, "the server does not answer", "check its address, and that it is up"),
    (r"SparkContext was shut down|stopped SparkContext|Java gateway process exited|Answer from Java side is empty|"
     r"Error while sending or receiving",
     EngineError, "Spark has ended in the midst of the work", "look for a lack of memory, and run again"),
)  # fmt: skip

# Errors of the spec or the data, not of the engine: SQLSTATEs of cardinality, data, constraints, syntax and names (a
# missing privilege is also in class 42), and the exceptions for which Delta has no SQLSTATE.
_OF_USER = re.compile(
    r"SQLSTATE: (?:2[123]|42(?!501))|^AnalysisException(?!.*SQLSTATE: 42501)|InvariantViolationException", re.DOTALL
)
_NO_ADVICE = r"(?<!\s)\s*If necessary set \"?spark\.sql\.ansi\.enabled\"? to [^\n]*?error\b"  # a run sets it

# Cause in Spark's text if a file could not be read -> the message, with the pattern's groups in it.
_MALFORMED: tuple[tuple[str, str], ...] = (
    (r"\[MALFORMED_CSV_RECORD\] Malformed CSV record: (.*?)(?: SQLSTATE|\n)",
     "the row {0} has not as many cells as there are columns; fix it, or put quotes around a cell with a comma"),
    (r"CSV header does not conform to the schema\.\s+Header: (.*)\n\s*Schema: (.*)",
     "its header is {0} where {1} is read; give every file the same columns in one order, each named once, or set the "
     "option enforceSchema: true to go by their places"),
    (r"Unescaped quote character", AFTER_QUOTE),
    (r"record parsing: \[(?:null,?)*\](?s:.*)\[INVALID_JSON_ROOT_FIELD\]",
     "holds a line that is not a JSON object, such as null; leave it out, or give the file with --source, which does"),
    (r"JsonParseException|JsonEOFException|record parsing: _corrupt_record",
     "holds a line that is not a JSON object; write one object per line, or for one array of objects set the option "
     "multiLine: true"),
    (r"\[MALFORMED_RECORD_IN_PARSING[A-Z_.]*\] Malformed records are detected in record parsing: (.*?)\.(?:\s|$)",
     "holds a row that is broken or does not fit the types of the others, read as {0}; fix it"),
    (r"FAILED_READ_FILE\.FILE_NOT_EXIST|FileNotFoundException",
     "a file of it is not there any more; restore it, run again where it was being rewritten, or name a later run "
     "where VACUUM has removed it"),
    (r"Data type mismatches when reading Parquet column \[(.*?)\]",
     "the column {0} is of another type than in the other files; write them with one type, or give them with --source, "
     "which reads them in the types of the spec"),
)  # fmt: skip


def translate(spec: Spec, error: Exception, place: str = "") -> ScdgenError:
    """Translate an error of the engine about a ``place``, by default the table of the spec."""
    place = place or spec.target
    if own := _of_server(str(error)):
        return own
    if spec.source.path and re.search(r"\[(PARQUET_TYPE_\w+|UNSUPPORTED_TIME_TYPE)\]", str(error)):
        path = Path(spec.source.path)
        if unread := describe_unread(sorted(path.rglob("*.parquet")) if path.is_dir() else [path]):
            return DataError(unread, place=place)
    if broken := explain_unreadable(str(error)):
        file, what = broken
        shown = _shown_path(file or spec.source.path or "a source")
        return DataError(f"{shown}: {what}", place=place, values=errors.find_values(what))
    return _error(place, error, spec)


def missing_name(error: Exception) -> str | None:
    """Return the column without its table if the error is that Spark does not find one; otherwise ``None``."""
    found = re.search(rf"\[UNRESOLVED_COLUMN\b.*?with name {_NAME} cannot be resolved", str(error), re.DOTALL)
    return sql.unquote(re.split(r"\.(?=`)", found[1])[-1]) if found else None


def translate_without_spec(error: Exception) -> Exception:
    """Translate an error of the engine that no spec caused; return any other error as it is."""
    if isinstance(error, ScdgenError) or type(error).__module__.split(".")[0] not in _MODULES:
        return error
    translated = _error("Spark", error)
    translated.__cause__ = error
    return translated


def translate_at(place: str, error: Exception) -> ScdgenError:
    """Translate an error of the engine about something other than a spec, named by ``place``."""
    return error if isinstance(error, ScdgenError) else _error(place, error)


def translate_check(spec: Spec, check: str, error: Exception) -> ScdgenError:
    """Translate the error of a check that cannot be evaluated; the check itself has not failed."""
    known = _error("", error)
    what = f"the check {check} cannot run: {known.what}"
    return type(known)(what, place=spec.target, fix="fix its query or its table", values=known.values)


def explain_unreadable(text: str) -> tuple[str | None, str] | None:
    """Return (the file if Spark names it, what is wrong with it) if Spark could not read a file."""
    named = re.search(r"\[FAILED_READ_FILE[A-Z_.]*\] Encountered error while reading file (\S+?)\.(?:\s|$)", text)
    if named is None and "[MALFORMED_RECORD_IN_" not in text and "Unescaped quote character" not in text:
        return None
    file = named[1] if named else None
    if is_commit(file):
        return file, "this commit in the log of a table is cut or broken; restore the file"
    for pattern, message in _MALFORMED:
        if found := re.search(pattern, text):
            return file, message.format(*(quoted(part.strip()) for part in found.groups()))
    return file, "cannot be read; fix the file, or name its format as it is"


def is_commit(file: str | None) -> bool:
    """Whether a file belongs to the log of a Delta table."""
    return file is not None and "/_delta_log/" in file


def local_path(uri: str) -> Path | None:
    """Return the local path of a ``file:`` URI; ``None`` for other URIs.

    >>> local_path("file:///tmp/a%20b.csv"), local_path("s3://a/b")
    (PosixPath('/tmp/a b.csv'), None)
    """
    found = re.fullmatch(r"file:/*(/.*)", uri)
    return Path(unquote(found[1])) if found else None


def _shown_path(uri: str) -> str:
    """Shorten a file's URI for a message: relative to the working folder if it is in there."""
    path = local_path(uri)
    if path is None:
        return uri
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _of_server(text: str) -> ScdgenError | None:
    """Find one of our errors in the traceback of a Python process on the server.

    >>> _of_server("Traceback (most recent call last):\\n  ...\\nscdgen.errors.DataError: a.b: the key id is NULL\\n")
    DataError('a.b: the key id is NULL')
    """
    found = re.findall(rf"^{errors.__name__}\.(DataError|EngineError|SpecError|UsageError): (.+)", text, re.MULTILINE)
    if not found:
        return None
    kind, line = found[-1]
    error: ScdgenError = getattr(errors, kind)(line)
    error.values = errors.find_values(line)
    return error


def _error(place: str, error: Exception, spec: Spec | None = None) -> ScdgenError:
    """Translate an error; ``spec`` is searched for the names in it."""
    text = str(error)
    for pattern, kind, what, fix in _KNOWN:
        if found := re.search(pattern, text, re.DOTALL):
            parts = [_plain(part or "") for part in found.groups()]
            where = _where(spec, parts[0]) if spec is not None and "{where}" in what else ""
            values = [parts[-1]] if "{value}" in what else [""]
            facts = {"where": where, "hint": _hint(parts), "source": "--source", "value": values[0]}
            facts["schemas"] = f"targets.{spec.environment}.schemas" if spec and spec.environment else "the name"
            what, fix = (part.format(*parts, **facts) for part in (what, fix))
            return kind(what, place=place, fix=fix, values=values)
    # Without a pattern, the class of the error decides whether the data or the engine is at fault.
    kind = DataError if _OF_USER.search(f"{type(error).__name__}: {text}") else EngineError
    line = _first_line(text)
    # Any of what follows the name of the condition.
    values = [re.sub(r"^(\[[A-Z0-9_.]+\]|\w+:) ", "", line)]
    return kind(line, place=place, fix=DEBUG, values=values)


def _first_line(text: str) -> str:
    r"""Return the line of Spark's text that says what is wrong, without SQLSTATE, stack or stream.

    >>> _first_line("[STREAM_FAILED] Query [id = a] terminated with exception: [A_B] No c. SQLSTATE: 1\n=== x ===")
    '[A_B] No c'
    >>> _first_line("An error occurred while calling o57.sql.\n: java.lang.IllegalStateException: odd\n\tat scala")
    'IllegalStateException: odd'
    >>> _first_line('<_InactiveRpcError of RPC:\n\tstatus = StatusCode.UNAUTHENTICATED\n\tdetails = "No token"\n>')
    'UNAUTHENTICATED: No token'
    """
    text = re.sub(r":\n - ", ": ", text)  # the first of a list of values
    named = re.search(r"\[(?!STREAM_FAILED)[A-Z][A-Z0-9_.]+\] [^\n]+", text)
    java = re.search(r"^: (?:[\w$]+\.)+([\w$]+(?:: [^\n]+)?)", text, re.MULTILINE)  # of a Py4JJavaError
    server = re.search(r'StatusCode\.(\w+)\s+details = "(.*)"', text)  # of a Spark Connect error
    if server and not named:
        return first_line(Exception(f"{server[1]}: {server[2]}"))
    line = named[0] if named else java[1] if java else text
    return first_line(Exception(re.sub(_NO_ADVICE, "", line.partition("SQLSTATE: ")[0].rstrip(), flags=re.DOTALL)))


def _hint(parts: list[str]) -> str:
    """Suggest an existing name for a missing one."""
    if len(parts) < 2:  # no list of the names that are there
        return ""
    names = parts[1].split(", ")
    # Look for known reasons of odd names in a CSV before a similar name is suggested.
    if any(name.lower().startswith("`sep=`") or name.lower() == "sep=" for name in names):
        return "the first line sep= is for Excel alone: take it out"
    bare = parts[0].strip("`").rpartition(".")[2].lower()
    bare_names = [name.strip("`") for name in names]
    if any(name != name.strip() and name.strip().lower() == bare for name in bare_names):
        return "the header has a blank beside the name: set source.options.ignoreLeadingWhiteSpace: true"
    sep = "set it in source.options.sep"
    if len(names) == 1 and (likely := errors.describe_one_name(names[0].strip("`"), sep)):
        return likely
    last = {name.rpartition(".")[2]: name for name in names}
    hint = errors.nearest(parts[0].rpartition(".")[2], last).removeprefix("; ")
    others = " and maybe others" if len(names) == 5 else ""  # as many as Spark lists
    return re.sub("'(.*)'", lambda found: f"'{last[found[1]]}'", hint) or f"there are {parts[1]}{others}"


def _where(spec: Spec, word: str) -> str:
    """List the options of a spec with a word in their SQL, and their lines."""
    word = word.strip("'").rpartition(".")[2]
    texts = [(found.place, found.text) for found in sql_texts(spec)]
    texts += [(("columns", name), name) for name, column in spec.columns.items() if column.from_ is None]
    texts += [(("columns", name, "type"), column.type) for name, column in spec.columns.items() if "<" in column.type]
    found = [place for place, text in texts if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)]
    if not found:
        return ""
    lines = Lines.of_file(spec.origin) if Path(spec.origin).is_file() else None
    options = ", ".join(
        ".".join(map(str, place)) + (" in {}:{}".format(*lines.position(place)) if lines else "")
        for place in (place_of_feed(place, spec.feed) for place in found)
    )
    return f" ({options})"


def _plain(part: str) -> str:
    """Put a piece of Spark's text on one line, without needless backticks."""
    part = re.sub(r"`(\w+)`", r"\1", re.sub(r"^file:/+", "/", " ".join(part.split())))
    return part.removeprefix("spark_catalog.")
