-- r.t111: it's \ number 111 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW r.t111_now AS
SELECT
    id, a, b, c
FROM r.t111 AS t;
