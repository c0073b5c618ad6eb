-- geo.airports: Airports of the world with their history, from dated releases of the whole list
-- Compares a full extract with the current versions: a new, returning or changed key opens a version.
-- Extracts: must be loaded in the order of their times.
-- Rows that change nothing: open no version.
-- Missing keys: are deleted, so that their version ends.
-- Stops if: a key is NULL, rows of one key differ, the extract is empty, over 20% of the current keys would be deleted,
-- a version starts or ends after the extract, or this has no time, a version would end at its start or before, or the
-- session's settings change the result.
-- Generated from specs/airports.yml. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;
SET VARIABLE _scd_taken_at = COALESCE(
    session.taken, RAISE_ERROR('[SCDGEN_NULL_TIME] geo.airports: snapshot.taken_at is NULL')
);

MERGE INTO geo.airports AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(icao AS STRING) AS icao,
            STRUCT(
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
            ) AS _scd_state
        FROM geo.airports_release
    ),
    snapshot AS (
        -- One row per key. A row that breaks a rule stops the statement.
        SELECT icao, MIN(_scd_state) AS _scd_state
        FROM source_rows
        GROUP BY icao
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] geo.airports: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] geo.airports: run SET TIME ZONE \'UTC\' first')
            WHEN icao IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] geo.airports: icao is NULL')
            WHEN MIN(_scd_state) IS DISTINCT FROM MAX(_scd_state)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] geo.airports: two rows differ: ' || TO_JSON(STRUCT(icao)))
            ELSE TRUE
        END
        UNION ALL
        SELECT RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] geo.airports: the snapshot is empty'), NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    ),
    stored AS (
        -- The newest version of each key that an extract can affect. One that changed after the extract stops the run.
        SELECT
            t.icao,
            MAX_BY(
                STRUCT(
                    t.valid_from AS _scd_from, t.valid_to AS _scd_to,
                    STRUCT(
                        t.iata, t.name, t.city, t.subd, t.country, t.elevation, t.lat, t.lon, t.tz, t.lid
                    ) AS _scd_state
                ),
                t.valid_from
            ) AS _scd_stored
        FROM geo.airports AS t
        WHERE t.valid_to IS NULL OR t.valid_to >= _scd_taken_at
        GROUP BY t.icao
        HAVING CASE
            WHEN MAX(GREATEST(t.valid_from, t.valid_to)) > _scd_taken_at
                THEN RAISE_ERROR('[SCDGEN_TAKEN_AT] geo.airports: the snapshot is older than what is stored: '
                    || TO_JSON(STRUCT(_scd_taken_at AS taken_at, MAX(GREATEST(t.valid_from, t.valid_to)) AS stored)))
            ELSE TRUE
        END
    ),
    joined AS (
        -- Each key with its row and its newest version.
        SELECT *, _scd_state IS NULL AS _scd_gone
        FROM snapshot
        FULL OUTER JOIN stored USING (icao)
    ),
    compared AS (
        -- Whether the row has the values of the version that it meets, as `compare` sees them.
        SELECT
            *,
            STRUCT(
                _scd_state.iata, _scd_state.name, _scd_state.city, _scd_state.subd, _scd_state.country,
                _scd_state.elevation,
                ROUND(_scd_state.lat, 3) AS lat,
                ROUND(_scd_state.lon, 3) AS lon,
                _scd_state.tz, _scd_state.lid
            )
                IS NOT DISTINCT FROM STRUCT(
                    _scd_stored._scd_state.iata, _scd_stored._scd_state.name, _scd_stored._scd_state.city,
                    _scd_stored._scd_state.subd, _scd_stored._scd_state.country, _scd_stored._scd_state.elevation,
                    ROUND(_scd_stored._scd_state.lat, 3) AS lat,
                    ROUND(_scd_stored._scd_state.lon, 3) AS lon,
                    _scd_stored._scd_state.tz, _scd_stored._scd_state.lid
                ) AS _scd_same
        FROM joined
    ),
    decided AS (
        -- What happens to the versions of each key.
        SELECT
            *,
            CASE
                -- Missing: its version ends.
                WHEN _scd_gone THEN IF(_scd_stored._scd_to IS NULL, ARRAY('close'), ARRAY())
                -- No version, or its last one ended before this extract.
                WHEN _scd_stored IS NULL THEN ARRAY('open')
                -- Unchanged: nothing happens, or the version that ended at this very time is open again.
                WHEN _scd_same THEN IF(_scd_stored._scd_to IS NULL, ARRAY(), ARRAY('correct'))
                -- Its last version ended at this time, and differs.
                WHEN _scd_stored._scd_to IS NOT NULL THEN ARRAY('open')
                -- Changed: the open version ends, and a new one begins.
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM compared
    ),
    counted AS (
        -- Keys with something to do. _scd_closing: the number of deleted keys, on each of these; 0 on the other rows.
        SELECT *, COUNT_IF(_scd_gone) OVER (PARTITION BY CASE WHEN NOT _scd_gone THEN icao END) AS _scd_closing
        FROM decided
        WHERE SIZE(_scd_actions) > 0
    ),
    versions AS (
        -- A row per version. Closing one that is too new, or too many keys, stops the run.
        SELECT
            *,
            CASE WHEN _scd_action = 'open' THEN _scd_taken_at ELSE _scd_stored._scd_from END AS _scd_from,
            CASE WHEN _scd_action = 'close' THEN _scd_taken_at END AS _scd_to
        FROM counted
        CROSS JOIN (SELECT COUNT(*) AS _scd_current FROM geo.airports AS t WHERE t.valid_to IS NULL)
            LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
        WHERE CASE
            WHEN _scd_action = 'close' AND _scd_taken_at <= _scd_stored._scd_from
                THEN RAISE_ERROR('[SCDGEN_TAKEN_AT] geo.airports: the snapshot must be newer than what it closes: '
                    || TO_JSON(STRUCT(icao, _scd_stored._scd_from)))
            WHEN _scd_closing > 0.2 * _scd_current
                THEN RAISE_ERROR('[SCDGEN_MAX_DELETED] geo.airports: ' || _scd_closing || ' of ' || _scd_current
                    || ' keys would be deleted (limit 20%)')
            ELSE TRUE
        END
    )
    SELECT icao, _scd_state.*, _scd_from AS valid_from, _scd_to AS valid_to, _scd_to IS NULL AS is_current
    FROM versions
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.icao = s.icao AND t.valid_from = s.valid_from AND (t.valid_to IS NULL OR t.valid_to >= _scd_taken_at)
-- A version that ends, or that is open again because its key is back at once: only its end is written.
WHEN MATCHED THEN UPDATE SET valid_to = s.valid_to, is_current = s.is_current
WHEN NOT MATCHED THEN INSERT (
    icao, iata, name, city, subd, country, elevation, lat, lon, tz, lid, valid_from, valid_to, is_current
) VALUES (
    s.icao, s.iata, s.name, s.city, s.subd, s.country, s.elevation, s.lat, s.lon, s.tz, s.lid, s.valid_from, s.valid_to,
    s.is_current
);
