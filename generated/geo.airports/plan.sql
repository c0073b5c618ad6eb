-- geo.airports: Airports of the world with their history, from dated releases of the whole list
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from specs/airports.yml. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(session.taken AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] geo.airports: snapshot.taken_at is NULL')
);

-- A row per version that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- Plus one row for each key of the source that needs no change. The steps up to "staged" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(icao AS STRING) AS icao,
        CAST(iata AS STRING) AS iata,
        CAST(name AS STRING) AS name,
        CAST(city AS STRING) AS city,
        CAST(subd AS STRING) AS subd,
        CAST(country AS STRING) AS country,
        CAST(elevation AS DOUBLE) AS elevation,
        CAST(lat AS DOUBLE) AS lat,
        CAST(lon AS DOUBLE) AS lon,
        CAST(tz AS STRING) AS tz,
        CAST(lid AS STRING) AS lid
    FROM geo.airports_release
),
extract AS (
    -- A row that breaks a rule stops the statement, as does a session that would read values differently.
    -- EXPLODE keeps Spark from testing rows that the source's own filters drop.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] geo.airports: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] geo.airports: run SET TIME ZONE \'UTC\' first')
            WHEN icao IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] geo.airports: icao is NULL')
            ELSE TRUE
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] geo.airports: the snapshot is empty'),
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    DISTRIBUTE BY icao -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once.
    SELECT
        *,
        LAG(STRUCT(iata, name, city, subd, country, elevation, lat, lon, tz, lid)) OVER by_key AS _scd_before
    FROM extract
    WINDOW by_key AS (PARTITION BY icao ORDER BY icao)
),
snapshot AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT *
    FROM ranked
    WHERE
        CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(iata, name, city, subd, country, elevation, lat, lon, tz, lid) THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] geo.airports: two different rows of one key: ' || TO_JSON(STRUCT(icao))
            )
        END
),
stored AS (
    -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
    SELECT
        t.icao, t.iata, t.name, t.city, t.subd, t.country, t.elevation, t.lat, t.lon, t.tz, t.lid,
        t.valid_from AS _scd_from,
        t.valid_to AS _scd_until,
        LAG(t.valid_from) OVER newest_first IS NULL AS _scd_newest
    FROM geo.airports AS t
    WHERE (t.valid_to IS NULL OR t.valid_to >= _scd_taken_at)
    WINDOW newest_first AS (PARTITION BY t.icao ORDER BY t.valid_from DESC)
),
compared AS (
    -- Only keys that differ: missing from the extract, new, changed, or back again.
    SELECT
        COALESCE(n.icao, o.icao) AS icao,
        n.iata, n.name, n.city, n.subd, n.country, n.elevation, n.lat, n.lon, n.tz, n.lid,
        _scd_taken_at AS _scd_at,
        o._scd_from, o._scd_until,
        -- How many keys are deleted, in their rows: only these pass through one task.
        COUNT_IF(n.icao IS NULL)
            OVER (PARTITION BY CASE WHEN n.icao IS NOT NULL THEN STRUCT(n.icao) END) AS _scd_closing,
        CASE
            -- Missing: its version ends.
            WHEN n.icao IS NULL THEN ARRAY('close')
            -- No version, or its last one ended before this extract.
            WHEN o.icao IS NULL THEN ARRAY('open')
            WHEN STRUCT(
                n.iata, n.name, n.city, n.subd, n.country, n.elevation, ROUND(n.lat, 3) AS lat,
                ROUND(n.lon, 3) AS lon, n.tz, n.lid
            )
                <=> STRUCT(
                    o.iata, o.name, o.city, o.subd, o.country, o.elevation, ROUND(o.lat, 3) AS lat,
                    ROUND(o.lon, 3) AS lon, o.tz, o.lid
                )
                THEN ARRAY('correct')
            -- Its last version ended at this time or later, and differs.
            WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
            ELSE ARRAY('close', 'open')
        END AS _scd_actions
    FROM snapshot AS n
    FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_newest) AS o
        ON n.icao = o.icao
    WHERE
        CASE
            WHEN n.icao IS NULL THEN o._scd_until IS NULL
            WHEN o.icao IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            ELSE NOT (STRUCT(
                n.iata, n.name, n.city, n.subd, n.country, n.elevation, ROUND(n.lat, 3) AS lat,
                ROUND(n.lon, 3) AS lon, n.tz, n.lid
            )
                <=> STRUCT(
                    o.iata, o.name, o.city, o.subd, o.country, o.elevation, ROUND(o.lat, 3) AS lat,
                    ROUND(o.lon, 3) AS lon, o.tz, o.lid
                ))
        END
),
versions AS (
    -- A changed key closes a version and opens another.
    -- Closing a version that is too new, or too many keys, stops the run.
    SELECT
        *,
        CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
        CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
    FROM compared
    CROSS JOIN (SELECT COUNT(*) AS _scd_current FROM geo.airports AS t WHERE t.valid_to IS NULL)
        LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
    WHERE
        CASE
            WHEN _scd_action = 'close' AND _scd_at <= _scd_from THEN RAISE_ERROR(
                '[SCDGEN_TAKEN_AT] geo.airports: the snapshot is not newer than a version that it closes: '
                || TO_JSON(STRUCT(icao, _scd_from))
            )
            WHEN _scd_closing > 0.2 * _scd_current THEN RAISE_ERROR(
                '[SCDGEN_MAX_DELETED] geo.airports: ' || _scd_closing
                || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 20 %)'
            )
            ELSE TRUE
        END
),
staged AS (
    -- Rows to write, with their history columns.
    SELECT
        _scd_action,
        icao, iata, name, city, subd, country, elevation, lat, lon, tz, lid,
        _scd_start AS valid_from,
        _scd_next AS valid_to,
        _scd_next IS NULL AS is_current
    FROM versions
)
SELECT
    CASE _scd_action
        WHEN 'open' THEN 'opened'
        WHEN 'close' THEN 'closed'
        WHEN 'correct' THEN 'corrected'
        WHEN 'fold' THEN 'folded'
        ELSE 'unchanged'
    END AS _scd_action,
    icao,
    _scd_start,
    _scd_old,
    _scd_new,
    -- Whether the current version of a key ends, and whether the key is deleted by that.
    _scd_current AND (_scd_action <=> 'close' OR NOT _scd_stays) AS _scd_closes,
    _scd_current AND NOT _scd_stays AS _scd_deletes,
    -- What happens to the key, in one of its rows only.
    CASE
        WHEN _scd_action IS NULL THEN 'unchanged'
        WHEN _scd_start > _scd_first_write THEN NULL
        WHEN _scd_lives THEN IF(_scd_stays, 'changed', 'deleted')
        WHEN NOT _scd_known THEN 'new'
        ELSE IF(_scd_stays, 'returned', 'changed')
    END AS _scd_key
