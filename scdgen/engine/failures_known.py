"""What Spark, Delta and Java say where something goes wrong, and what it means for a user: the table behind
:mod:`scdgen.engine.failures`."""

from __future__ import annotations

from dataclasses import dataclass

from scdgen.errors import DataError, EngineError, ScdgenError


@dataclass(frozen=True)
class Known:
    """A cause: whose fault it is, the line in our words with the groups of ``parts`` in it, looked for in the text."""

    kind: type[ScdgenError]
    line: str
    parts: str = ""


def _data(line: str, parts: str = "") -> Known:
    return Known(DataError, line, parts)


def _engine(line: str, parts: str = "") -> Known:
    return Known(EngineError, line, parts)


_AGAIN = "nothing was written, run again"
_FILE_THERE = r"Mkdirs failed|Not a directory|ParentNotDirectoryException|FileAlreadyExistsException"
_NO_FOLDER = "a file is in the place of the table's folder; remove it, or name another folder"
_NAME = r"((?:`[^`]+`\.?)+|\S+?)"
# Error conditions, as Spark writes them in brackets (subclasses aside) -> what they mean; the first whose parts are
# in the text is taken.
CONDITIONS: tuple[tuple[str, tuple[Known, ...]], ...] = (
    ("TABLE_OR_VIEW_NOT_FOUND|DELTA_TABLE_NOT_FOUND|DELTA_MISSING_DELTA_TABLE", (
        _data("there is no table or view {0}; name one that is there, or give the rows with --source",
              rf"(?:table or view|Delta table) {_NAME} (?:cannot be found|doesn't exist|is not)"),
        _data("a table that the spec reads is not there; name one that is, or give the rows with --source"),
    )),
    ("EXPECT_VIEW_NOT_TABLE", (
        _data("{0} is a table, and the spec makes a view of this name; give the view another one",
              rf"table {_NAME} does"),
    )),
    ("SCHEMA_NOT_FOUND", (
        _data("there is no schema {0}; make it, or name another one", rf"schema {_NAME} cannot be found"),
    )),
    ("CATALOG_NOT_FOUND", (
        _data("there is no catalog {0}; set it up in Spark's settings, or name another one",
              rf"catalog {_NAME} not found"),
    )),
    ("UNRESOLVED_COLUMN", (
        _data("there is no column {0}{where}{hint}",
              rf"with name {_NAME} cannot be resolved.*?Did you mean one of the following\? \[([^\]]*)\]"),
        _data("there is no column {0}{where}; mend the spec's expressions or the source",
              rf"with name {_NAME} cannot be resolved"),
    )),
    ("FIELD_NOT_FOUND", (
        _data("there is no field {0} in the structure{where}{hint}",
              rf"No such struct field {_NAME} in (.*?)\."),
    )),
    ("UNRESOLVED_ROUTINE", (
        _data("Spark has no function {0}{where}; mend its name", rf"routine {_NAME} on search path"),
    )),
    ("WRONG_NUM_ARGS", (
        _data("the function {0} takes {1} arguments, and {2} are given{where}; mend the expression",
              r"The (\S+) requires (.*?) parameters but the actual number is (\d+)"),
    )),
    ("PARSE_SYNTAX_ERROR|PARSE_EMPTY_STATEMENT", (
        _data("Spark cannot read the SQL of the spec, it breaks at {0}{where}; mend what stands before it",
              r"at or near ('.*?'|end of input)"),
        _data("Spark cannot read the SQL of the spec; mend its expressions"),
    )),
    ("DATATYPE_MISMATCH", (
        _data("the types in {0} do not fit together ({1}); mend the spec's expression, or cast a column in it",
              r"Cannot resolve (\".*?\") due to data type mismatch: (.*?)\.?(?: SQLSTATE|\n|$)"),
        _data("the types in an expression of the spec do not fit together; cast a column in it"),
    )),
    ("MISSING_AGGREGATION|MISSING_GROUP_BY|GROUP_BY_AGGREGATE|UNSUPPORTED_EXPR_FOR_OPERATOR|INVALID_WHERE_CONDITION", (
        _data("the query of the source aggregates some columns and not others; group by the others"),
    )),
    ("AMBIGUOUS_REFERENCE", (
        _data("the column {0} is in several tables of the query; write the table's name before it",
              rf"Reference {_NAME} is ambiguous"),
    )),
    ("SCALAR_SUBQUERY_TOO_MANY_ROWS", (
        _data("a query in brackets gives several rows where one value is needed; write one that gives one row"),
    )),
    ("UNBOUND_SQL_PARAMETER|UNRESOLVED_VARIABLE", (
        _data("a param has no value in this session; give it with --param, or run the whole merge.sql"),
    )),
    ("PATH_NOT_FOUND|PATH_DOES_NOT_EXIST|DELTA_PATH_DOES_NOT_EXIST", (
        _data("there is nothing at {0}; give a path that is there", r"Path does not exist: (\S+?)\.?(?:\s|$)"),
        _data("there is no Delta table at {0}; give a path that is there", r"\] (\S+) doesn't exist"),
        _data("there is nothing at the path; give one that is there"),
    )),
    ("UNABLE_TO_INFER_SCHEMA", (
        _data("the files of the source are empty or of another format; mend them, or name their format"),
    )),
    ("FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY", (
        _data("the files of the source cannot be read as {0}; mend them, or name their format", r"on files: `?(\w+)"),
    )),
    ("CAST_INVALID_INPUT|CONVERSION_INVALID_INPUT", (
        _data("the value {0} is no {1}; mend the source or the type",
              r"The value (.+?) of the type .*? cannot be cast to \"(.+?)\""),
        _data("a value does not fit its type; mend the source or the type"),
    )),
    ("CANNOT_PARSE_TIMESTAMP|INVALID_DATETIME", (
        _data("a value is no time of the format that the spec's expression gives; mend the source or the format"),
    )),
    ("DELTA_CAST_OVERFLOW_IN_TABLE_WRITE", (
        _data("a value is too large for the column {0}; mend the source or widen the type",
              rf"type column {_NAME} due"),
    )),
    ("CAST_OVERFLOW|NUMERIC_VALUE_OUT_OF_RANGE|ARITHMETIC_OVERFLOW|BINARY_ARITHMETIC_OVERFLOW|DATETIME_OVERFLOW", (
        _data("the value {0} is too large for {1}; mend the source or widen the type",
              r"The value (\S+) of the type .*? cannot be cast to \"(.+?)\" due to an overflow"),
        _data("a value is too large for its type; mend the source or widen the type"),
    )),
    ("DIVIDE_BY_ZERO|REMAINDER_BY_ZERO", (
        _data("an expression of the spec divides by zero; write try_divide(a, b), or a / nullif(b, 0)"),
    )),
    ("INVALID_ARRAY_INDEX|INVALID_ARRAY_INDEX_IN_ELEMENT_AT|MAP_KEY_DOES_NOT_EXIST", (
        _data("an expression of the spec reads what an array or a map does not hold; write try_element_at or get"),
    )),
    ("EXCEED_LIMIT_LENGTH|DELTA_EXCEED_CHAR_VARCHAR_LIMIT", (
        _data("a value is longer than the {0} characters of its column; mend the source or lengthen the type",
              r"limitation: (\d+)"),
        _data("a value is longer than its column; mend the source or lengthen the type"),
    )),
    ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED|NOT_NULL_ASSERT_VIOLATION", (
        _data("the column {0} is NOT NULL, and a row has none; mend the source, or leave out nullable: false",
              r"for column: `?([\w. ]+?)`?\.?\s*(?:SQLSTATE|\n|$)"),
        _data("a column is NOT NULL, and a row has no value; mend the source, or leave out nullable: false"),
    )),
    ("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", (
        _data("a row breaks the table's constraint {0}; mend the source, or drop the constraint",
              r"constraint (.*?) violated by row"),
    )),
    ("DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES?", (
        _data("a column's name holds a blank or one of ,;{{}}()=, which Delta takes only with column mapping; "
              "rename it, or set delta.columnMapping.mode: name in table.properties"),
    )),
    ("DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE", (
        _data("two rows of one key and time are in the table; look at it with `scdgen check`, and delete one"),
    )),
    ("DELTA_CONCURRENT_TRANSACTION", (
        _engine("another stream writes with the same checkpoint; let one stream alone use it, and start again"),
    )),
    ("CONCURRENT_QUERY|CONCURRENT_STREAM_LOG_UPDATE", (
        _engine("another stream works with the same checkpoint; let one stream alone use it, and start again"),
    )),
    ("DELTA_SOURCE_TABLE_IGNORE_CHANGES|DELTA_SOURCE_IGNORE_DELETE", (
        _data("rows of the table that the stream reads were changed or deleted, and a stream takes new ones alone; set "
              "skipChangeCommits: true in stream.options, or read a table that only grows"),
    )),
    ("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE", (
        _data("the checkpoint belongs to a stream of another table; give another --checkpoint"),
    )),
    ("DELTA_SCHEMA_CHANGED[A-Z_]*", (
        _data("the columns of the table that the stream reads have changed; start the stream again"),
    )),
    ("DELTA_METADATA_CHANGED", (
        _engine(f"another writer changed the columns or properties of the table meanwhile; {_AGAIN}"),
    )),
    ("DELTA_PROTOCOL_CHANGED", (
        _engine(f"another writer upgraded the table meanwhile, or made it; {_AGAIN}"),
    )),
    ("DELTA_CONCURRENT_[A-Z_]+", (
        _engine(f"another writer changed the same rows of the table meanwhile; {_AGAIN}"),
    )),
    ("DELTA_CANNOT_MODIFY_APPEND_ONLY", (
        _engine("the table takes rows but no changes (delta.appendOnly); take this property off the table"),
    )),
    ("DELTA_UNSUPPORTED_FEATURES_FOR_(?:READ|WRITE)", (
        _engine("the table needs what this Delta Lake does not know ({0}); install a newer delta-spark",
                r"unsupported by Delta Lake \"?[^\"]*\"?: ([\w, -]+)"),
        _engine("the table needs what this Delta Lake does not know; install a newer delta-spark"),
    )),
    ("DELTA_INVALID_PROTOCOL_VERSION", (
        _engine("the table was written by a newer Delta Lake than this; install a newer delta-spark"),
    )),
    ("DELTA_UNSUPPORTED_FEATURES_IN_CONFIG|DELTA_UNKNOWN_CONFIGURATION", (
        _data("this Delta Lake does not know the property {0}; mend table.properties, or install a newer delta-spark",
              r"(?:configuration was specified: |version of Delta Lake: )(\S+?),?\.?(?:\s|$)"),
    )),
    ("DELTA_(?:NOT_A_DELTA_TABLE|TABLE_ONLY_OPERATION|ONLY_OPERATION)|NOT_A_DELTA_TABLE", (
        _data("{0} is no Delta table; name another one, or make it a Delta table first", rf"\] {_NAME} is not a Delta"),
        _data("it is no Delta table; name another one, or make it a Delta table first"),
    )),
    ("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION|LOCATION_ALREADY_EXISTS|DELTA_PATH_EXISTS", (
        _data("the folder of the new table, {0}, holds other files; empty it, or give another table.location",
              r"[Ll]ocation \(?[`']?(\S+?)[`']?\)? (?:is not empty|already exists|of)"),
        _data("the folder of the new table holds other files; empty it, or give another table.location"),
    )),
    ("PYTHON_EXCEPTION", (
        _data("a Python function that the spec calls fails with {0}; mend it",
              r"\n((?:\w+\.)*\w+(?:Error|Exception)\b[^\n]*)"),
    )),
    ("DELTA_CANNOT_CREATE_LOG_PATH", (
        _engine(_NO_FOLDER, _FILE_THERE),
        _engine("the folder {0} cannot be made; ask for the right to write there, or name another one",
                r"Cannot create (\S+?)(?:/_delta_log)?[.\s]"),
    )),
    ("DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED", (
        _data("no table can be clustered by a column of this type ({0}); take it out of table.cluster_by",
              r"column\(s\): (.*?) don't support"),
        _data("no table can be clustered by a column of this type; take it out of table.cluster_by"),
    )),
    ("DELTA_CREATE_TABLE_SCHEME_MISMATCH|DELTA_CREATE_TABLE_WITH_DIFFERENT_[A-Z_]+|DELTA_TABLE_LOCATION_MISMATCH|"
     "DELTA_CREATE_TABLE_MISSING_[A-Z_]+", (
        _data("table.location holds another table, which does not fit the spec; give another location"),
    )),
    ("DELTA_VERSIONS_NOT_CONTIGUOUS|DELTA_TRUNCATED_TRANSACTION_LOG|DELTA_STATE_RECOVER_ERROR|DELTA_LOG_[A-Z_]+|"
     "DELTA_NO_RECREATABLE_[A-Z_]+", (
        _engine("the log of the table (_delta_log) is damaged; restore it from a backup, or make the table anew"),
    )),
    (r"DELTA_FILE_NOT_FOUND_DETAILED|FAILED_READ_FILE\.FILE_NOT_EXIST", (
        _engine("a file of the table is missing; restore it from a backup, or look for a VACUUM of too short a time"),
    )),
    ("FAILED_READ_FILE", (
        _data("the file {0} cannot be read; mend it, or name its format as it is", r"reading file (\S+?)\.(?:\s|$)"),
    )),
    (r"UNSUPPORTED_FEATURE\.TABLE_OPERATION", (
        _data("it is no Delta table, or the session has no Delta Lake; name another table, or start Spark with "
              "delta-spark", "MERGE INTO"),
    )),
    ("DELTA_UNSUPPORTED_[A-Z_]+|UNSUPPORTED_FEATURE", (
        _engine("this Spark or Delta Lake cannot do what the statement asks ({0}); install newer ones",
                r"\] ([^\n]*?)\.?(?: SQLSTATE|\n|$)"),
    )),
    ("INSUFFICIENT_PERMISSIONS|PERMISSION_DENIED|INSUFFICIENT_PRIVILEGES", (
        _engine("permission is denied ({0}); ask for the rights on the table", r"\] ([^\n]*?)\.?(?: SQLSTATE|\n|$)"),
    )),
    ("DATA_SOURCE_NOT_FOUND", (
        _engine("this session has no Delta Lake; start Spark with delta-spark",
                r"data source: `?delta"),
        _engine("this session cannot read the format {0}; start Spark with its package", rf"data source: {_NAME}\."),
    )),
    ("CONFIG_NOT_AVAILABLE|CANNOT_MODIFY_(?:STATIC_)?CONFIG", (
        _engine("the session does not let {0} be set; leave it out, or set it where the session is started",
                r"(?:Configuration|config:) \"?([\w.]+?)\"?(?: is not|\.?(?:\s|$))"),
    )),
    ("PACKAGE_NOT_INSTALLED", (
        _engine("Spark Connect needs {0}, which is not installed; run: pip install 'pyspark[connect]'",
                r"\] ([\w-]+)"),
    )),
)  # fmt: skip

