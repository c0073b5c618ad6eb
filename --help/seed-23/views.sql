-- r.t23: it's \ number 23 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t23_now AS
SELECT
    id, a, b, c, changed
FROM r.t23 AS t;
