-- geo.airports: Airports of the world with their history, from dated releases of the whole list
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key closes its version. Load extracts in the order of their times. Stops and
-- writes nothing if a key is NULL, rows of one key differ, the extract is empty, more than 20 % of the keys would be
-- deleted, or a version to close is not older than the extract. The same extract again changes nothing.
-- Generated from specs/airports.yml. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(session.taken AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] geo.airports: snapshot.taken_at is NULL')
);

MERGE INTO geo.airports AS t USING (
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
        FROM source_rows
            LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] geo.airports: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] geo.airports: run SET TIME ZONE \'UTC\' first')
            WHEN icao IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] geo.airports: icao is NULL')
            ELSE TRUE
        END
        UNION ALL
        -- An empty extract would delete every key, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] geo.airports: the snapshot is empty'),
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
        DISTRIBUTE BY icao -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once.
        -- A window must have an order; any will do.
        SELECT *, LAG(STRUCT(iata, name, city, subd, country, elevation, lat, lon, tz, lid)) OVER by_key AS _scd_before
        FROM extract
        WINDOW by_key AS (PARTITION BY icao ORDER BY icao)
    ),
    snapshot AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT *
        FROM ranked
        WHERE CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(iata, name, city, subd, country, elevation, lat, lon, tz, lid) THEN FALSE
            ELSE RAISE_ERROR('[SCDGEN_CONFLICT] geo.airports: two different rows of one key: ' || TO_JSON(STRUCT(icao)))
        END
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.icao,
            t.iata,
            t.name,
            t.city,
            t.subd,
            t.country,
            t.elevation,
            t.lat,
            t.lon,
            t.tz,
            t.lid,
            t.valid_from AS _scd_from,
            t.valid_to AS _scd_until,
            ROW_NUMBER() OVER newest_first = 1 AS _scd_newest
        FROM geo.airports AS t
        WHERE t.valid_to IS NULL OR t.valid_to >= _scd_taken_at
        WINDOW newest_first AS (PARTITION BY t.icao ORDER BY t.valid_from DESC)
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, changed, or back again.
        SELECT
            COALESCE(n.icao, o.icao) AS icao,
            n.iata,
            n.name,
            n.city,
            n.subd,
            n.country,
            n.elevation,
            n.lat,
            n.lon,
            n.tz,
            n.lid,
            _scd_taken_at AS _scd_at,
            o._scd_from,
            o._scd_until,
            -- How many keys are deleted. Only their rows pass through one task.
            COUNT_IF(n.icao IS NULL)
                OVER (PARTITION BY CASE WHEN n.icao IS NOT NULL THEN STRUCT(n.icao) END) AS _scd_closing,
            CASE
                -- Missing: its version ends.
                WHEN n.icao IS NULL THEN ARRAY('close')
                -- No version, or its last one ended before this extract.
                WHEN o.icao IS NULL THEN ARRAY('open')
                WHEN STRUCT(
                    n.iata,
                    n.name,
                    n.city,
                    n.subd,
                    n.country,
                    n.elevation,
                    ROUND(n.lat, 3) AS lat,
                    ROUND(n.lon, 3) AS lon,
                    n.tz,
                    n.lid
                )
                    <=> STRUCT(
                        o.iata,
                        o.name,
                        o.city,
                        o.subd,
                        o.country,
                        o.elevation,
                        ROUND(o.lat, 3) AS lat,
                        ROUND(o.lon, 3) AS lon,
                        o.tz,
                        o.lid
                    )
                    THEN ARRAY('correct')
                -- Its last version ended at this time or later, and differs.
                WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM snapshot AS n
        FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_newest) AS o ON n.icao = o.icao
        WHERE CASE
            WHEN n.icao IS NULL THEN o._scd_until IS NULL
            WHEN o.icao IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            ELSE NOT (
                STRUCT(
                    n.iata,
                    n.name,
                    n.city,
                    n.subd,
                    n.country,
                    n.elevation,
                    ROUND(n.lat, 3) AS lat,
                    ROUND(n.lon, 3) AS lon,
                    n.tz,
                    n.lid
                )
                    <=> STRUCT(
                        o.iata,
                        o.name,
                        o.city,
                        o.subd,
                        o.country,
                        o.elevation,
                        ROUND(o.lat, 3) AS lat,
                        ROUND(o.lon, 3) AS lon,
                        o.tz,
                        o.lid
                    )
            )
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
        WHERE CASE
            WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_TAKEN_AT] geo.airports: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(icao, _scd_from))
                )
            WHEN _scd_closing > 0.2 * _scd_current
                THEN RAISE_ERROR(
                    '[SCDGEN_MAX_DELETED] geo.airports: '
                        || _scd_closing
                        || IF(_scd_closing = 1, ' key', ' keys')
                        || ' deleted ('
                        || ROUND(100 * _scd_closing / _scd_current, 1)
                        || ' %; limit 20 %)'
                )
            ELSE TRUE
        END
    ),
    staged AS (
        -- Rows to write, with their history columns.
        SELECT
            _scd_action,
            icao,
            iata,
            name,
            city,
            subd,
            country,
            elevation,
            lat,
            lon,
            tz,
            lid,
            _scd_start AS valid_from,
            _scd_next AS valid_to,
            _scd_next IS NULL AS is_current
        FROM versions
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.icao = s.icao AND t.valid_from = s.valid_from AND (t.valid_to IS NULL OR t.valid_to >= _scd_taken_at)
-- A version that ends, or that is open again because its key is back: only its end is written.
WHEN MATCHED THEN UPDATE SET valid_to = s.valid_to, is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (icao, iata, name, city, subd, country, elevation, lat, lon, tz, lid, valid_from, valid_to, is_current)
    VALUES (
        s.icao,
        s.iata,
        s.name,
        s.city,
        s.subd,
        s.country,
        s.elevation,
        s.lat,
        s.lon,
        s.tz,
        s.lid,
        s.valid_from,
        s.valid_to,
        s.is_current
    );
