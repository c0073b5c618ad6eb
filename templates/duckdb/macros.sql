-- What the SQL of scdgen needs in DuckDB, run once per database. A macro whose name begins with _spark_ does what Spark
-- does with spark.sql.ansi.enabled, by the type that DuckDB finds for its argument. [UNKNOWN] begins the error of a
-- value whose translation is not known.
SET TimeZone = 'UTC';

-- The refusals of a statement are in conditions that an optimizer may move: pushed below a join, one stopped an empty
-- extract (its statistics say that every key is NULL). Tests have few rows, so that plans in the written order do.
PRAGMA disable_optimizer;

SET threads = 1;

-- Stops the statement for a value that is not NULL. DuckDB knows error(), but not where an alias repeats it.
CREATE OR REPLACE MACRO _spark_stop(what, x) AS CAST(what || left(CAST(x AS VARCHAR), 0) AS INTEGER);

CREATE OR REPLACE MACRO _spark_stop_text(what, x) AS CAST(_spark_stop(what, x) AS VARCHAR);

-- Refuses a type that Spark does not cast, whatever the value.
CREATE OR REPLACE MACRO _spark_refuse(what) AS CAST('[UNKNOWN] a cast ' || what AS INTEGER);

-- A text without the signs around it that a cast passes over: of ASCII, white space and control characters.
CREATE OR REPLACE MACRO _spark_trim(x) AS regexp_replace(x, '^[\x00-\x20\x7F]+|[\x00-\x20\x7F]+$', '', 'g');

-- Casts, and with `tries` TRY_CASTs. To whole numbers: text without a fraction, numbers cut and not rounded. A TIMESTAMP
-- is its seconds, and a TIMESTAMP_NTZ, which DuckDB does not know, is none.
CREATE OR REPLACE MACRO _spark_whole
    (x BIGINT, tries) AS x,
    (x VARCHAR, tries) AS CASE
        WHEN regexp_full_match(_spark_trim(x), '[+-]?[0-9]+') THEN _spark_trim(x)
        WHEN NOT tries THEN _spark_stop_text('[CAST_INVALID_INPUT] ' || x || ' is not a whole number', x)
    END,
    (x DOUBLE, tries) AS CASE WHEN tries THEN TRY_CAST(trunc(x) AS HUGEINT) ELSE CAST(trunc(x) AS HUGEINT) END,
    (x DECIMAL(38, 18), tries) AS trunc(x),
    (x BOOLEAN, tries) AS CASE WHEN x THEN 1 WHEN NOT x THEN 0 END,
    (x DATE, tries) AS _spark_refuse('of a DATE to a number'),
    (x TIMESTAMP, tries) AS _spark_refuse('of a time to a number');

-- To other numbers: a text is one in its plain form, and a fraction is rounded by its digits.
CREATE OR REPLACE MACRO _spark_number
    (x, tries) AS x,
    (x VARCHAR, tries) AS CASE
        WHEN regexp_full_match(_spark_trim(x), '[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?') THEN _spark_trim(x)
        WHEN regexp_matches(x, '(?i)nan|inf|[0-9.][df]\s*$|[^\x00-\x7F]')
            THEN _spark_stop_text('[UNKNOWN] a cast of this text to a number', x)
        WHEN NOT tries THEN _spark_stop_text('[CAST_INVALID_INPUT] ' || x || ' is not a number', x)
    END,
    (x DATE, tries) AS _spark_refuse('of a DATE to a number'),
    (x TIMESTAMP, tries) AS _spark_refuse('of a time to a number');

-- A cast of a number to DECIMAL reads its digits: it rounds those of a fraction, not the binary number, and a DECIMAL may
-- have more of them than the parameter of a macro.
CREATE OR REPLACE MACRO _spark_digits
    (x) AS CASE
        WHEN regexp_matches(typeof(x), '^(STRUCT|MAP|BLOB|INTERVAL)|\]$') AND x IS NOT NULL
            THEN _spark_stop_text('[UNKNOWN] a cast of this type to a number', x)
        ELSE CAST(x AS VARCHAR)
    END,
    (x VARCHAR) AS x,
    (x BOOLEAN) AS x,
    (x DATE) AS x,
    (x TIMESTAMP) AS x;

-- ROUND of a fraction by its digits: 1.005 is less than it looks. To more places than a decimal has, it keeps them.
CREATE OR REPLACE MACRO _spark_rounded
    (x DECIMAL(38, 18), n) AS round(x, n),
    (x BIGINT, n) AS x,
    (x DOUBLE, n) AS CASE
        WHEN abs(x) < 1e15 THEN CAST(round(CAST(CAST(x AS VARCHAR) AS DECIMAL(38, 18)), n) AS DOUBLE)
        WHEN x IS NOT NULL THEN _spark_stop('[UNKNOWN] ROUND of a large number', x)
    END;

