-- r.t115
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t115_now AS
SELECT
    id, a, b, c
FROM r.t115 AS t;
