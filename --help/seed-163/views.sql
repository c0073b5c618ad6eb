-- r.t163: it's \ number 163 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t163_now AS
SELECT
    id, a, b, c, bucket, changed
FROM r.t163 AS t;