CREATE OR REPLACE MACRO _spark_round(x, n) AS CASE
    WHEN TRY_CAST(regexp_extract(typeof(x), '^DECIMAL.*,([0-9]+)', 1) AS INTEGER) < n
        THEN _spark_stop('[UNKNOWN] ROUND of a DECIMAL to more places than it has', x)
    ELSE _spark_rounded(x, n)
END;

-- CEIL and FLOOR of a number give a BIGINT.
CREATE OR REPLACE MACRO _spark_long(x, whole) AS
    CASE WHEN abs(x) < 9e15 THEN whole WHEN x IS NOT NULL THEN _spark_stop('[UNKNOWN] CEIL or FLOOR of such a number', x) END;

-- Casts of text to BOOLEAN.
CREATE OR REPLACE MACRO _spark_truth
    (x BOOLEAN) AS x,
    (x VARCHAR) AS CASE
        WHEN lower(_spark_trim(x)) IN ('t', 'true', 'y', 'yes', '1') THEN TRUE
        WHEN lower(_spark_trim(x)) IN ('f', 'false', 'n', 'no', '0') THEN FALSE
        WHEN x IS NOT NULL THEN CAST(_spark_stop('[CAST_INVALID_INPUT] ' || x || ' is not a BOOLEAN', x) AS BOOLEAN)
    END,
    (x BIGINT) AS x <> 0;

-- Casts of text to BINARY are its bytes.
CREATE OR REPLACE MACRO _spark_bytes
    (x) AS _spark_refuse('of this type to BINARY'),
    (x VARCHAR) AS encode(x),
    (x BLOB) AS x;

-- Casts to arrays, maps and structs, only of values of that type.
CREATE OR REPLACE MACRO _spark_nested(x, wanted) AS
    CASE WHEN typeof(x) IN (typeof(wanted), '"NULL"') THEN x ELSE error('[UNKNOWN] a cast of ' || typeof(x)) END;

-- Letters that become two ones, or other ones at the end of a word.
CREATE OR REPLACE MACRO _spark_upper(x) AS CASE
    WHEN regexp_matches(x, '[ßŉǰΐΰև\x{1E96}-\x{1E9A}\x{1F50}-\x{1FFC}\x{FB00}-\x{FB17}]')
        THEN _spark_stop_text('[UNKNOWN] UPPER of a letter that becomes two', x)
    ELSE upper(x)
END;

CREATE OR REPLACE MACRO _spark_lower(x) AS
    CASE WHEN regexp_matches(x, '[İΣ]') THEN _spark_stop_text('[UNKNOWN] LOWER of a letter that becomes two', x) ELSE lower(x) END;

-- A text for a regular expression: what is the end of a line, and white space, differs.
CREATE OR REPLACE MACRO _spark_line(x) AS CASE
    WHEN regexp_matches(x, '[\n\r\x0B\x{85}\x{2028}\x{2029}]')
        THEN _spark_stop_text('[UNKNOWN] a regular expression for text with line breaks', x)
    ELSE x
END;

-- An element of an array that has the place.
CREATE OR REPLACE MACRO _spark_at(l, i) AS
    CASE WHEN i > len(l) THEN error('[UNKNOWN] an element that the array does not have') ELSE l[i] END;

-- The forms of a date that DuckDB and Spark read alike; Spark also reads a year or a month.
CREATE OR REPLACE MACRO _spark_full_date(x) AS CASE
    WHEN regexp_full_match(x, '[0-9]{4}') THEN x || '-01-01'
    WHEN regexp_full_match(x, '[0-9]{4}-[0-9]{1,2}') THEN x || '-01'
    ELSE x
END;

-- A text that is no date or time, or may be one for Spark: a longer year, a sign, an hour alone, the name of a zone.
CREATE OR REPLACE MACRO _spark_no_time(x, wanted, tries) AS CASE
    WHEN regexp_matches(_spark_trim(x), '^([+-]|[0-9]+[-:]|T|[0-9]{5,7}([^0-9]|$)|0000)')
        THEN _spark_stop_text('[UNKNOWN] a cast of this text to a ' || wanted, x)
    WHEN NOT tries THEN _spark_stop_text('[CAST_INVALID_INPUT] ' || x || ' is not a ' || wanted, x)
END;

-- Casts to DATE: of a text, what follows the day is not read.
CREATE OR REPLACE MACRO _spark_is_date(x) AS
    regexp_full_match(_spark_trim(x), '(?s)[0-9]{4}(-[0-9]{1,2}(-[0-9]{1,2}([ T].*)?)?)?') AND NOT starts_with(_spark_trim(x), '0000');

