-- r.t147
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t147_now AS
SELECT
    id, a, b, c, bucket
FROM r.t147 AS t;