FROM (
    SELECT
        s._scd_action,
        COALESCE(s.icao, n.icao) AS icao,
        s.valid_from AS _scd_start,
        IF(
            t.icao IS NOT NULL,
            STRUCT(
                t.icao, t.iata, t.name, t.city, t.subd, t.country, t.elevation, t.lat, t.lon, t.tz,
                t.lid, t.valid_from, t.valid_to, t.is_current
            ),
            NULL
        ) AS _scd_old,
        STRUCT(
            s.icao, CASE WHEN t.icao IS NULL THEN s.iata ELSE t.iata END AS iata,
            CASE WHEN t.icao IS NULL THEN s.name ELSE t.name END AS name,
            CASE WHEN t.icao IS NULL THEN s.city ELSE t.city END AS city,
            CASE WHEN t.icao IS NULL THEN s.subd ELSE t.subd END AS subd,
            CASE WHEN t.icao IS NULL THEN s.country ELSE t.country END AS country,
            CASE WHEN t.icao IS NULL THEN s.elevation ELSE t.elevation END AS elevation,
            CASE WHEN t.icao IS NULL THEN s.lat ELSE t.lat END AS lat,
            CASE WHEN t.icao IS NULL THEN s.lon ELSE t.lon END AS lon,
            CASE WHEN t.icao IS NULL THEN s.tz ELSE t.tz END AS tz,
            CASE WHEN t.icao IS NULL THEN s.lid ELSE t.lid END AS lid, s.valid_from, s.valid_to,
            s.is_current
        ) AS _scd_new,
        t.icao IS NOT NULL AND t.valid_to IS NULL AS _scd_current,
        BOOL_OR(t.icao IS NOT NULL AND t.valid_to IS NULL)
            OVER by_key AS _scd_lives,
        BOOL_OR(t.icao IS NOT NULL OR k.icao IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.valid_from END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(s.valid_to IS NULL) OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    FULL OUTER JOIN snapshot AS n
        ON n.icao = s.icao
    LEFT JOIN geo.airports AS t
        ON t.icao = s.icao AND t.valid_from = s.valid_from AND (t.valid_to IS NULL OR t.valid_to >= _scd_taken_at)
    LEFT JOIN (
        -- The keys of the table, those deleted long ago too: they return, and are not new.
        SELECT
            v.icao
        FROM geo.airports AS v
        GROUP BY v.icao
    ) AS k
        ON k.icao = s.icao
    WINDOW by_key AS (PARTITION BY COALESCE(s.icao, n.icao))
);

-- Counts: what happens to the keys and to their versions, and the keys that are current now.
SELECT
    *,
    ROUND(100 * deleted / NULLIF(current_keys, 0), 1) AS deleted_percent
FROM (
    SELECT
        COUNT_IF(_scd_key = 'new') AS new,
        COUNT_IF(_scd_key = 'changed') AS changed,
        COUNT_IF(_scd_key = 'deleted') AS deleted,
        COUNT_IF(_scd_key = 'returned') AS returned,
        COUNT_IF(_scd_key = 'unchanged') AS unchanged,
        COUNT_IF(_scd_action = 'opened') AS opened,
        COUNT_IF(_scd_action = 'closed') AS closed,
        COUNT_IF(_scd_action = 'corrected') AS corrected,
        COUNT_IF(_scd_action = 'folded') AS folded,
        COUNT_IF(_scd_closes) AS closed_keys,
        (
            SELECT COUNT(*)
            FROM geo.airports AS t
            WHERE t.valid_to IS NULL
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    CONCAT_WS(', ', CASE WHEN _scd_deletes THEN 'deletes' END) AS note,
    icao,
    _scd_new.iata,
    _scd_new.name,
    _scd_new.city,
    _scd_new.subd,
    _scd_new.country,
    _scd_new.elevation,
    _scd_new.lat,
    _scd_new.lon,
    _scd_new.tz,
    _scd_new.lid,
    _scd_new.valid_from,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.valid_to AS STRING), CAST(_scd_new.valid_to AS STRING))),
        ' -> ', 'NULL'
    ) AS valid_to,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.is_current AS STRING), CAST(_scd_new.is_current AS STRING))),
        ' -> ', 'NULL'
    ) AS is_current
FROM (
    SELECT
        _scd_action, _scd_deletes, _scd_start, icao,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action, _scd_deletes ORDER BY icao, _scd_start) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY icao, _scd_start, _scd_action;
