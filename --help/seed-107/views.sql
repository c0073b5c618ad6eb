-- r.t107: it's \ number 107 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t107_now AS
SELECT
    id, a, b, c, bucket
FROM r.t107 AS t;
