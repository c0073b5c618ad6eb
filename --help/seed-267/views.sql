-- r.t267
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t267_now AS
SELECT
    id, a, b, c, bucket, changed
FROM r.t267 AS t;