# The same for texts without a condition.
TEXTS: tuple[tuple[str, Known], ...] = (
    (r"WRITE_ANCIENT_DATETIME",
     _engine("Spark 3 writes no date before 1582 and no time before 1900; set "
             "spark.sql.parquet.datetimeRebaseModeInWrite and int96RebaseModeInWrite to CORRECTED")),
    (r"No space left on device",
     _engine("no space is left on the disk; free some and run again, the table is as it was")),
    (r"Read-only file system", _engine("the disk is read-only; name another place with --warehouse or table.location")),
    (r"Java heap space|OutOfMemoryError|GC overhead limit",
     _engine("Spark's memory is used up; give it more, as in --conf spark.driver.memory=8g")),
    (r"AccessControlException|AccessDeniedException|Permission denied|Mkdirs failed to create|PERMISSION_DENIED",
     _engine("permission is denied; ask for the rights on the folder, or name another one")),
    (_FILE_THERE, _engine(_NO_FOLDER)),
    (r"UnsupportedFileSystemException|No FileSystem for scheme",
     _data("Spark knows no file system {0}; mend the path, or add the packages of this one with --conf "
           "spark.jars.packages=...", r'scheme "?(\w+)"?')),
    (r"For input string: ",
     _data("{0} is no value that this setting takes; mend table.properties or --conf", r'For input string: (".*?")')),
    (r"StatusCode\.UNAUTHENTICATED", _engine("the server refuses the login; check the token in the address")),
    (r"StatusCode\.UNAVAILABLE|Connection refused|DNS resolution failed|failed to connect",
     _engine("the server does not answer; check its address, and that it is up")),
    (r"ConcurrentAppendException|ConcurrentDelete(?:Read|Delete)Exception|ConcurrentWriteException",
     _engine(f"another writer changed the same rows of the table meanwhile; {_AGAIN}")),
    (r"ConcurrentTransactionException",
     _engine("another stream writes with the same checkpoint; let one stream alone use it, and start again")),
    (r"MetadataChangedException",
     _engine(f"another writer changed the columns or properties of the table meanwhile; {_AGAIN}")),
    (r"ProtocolChangedException", _engine(f"another writer upgraded the table meanwhile, or made it; {_AGAIN}")),
    (r"MERGE destination only supports Delta sources|MERGE INTO TABLE is not supported",
     _data("it is no Delta table; name another one, or start Spark with delta-spark")),
    (r"SparkContext was shut down|stopped SparkContext|Java gateway process exited|Answer from Java side is empty|"
     r"Error while sending or receiving",
     _engine("Spark has ended in the midst of the work; look for a lack of memory, and run again")),
)  # fmt: skip

