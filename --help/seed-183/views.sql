-- r.t183
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t183_now AS
SELECT
    id, a, b, c, bucket, changed
FROM r.t183 AS t;