CREATE OR REPLACE MACRO _spark_date
    (x, tries) AS _spark_refuse('of this type to DATE'),
    (x TIMESTAMP, tries) AS x,
    (x DATE, tries) AS x,
    (x VARCHAR, tries) AS CASE
        WHEN _spark_is_date(x) THEN _spark_full_date(regexp_extract(_spark_trim(x), '^[0-9-]+'))
        ELSE _spark_no_time(x, 'DATE', tries)
    END;

-- Casts to TIMESTAMP: a number is seconds, and a text with a zone is a time of UTC.
CREATE OR REPLACE MACRO _spark_is_time(x, zone) AS regexp_full_match(
    _spark_trim(x),
    '[0-9]{4}(-[0-9]{1,2}(-[0-9]{1,2}([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?(' || zone || ')?)?)?)?'
) AND NOT starts_with(_spark_trim(x), '0000');

CREATE OR REPLACE MACRO _spark_instant_text(x, tries) AS CASE
    WHEN _spark_is_time(x, 'Z| UTC|[+-](0[0-9]|1[0-4]):[0-5][0-9]') THEN _spark_full_date(_spark_trim(x))
    ELSE _spark_no_time(x, 'TIMESTAMP', tries)
END;

CREATE OR REPLACE MACRO _spark_instant
    (x, tries) AS _spark_refuse('of this type to TIMESTAMP'),
    (x TIMESTAMP, tries) AS x,
    (x DATE, tries) AS x,
    (x VARCHAR, tries) AS CASE
        WHEN tries THEN TRY_CAST(_spark_instant_text(x, tries) AS TIMESTAMPTZ)
        ELSE CAST(_spark_instant_text(x, tries) AS TIMESTAMPTZ)
    END,
    (x DOUBLE, tries) AS make_timestamp(CAST(x * 1000000 AS BIGINT)),
    (x BIGINT, tries) AS make_timestamp(x * 1000000);

-- Casts to TIMESTAMP_NTZ: a text has no zone.
CREATE OR REPLACE MACRO _spark_local
    (x, tries) AS _spark_refuse('of this type to TIMESTAMP_NTZ'),
    (x TIMESTAMP, tries) AS x,
    (x DATE, tries) AS x,
    (x VARCHAR, tries) AS CASE
        WHEN _spark_is_time(x, '') THEN _spark_full_date(_spark_trim(x))
        ELSE _spark_no_time(x, 'TIMESTAMP_NTZ', tries)
    END;

-- Casts to text: Java writes other digits of large and small numbers, and other brackets.
CREATE OR REPLACE MACRO _spark_text(x) AS CASE
    WHEN regexp_matches(typeof(x), '^(STRUCT|MAP|BLOB|INTERVAL)|\]$') AND x IS NOT NULL
        THEN _spark_stop_text('[UNKNOWN] a cast to text', x)
    WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN CASE
        WHEN abs(TRY_CAST(x AS DOUBLE)) < 1e7 AND abs(TRY_CAST(x AS DOUBLE)) >= 1e-3 OR TRY_CAST(x AS DOUBLE) = 0
            THEN CAST(x AS VARCHAR)
        WHEN x IS NOT NULL THEN _spark_stop_text('[UNKNOWN] a cast of a large or small number to text', x)
    END
    WHEN typeof(x) IN ('DATE', 'TIMESTAMP') AND NOT regexp_full_match(CAST(x AS VARCHAR), '[0-9]{4}-[-0-9:. ]+')
        THEN _spark_stop_text('[UNKNOWN] a cast to text of a year after 9999 or before 1', x)
    ELSE CAST(x AS VARCHAR)
END;

-- A time whose year has four digits, to be written with a pattern.
CREATE OR REPLACE MACRO _spark_dated(x) AS CASE
    WHEN x >= TIMESTAMP '0001-01-01 00:00:00' AND x < TIMESTAMP '10000-01-01 00:00:00' THEN x
    WHEN x IS NOT NULL THEN CAST(_spark_stop_text('[UNKNOWN] DATE_FORMAT of a year after 9999 or before 1', x) AS TIMESTAMP)
END;

-- A text that does not fit its pattern stops the statement; strptime alone reads '1.2.2024' as '%d.%m.%Y'.
CREATE OR REPLACE MACRO _spark_parse(x, form, pattern) AS CASE
    WHEN regexp_full_match(x, pattern) THEN strptime(x, form)
    WHEN x IS NOT NULL THEN error('[CANNOT_PARSE_TIMESTAMP] ' || x)
