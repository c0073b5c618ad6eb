-- An account's versions beside those of its customer
-- The first account that has another name, or another tax status, from a day on which its customer changed, too.
WITH versions AS (
    SELECT
        a.*,
        c.customer_id,
        c.effective_date AS customer_since,
        c.end_date AS customer_until,
        c.tier,
        c.city,
        a.account_desc <> LAG(a.account_desc) OVER of_account OR a.tax_status <> LAG(a.tax_status) OVER of_account AS own,
        a.sk_customer_id <> LAG(a.sk_customer_id) OVER of_account AS by_customer
    FROM tpcdi.dim_account AS a
    INNER JOIN tpcdi.dim_customer AS c ON a.sk_customer_id = c.sk_customer_id
    WINDOW of_account AS (PARTITION BY a.account_id ORDER BY a.effective_date)
)

SELECT
    account_id,
    effective_date,
    end_date,
    account_desc,
    tax_status,
    customer_id,
    customer_since,
    customer_until,
    tier,
    city
FROM versions
WHERE account_id = (SELECT MIN(account_id) FROM versions WHERE own AND by_customer)
ORDER BY effective_date;
