-- shop.price_list: Price history, from a nightly list that also announces future prices
-- Views of the table.
-- Generated from specs/price_list.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] shop.price_list: needs TIMESTAMP_LTZ')
END;

-- The versions valid at a time: SELECT * FROM shop.price_list_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION shop.price_list_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT product_id, price, currency, valid_from, valid_to, is_current
FROM shop.price_list AS t
WHERE t.valid_from <= at AND (t.valid_to IS NULL OR t.valid_to > at);
