-- r.t195: it's \ number 195 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t195_now AS
SELECT
    id, a, b, c
FROM r.t195 AS t;
