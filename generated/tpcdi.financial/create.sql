-- tpcdi.financial: Quarterly numbers, with the version of the company on the day of their record
-- Creates the table if it does not exist.
-- Generated from specs/tpcdi/financial.yml. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS tpcdi;

CREATE TABLE IF NOT EXISTS tpcdi.financial (
    sk_company_id BIGINT NOT NULL,
    fi_year INT NOT NULL,
    fi_qtr INT NOT NULL,
    fi_qtr_start_date DATE,
    fi_revenue DECIMAL(15, 2),
    fi_net_earn DECIMAL(15, 2),
    fi_basic_eps DECIMAL(10, 2),
    fi_dilut_eps DECIMAL(10, 2),
    fi_margin DECIMAL(10, 2),
    fi_inventory DECIMAL(15, 2),
    fi_assets DECIMAL(15, 2),
    fi_liability DECIMAL(15, 2),
    fi_out_basic BIGINT,
    fi_out_dilut BIGINT
)
USING DELTA
COMMENT 'Quarterly numbers, with the version of the company on the day of their record'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["sk_company_id", "fi_year", "fi_qtr"]',
    'scdgen.time_zone' = 'UTC'
);