# The cause in Spark's text, where a file could not be read -> what is told, with the pattern's groups in it.
MALFORMED: tuple[tuple[str, str], ...] = (
    (r"\[MALFORMED_CSV_RECORD\] Malformed CSV record: (.*?)(?: SQLSTATE|\n)",
     "the row {0} has not as many cells as the header; mend it, or put quotes around a cell with a comma"),
    (r"CSV header does not conform to the schema\.\s+Header: (.*)\n\s*Schema: (.*)",
     "its header is {0} where {1} is read; give every file the same columns in one order, each named once, or set the "
     "option enforceSchema: true to go by their places"),
    (r"JsonParseException: Unrecognized token '(.*?)'",
     "holds a line that is no JSON object, at {0}; write one object per line"),
    (r"JsonParseException|JsonEOFException", "holds a line that is no JSON object; write one object per line"),
    (r"\[MALFORMED_RECORD_IN_PARSING[A-Z_.]*\] Malformed records are detected in record parsing: (.*?)\.(?:\s|$)",
     "holds a row that is broken or does not fit the types of the others, read as {0}; mend it"),
    (r"FAILED_READ_FILE\.FILE_NOT_EXIST|FileNotFoundException",
     "a file of it is not there any more; restore it, or run again where it was being rewritten"),
    (r"Data type mismatches when reading Parquet column \[(.*?)\]",
     "the column {0} is of another type than in the other files; write them with one type"),
)  # fmt: skip
