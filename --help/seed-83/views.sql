-- r.t83: it's \ number 83 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t83_now AS
SELECT
    id, a, b, c, bucket, changed
FROM r.t83 AS t;
