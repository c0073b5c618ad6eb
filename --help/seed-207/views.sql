-- r.t207
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t207_now AS
SELECT
    id, a, b, c, changed
FROM r.t207 AS t;
