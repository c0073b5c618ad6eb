-- `geo`.`airports`: Airports of the world with their history, from dated releases of the whole list
-- Merges a full extract: new keys open, changed keys close and open, missing keys close.
-- Made from specs/airports.yml; do not edit: change the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

-- One time for the whole snapshot.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = COALESCE(CAST(session.taken AS TIMESTAMP), RAISE_ERROR('[SCDGEN_NULL_TIME] geo.airports: snapshot.taken_at is NULL; give it a time'));

MERGE INTO `geo`.`airports` AS t USING (
    WITH extract AS (
        -- The source's rows, in the names and types of the table.
        SELECT
            COALESCE(CAST(`icao` AS STRING), RAISE_ERROR('[SCDGEN_NULL_KEY] geo.airports: the key icao is NULL in a source row; mend the source or set bad_rows: skip')) AS `icao`,
            CAST(`iata` AS STRING) AS `iata`,
            CAST(`name` AS STRING) AS `name`,
            CAST(`city` AS STRING) AS `city`,
            CAST(`subd` AS STRING) AS `subd`,
            CAST(`country` AS STRING) AS `country`,
            CAST(`elevation` AS DOUBLE) AS `elevation`,
            CAST(`lat` AS DOUBLE) AS `lat`,
            CAST(`lon` AS DOUBLE) AS `lon`,
            CAST(`tz` AS STRING) AS `tz`,
            CAST(`lid` AS STRING) AS `lid`
        FROM `geo`.`airports_release`
        UNION ALL
        -- An empty snapshot would close everything: it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] geo.airports: the snapshot is empty; set snapshot.allow_empty: true if that is right'),
            NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        WHERE
            NOT EXISTS (
                SELECT 1
                FROM `geo`.`airports_release`
            )
        DISTRIBUTE BY `icao`
    ),
    ranked AS (
        -- Exact copies of a row count once; different rows of a key stop the statement.
        SELECT
            *,
            LAG(STRUCT(
                `iata`, `name`, `city`, `subd`, `country`, `elevation`, `lat`, `lon`, `tz`, `lid`
            )) OVER w AS _scd_before
        FROM extract
        WINDOW w AS (PARTITION BY `icao` ORDER BY `icao`)
    ),
    snapshot AS (
        -- One row per key.
        SELECT *
        FROM ranked
        WHERE
            CASE
                WHEN _scd_before IS NULL THEN TRUE
                WHEN _scd_before <=> STRUCT(
                        `iata`, `name`, `city`, `subd`, `country`, `elevation`, `lat`, `lon`, `tz`, `lid`
                    ) THEN FALSE
                ELSE RAISE_ERROR(CONCAT('[SCDGEN_CONFLICT] geo.airports: two different rows of one key, such as ', TO_JSON(STRUCT(`icao`)), '; mend the source, order them by source.sequence_by or set conflicts: any'))
            END
    ),
    stored AS (
        -- The versions that are open, or ended no earlier than this snapshot; the newest of a key is number 1.
        SELECT
            t.`icao`,
            t.`iata`,
            t.`name`,
            t.`city`,
            t.`subd`,
            t.`country`,
            t.`elevation`,
            t.`lat`,
            t.`lon`,
            t.`tz`,
            t.`lid`,
            t.`valid_from` AS _scd_from,
            t.`valid_to` AS _scd_until,
            ROW_NUMBER() OVER (PARTITION BY t.`icao` ORDER BY t.`valid_from` DESC) AS _scd_row
        FROM `geo`.`airports` AS t
        WHERE (t.`valid_to` IS NULL OR t.`valid_to` >= _scd_taken_at)
        DISTRIBUTE BY `icao`
    ),
    compared AS (
        -- Only keys that differ: gone from the snapshot, new in it, or changed.
        SELECT
            COALESCE(n.`icao`, o.`icao`) AS `icao`,
            n.`iata`,
            n.`name`,
            n.`city`,
            n.`subd`,
            n.`country`,
            n.`elevation`,
            n.`lat`,
            n.`lon`,
            n.`tz`,
            n.`lid`,
            _scd_taken_at AS _scd_at,
            o._scd_from,
            o._scd_until,
            COUNT_IF(n.`icao` IS NULL) OVER () AS _scd_closing,
            n.`icao` IS NULL AS _scd_gone,
            CASE
                WHEN n.`icao` IS NULL THEN ARRAY('close')
                WHEN o.`icao` IS NULL OR o._scd_until < _scd_taken_at THEN ARRAY('open')
                WHEN STRUCT(
                        n.`iata`, n.`name`, n.`city`, n.`subd`, n.`country`, n.`elevation`, n.`lat`, n.`lon`,
                        n.`tz`, n.`lid`
                    ) <=> STRUCT(
                        o.`iata`, o.`name`, o.`city`, o.`subd`, o.`country`, o.`elevation`, o.`lat`, o.`lon`,
                        o.`tz`, o.`lid`
                    ) THEN ARRAY('correct')
                WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM snapshot AS n
        FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
            ON n.`icao` = o.`icao`
        WHERE
            CASE
                WHEN n.`icao` IS NULL THEN o._scd_until IS NULL
                WHEN o.`icao` IS NULL OR o._scd_until IS NOT NULL THEN TRUE
                ELSE NOT (STRUCT(
                        n.`iata`, n.`name`, n.`city`, n.`subd`, n.`country`, n.`elevation`, n.`lat`, n.`lon`,
                        n.`tz`, n.`lid`
                    ) <=> STRUCT(
                        o.`iata`, o.`name`, o.`city`, o.`subd`, o.`country`, o.`elevation`, o.`lat`, o.`lon`,
                        o.`tz`, o.`lid`
                    ))
            END
    ),
    versions AS (
        -- A changed key closes one version and opens another.
        SELECT
            *,
            CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
            CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
        FROM compared
        CROSS JOIN (
            SELECT COUNT(*) AS _scd_current
            FROM `geo`.`airports` AS t
            WHERE t.`valid_to` IS NULL
        )
            LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
        WHERE
            CASE
                WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                    THEN RAISE_ERROR(CONCAT('[SCDGEN_TAKEN_AT] geo.airports: the snapshot was not taken after the start of a version that it would close, such as ', TO_JSON(STRUCT(`icao`, _scd_from)), '; run snapshots in the order in which they were taken'))
                WHEN _scd_closing > 0.2 * _scd_current
                    THEN RAISE_ERROR('[SCDGEN_MAX_DELETED] geo.airports: the snapshot would close more than 0.2 of the current keys; raise snapshot.max_deleted if that is right')
                ELSE TRUE
            END
    ),
    staged AS (
        -- What to write: the versions, with their history columns.
        SELECT
            _scd_action,
            `icao`,
            `iata`,
            `name`,
            `city`,
            `subd`,
            `country`,
            `elevation`,
            `lat`,
            `lon`,
            `tz`,
            `lid`,
            _scd_start AS `valid_from`,
            _scd_next AS `valid_to`,
            _scd_next IS NULL AS `is_current`
        FROM versions
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A version is known by its key and its start.
    ON t.`icao` = s.`icao`
        AND t.`valid_from` = s.`valid_from`
        AND (t.`valid_to` IS NULL OR t.`valid_to` >= _scd_taken_at)
-- The open version of a key that is gone or changed: only its end is written.
WHEN MATCHED AND s._scd_action = 'close' THEN
    UPDATE SET `valid_to` = s.`valid_to`, `is_current` = s.`is_current`
-- A version that holds other values now, or is open again.
WHEN MATCHED THEN
    UPDATE SET
        `iata` = s.`iata`,
        `name` = s.`name`,
        `city` = s.`city`,
        `subd` = s.`subd`,
        `country` = s.`country`,
        `elevation` = s.`elevation`,
        `lat` = s.`lat`,
        `lon` = s.`lon`,
        `tz` = s.`tz`,
        `lid` = s.`lid`,
        `valid_to` = s.`valid_to`,
        `is_current` = s.`is_current`
-- A new version.
WHEN NOT MATCHED THEN
    INSERT (
        `icao`,
        `iata`,
        `name`,
        `city`,
        `subd`,
        `country`,
        `elevation`,
        `lat`,
        `lon`,
        `tz`,
        `lid`,
        `valid_from`,
        `valid_to`,
        `is_current`
    )
    VALUES (
        s.`icao`,
        s.`iata`,
        s.`name`,
        s.`city`,
        s.`subd`,
        s.`country`,
        s.`elevation`,
        s.`lat`,
        s.`lon`,
        s.`tz`,
        s.`lid`,
        s.`valid_from`,
        s.`valid_to`,
        s.`is_current`
    );
