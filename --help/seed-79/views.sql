-- r.t79: it's \ number 79 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t79_now AS
SELECT
    id, a, b, c
FROM r.t79 AS t;
