-- r.t151: it's \ number 151 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t151_now AS
SELECT
    id, a, b, c, changed
FROM r.t151 AS t;
