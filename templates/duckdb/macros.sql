-- What the SQL of scdgen needs in DuckDB, run once per database. A macro whose name begins with _spark_ does what Spark
-- does with spark.sql.ansi.enabled, by the type that DuckDB finds for its argument. [UNKNOWN] begins the error of a
-- value whose translation is not known.
SET TimeZone = 'UTC';

-- The refusals of a statement are in conditions that an optimizer may move: pushed below a join, one stopped an empty
-- extract (its statistics say that every key is NULL). Tests have few rows, so that plans in the written order do.
PRAGMA disable_optimizer;

SET threads = 1;

-- Casts to whole numbers: text without a fraction, numbers cut and not rounded, a time as its seconds.
CREATE OR REPLACE MACRO _spark_whole
    (x BIGINT) AS x,
    (x VARCHAR) AS CASE
        WHEN regexp_full_match(trim(x), '[+-]?[0-9]+') OR x IS NULL THEN trim(x)
        ELSE error('[CAST_INVALID_INPUT] ' || x || ' is not a whole number')
    END,
    (x DOUBLE) AS CAST(trunc(x) AS HUGEINT),
    (x DECIMAL(38, 9)) AS trunc(x),
    (x BOOLEAN) AS CASE WHEN x THEN 1 WHEN NOT x THEN 0 END,
    (x TIMESTAMP) AS CAST(floor(epoch_us(x) / 1000000) AS BIGINT);

CREATE OR REPLACE MACRO _spark_try_whole
    (x BIGINT) AS x,
    (x DOUBLE) AS CAST(trunc(x) AS HUGEINT),
    (x DECIMAL(38, 9)) AS trunc(x),
    (x VARCHAR) AS CASE WHEN regexp_full_match(trim(x), '[+-]?[0-9]+') THEN trim(x) END;

-- Casts to dates and times: a text may be a year or a month, a number is seconds.
CREATE OR REPLACE MACRO _spark_time
    (x TIMESTAMP) AS x,
    (x DATE) AS x,
    (x VARCHAR) AS CASE
        WHEN regexp_full_match(trim(x), '[0-9]{4}') THEN trim(x) || '-01-01'
        WHEN regexp_full_match(trim(x), '[0-9]{4}-[0-9]{1,2}') THEN trim(x) || '-01'
        ELSE trim(x)
    END,
    (x DOUBLE) AS make_timestamp(CAST(x * 1000000 AS BIGINT)),
    (x BIGINT) AS make_timestamp(x * 1000000);

-- A text with a zone is a time of UTC.
CREATE OR REPLACE MACRO _spark_zoned(x) AS x, (x VARCHAR) AS CAST(x AS TIMESTAMPTZ);

CREATE OR REPLACE MACRO _spark_try_zoned(x) AS x, (x VARCHAR) AS TRY_CAST(x AS TIMESTAMPTZ);

-- Casts to text: Java writes other digits of large and small numbers, and other brackets.
CREATE OR REPLACE MACRO _spark_text(x) AS CASE
    WHEN regexp_matches(typeof(x), '^(STRUCT|MAP|BLOB|INTERVAL)|\]$') THEN error('[UNKNOWN] a cast to text')
    WHEN typeof(x) IN ('DOUBLE', 'FLOAT') THEN CASE
        WHEN abs(TRY_CAST(x AS DOUBLE)) < 1e7 AND abs(TRY_CAST(x AS DOUBLE)) >= 1e-3 OR TRY_CAST(x AS DOUBLE) = 0
            THEN CAST(x AS VARCHAR)
        WHEN x IS NOT NULL THEN error('[UNKNOWN] a cast of a large or small number to text')
    END
    ELSE CAST(x AS VARCHAR)
END;

-- A text that does not fit its pattern stops the statement; strptime alone reads '1.2.2024' as '%d.%m.%Y'.
CREATE OR REPLACE MACRO _spark_parse(x, form, pattern) AS CASE
    WHEN regexp_full_match(x, pattern) THEN strptime(x, form)
    WHEN x IS NOT NULL THEN error('[CANNOT_PARSE_TIMESTAMP] ' || x)
END;

-- A division by zero stops the statement.
CREATE OR REPLACE MACRO _spark_divide(a, b) AS CASE WHEN b = 0 THEN error('[DIVIDE_BY_ZERO] ' || a) ELSE a / b END;

-- NULL if the array has a NULL and not the value.
CREATE OR REPLACE MACRO _spark_contains(l, x) AS
    CASE WHEN list_contains(l, x) THEN TRUE WHEN x IS NOT NULL AND len(l) = list_count(l) THEN FALSE END;

-- In the order of the array, with its NULL.
CREATE OR REPLACE MACRO _spark_distinct(l) AS list_filter(l, lambda x, i: coalesce(list_position(l, x), i) = i);

-- A text that is not JSON has no fields; DuckDB stops.
CREATE OR REPLACE MACRO _spark_valid(j) AS CASE WHEN json_valid(j) THEN j END;

-- A date plus days is a date.
CREATE OR REPLACE MACRO _spark_plus
    (x DATE, i INTERVAL) AS CAST(x + i AS DATE),
    (x TIMESTAMP, i INTERVAL) AS x + i,
    (x INTERVAL, i INTERVAL) AS x + i;

-- A value inside of TO_JSON(STRUCT(...)); times have a form.
CREATE OR REPLACE MACRO _spark_json
    (x, form) AS CASE
        WHEN regexp_matches(typeof(x), 'STRUCT|MAP|BLOB|(DOUBLE|FLOAT|TIMESTAMP|\]|\))\[|DECIMAL.*,[1-9]')
            THEN error('[UNKNOWN] this type in TO_JSON')
        WHEN typeof(x) IN ('DOUBLE', 'FLOAT') AND _spark_text(x) IS NULL THEN NULL
        ELSE to_json(x)
    END,
    (x TIMESTAMP, form) AS to_json(strftime(x, form));

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
