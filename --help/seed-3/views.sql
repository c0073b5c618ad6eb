-- r.t3: it's \ number 3 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t3_now AS
SELECT
    id, a, b, c, changed
FROM r.t3 AS t;
