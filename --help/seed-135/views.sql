-- r.t135
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t135_now AS
SELECT
    id, a, b, c, changed
FROM r.t135 AS t;
