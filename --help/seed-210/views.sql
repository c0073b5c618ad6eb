-- r.t210: it's \ number 210 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t210_now AS
SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends
FROM r.t210 AS t
WHERE t.ends = DATE '9999-12-31';

-- The versions valid at a time: SELECT * FROM r.t210_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t210_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends
FROM r.t210 AS t
WHERE t.begins <= at
    AND t.ends > at;
