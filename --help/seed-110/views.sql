-- r.t110: it's \ number 110 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t110_now AS
SELECT
    id, a, b, c, begins, ends, current_flag, the_action
FROM r.t110 AS t
WHERE t.current_flag = 'Y';

-- The versions valid at a time: SELECT * FROM r.t110_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t110_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, begins, ends, current_flag, the_action
FROM r.t110 AS t
WHERE t.begins <= at
    AND (t.current_flag = 'Y' OR t.ends > at);
