-- crm.customer_segment: Customers by segment, with the first, previous and current segment in a view
-- Views of the table.
-- Generated from specs/customer_segment.yml. To change it, edit the spec and run `scdgen generate`.

-- The open versions; one may start in the future.
CREATE OR REPLACE VIEW crm.customer_segment_now AS
SELECT id, name, segment, customer_sk, valid_from, valid_to, is_current
FROM crm.customer_segment AS t
WHERE t.is_current;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW crm.customer_segment_all AS
SELECT
    t.id, t.name, t.segment, t.customer_sk, t.valid_from, t.valid_to, t.is_current,
    FIRST_VALUE(t.segment) OVER by_key AS first_segment,
    (LAST_VALUE(_scd_previous_segment) IGNORE NULLS OVER by_key).segment AS previous_segment,
    LAST_VALUE(CASE WHEN t.valid_to IS NULL THEN t.segment END) OVER whole_key AS current_segment,
    MAX(_scd_since_segment) OVER by_key AS segment_since
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.segment)) OVER by_key IS NOT DISTINCT FROM STRUCT(t.segment) THEN NULL
            ELSE STRUCT(LAG(t.segment) OVER by_key AS segment)
        END AS _scd_previous_segment,
        CASE
            WHEN LAG(STRUCT(t.segment, t.valid_to AS _scd_at)) OVER by_key
                IS NOT DISTINCT FROM STRUCT(t.segment, t.valid_from AS _scd_at)
                THEN NULL
            ELSE t.valid_from
        END AS _scd_since_segment
    FROM crm.customer_segment AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.valid_from)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.valid_from),
    whole_key AS (PARTITION BY t.id ORDER BY t.valid_from ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
