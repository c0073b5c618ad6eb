-- r.t119
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t119_now AS
SELECT
    id, a, b, c
FROM r.t119 AS t;