END;

-- A division by zero stops the statement; of decimals DuckDB makes a double.
CREATE OR REPLACE MACRO _spark_divide(a, b) AS CASE
    WHEN (typeof(a) LIKE 'DECIMAL%' AND typeof(b) NOT IN ('DOUBLE', 'FLOAT'))
        OR (typeof(b) LIKE 'DECIMAL%' AND typeof(a) NOT IN ('DOUBLE', 'FLOAT'))
        THEN _spark_stop('[UNKNOWN] a division of decimals', a)
    WHEN b = 0 THEN _spark_stop('[DIVIDE_BY_ZERO] division by zero', a)
    ELSE a / b
END;

-- A remainder of a division by zero stops the statement.
CREATE OR REPLACE MACRO _spark_rest(a, b) AS
    CASE WHEN b = 0 THEN _spark_stop('[REMAINDER_BY_ZERO] division by zero', a) ELSE a % b END;

-- NULL if the array has a NULL and not the value.
CREATE OR REPLACE MACRO _spark_contains(l, x) AS
    CASE WHEN list_contains(l, x) THEN TRUE WHEN x IS NOT NULL AND len(l) = list_count(l) THEN FALSE END;

-- In the order of the array, with its NULL.
CREATE OR REPLACE MACRO _spark_distinct(l) AS list_filter(l, lambda x, i: coalesce(list_position(l, x), i) = i);

-- Spark reads JSON with single quotes, or with mistakes after the field.
CREATE OR REPLACE MACRO _spark_valid(j) AS
    CASE WHEN json_valid(j) THEN j WHEN j IS NOT NULL THEN _spark_stop_text('[UNKNOWN] a field of a text that is not JSON', j) END;

-- A field of JSON: NULL in an array is a text, and a number that is too large is infinite.
CREATE OR REPLACE MACRO _spark_field(j, path) AS CASE
    WHEN ends_with(path, ']') AND json_type(_spark_valid(j), path) = 'NULL'
        THEN _spark_stop_text('[UNKNOWN] GET_JSON_OBJECT of a null in an array', j)
    WHEN regexp_matches(_spark_valid(j) ->> path, '[0-9][eE][+-]?[0-9]{3}')
        THEN _spark_stop_text('[UNKNOWN] GET_JSON_OBJECT of a large or small number', j)
    ELSE _spark_valid(j) ->> path
END;

-- A SUM of whole numbers is a BIGINT, in DuckDB a HUGEINT.
CREATE OR REPLACE MACRO _spark_sum(x) AS CASE
    WHEN typeof(x) = 'HUGEINT' AND abs(CAST(x AS DOUBLE)) > 9.2e18 THEN _spark_stop('[UNKNOWN] a SUM too large for BIGINT', x)
    ELSE x
END;

-- A date plus days is a date, in DuckDB a timestamp. No macro per type: that of an aggregate is not known here.
CREATE OR REPLACE MACRO _spark_plus(x, i) AS cast_to_type(x + i, x);

-- A value inside of TO_JSON(STRUCT(...)); times have a form. Without a macro per type: a date would be a time.
CREATE OR REPLACE MACRO _spark_json(x, form) AS CASE
    WHEN regexp_matches(typeof(x), 'STRUCT|MAP|(BLOB|DOUBLE|FLOAT|TIMESTAMP|\]|\))\[|DECIMAL.*,[1-9]')
        THEN error('[UNKNOWN] this type in TO_JSON')
    WHEN typeof(x) = 'TIMESTAMP' THEN to_json(strftime(TRY_CAST(x AS TIMESTAMP), form))
    WHEN typeof(x) = 'BLOB' THEN to_json(base64(TRY_CAST(x AS BLOB)))
    WHEN typeof(x) IN ('DOUBLE', 'FLOAT') AND _spark_text(x) IS NULL THEN NULL
    ELSE to_json(x)
END;

-- Whether a value is text; no other name is Spark's.
CREATE OR REPLACE MACRO _spark_type(x) AS CASE typeof(x) WHEN 'VARCHAR' THEN 'string' ELSE typeof(x) END;

-- STR_TO_MAP: a part without the second separator has NULL.
CREATE OR REPLACE MACRO _spark_pairs(x, pair, separator) AS CASE
    WHEN x IS NOT NULL THEN map_from_entries(list_transform(
        string_split(x, pair),
        lambda p: {
            'key': string_split(p, separator)[1],
            'value': CASE WHEN contains(p, separator) THEN substr(p, instr(p, separator) + length(separator)) END
        }
    ))
END;

-- The SQL of a case changes no setting.
SET lock_configuration = true;
