-- r.t55: it's \ number 55 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t55_now AS
SELECT
    id, a, b, c
FROM r.t55 AS t;
