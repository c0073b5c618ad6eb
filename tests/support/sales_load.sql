-- Load the CSV files of the demo as they are, in text: the specs cast the columns.
CREATE SCHEMA IF NOT EXISTS retail_landing;

CREATE OR REPLACE TEMPORARY VIEW customers USING csv OPTIONS (path '.build/sales/in/customers', header 'true');

CREATE OR REPLACE TABLE retail_landing.customer_changes USING delta AS SELECT * FROM customers;

CREATE OR REPLACE TEMPORARY VIEW addresses USING csv OPTIONS (path '.build/sales/in/addresses', header 'true');

CREATE OR REPLACE TABLE retail_landing.address_changes USING delta AS SELECT * FROM addresses;

CREATE OR REPLACE TEMPORARY VIEW orders USING csv OPTIONS (path '.build/sales/in/orders', header 'true');

CREATE OR REPLACE TABLE retail_landing.order_rows USING delta AS SELECT * FROM orders;
