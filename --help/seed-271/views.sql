-- r.t271
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t271_now AS
SELECT
    id, a, b, c, bucket
FROM r.t271 AS t;
