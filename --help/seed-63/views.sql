-- r.t63
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t63_now AS
SELECT
    id, a, b, c, changed
FROM r.t63 AS t;
