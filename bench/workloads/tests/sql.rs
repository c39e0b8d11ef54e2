//! The texts SQL targets prepare, in each dialect.

use evenkeel_workloads::interface::{Schema, Statement, Workload};
use evenkeel_workloads::named::{self, NAMES, Settings, Visitor};
use evenkeel_workloads::sql::{Dialect, SqlStatement, after_load, create_table, translate};

struct Declarations;

impl Visitor for Declarations {
    type Output = (Schema, Vec<Statement>);

    fn visit<W: Workload>(self, workload: W) -> Self::Output {
        (workload.schema().clone(), workload.statements().to_vec())
    }
}

fn declarations(workload: &str) -> (Schema, Vec<Statement>) {
    named::build(workload, &Settings::default(), Declarations).expect("the name is known")
}

fn sql(workload: &str, statement: &str, dialect: Dialect) -> Vec<SqlStatement> {
    let (schema, statements) = declarations(workload);
    let found = statements
        .iter()
        .find(|declared| declared.name == statement);
    translate(dialect, &schema, found.expect("the statement is declared"))
}

/// Expects one text in each dialect, and the parameters MySQL's is sent. SQLite's is PostgreSQL's with other
/// placeholders, unless a separate test says otherwise.
fn assert_sql(
    workload: &str,
    statement: &str,
    postgres: &str,
    mysql: &str,
    mysql_parameters: &[usize],
) {
    let texts = |dialect| -> Vec<String> {
        let translated = sql(workload, statement, dialect);
        translated.into_iter().map(|sql| sql.text).collect()
    };
    assert_eq!(texts(Dialect::Postgres), [postgres]);
    assert_eq!(texts(Dialect::MySql), [mysql]);
    let translated = sql(workload, statement, Dialect::MySql);
    assert_eq!(translated[0].parameters, mysql_parameters);
    if !["FOR ", "CAST("].iter().any(|own| postgres.contains(own)) {
        assert_eq!(texts(Dialect::Sqlite), [postgres.replace('$', "?")]);
    }
}

#[test]
fn sqlite_needs_no_row_locks_and_no_casts() {
    for (workload, statement, expected) in [
        (
            "tpcc",
            "new_order_stock_03",
            "SELECT s_quantity, s_data, s_dist_03 FROM stock WHERE s_w_id = ?1 AND s_i_id = ?2",
        ),
        (
            "micro",
            "micro_select",
            "SELECT r_value FROM record WHERE r_id = ?1",
        ),
        (
            "epinions",
            "epinions_trusted_average",
            "SELECT avg(review.rating) FROM review JOIN trust ON trust.source_u_id = ?2 AND \
             trust.target_u_id = review.u_id WHERE review.i_id = ?1",
        ),
        (
            "micro",
            "micro_total",
            "SELECT sum(r_value), count(*) FROM record",
        ),
        (
            "tpcc",
            "new_order_next_order",
            "UPDATE district SET d_next_o_id = d_next_o_id + ?3 WHERE d_w_id = ?1 AND d_id = ?2 \
             RETURNING d_next_o_id, d_tax",
        ),
    ] {
        let translated = sql(workload, statement, Dialect::Sqlite);
        let texts: Vec<&str> = translated.iter().map(|sql| &*sql.text).collect();
        assert_eq!(texts, [expected]);
    }
}

#[test]
fn sqlite_clusters_tables_by_their_keys_and_keeps_decimals_and_times_as_integers() {
    let (schema, _) = declarations("tpcc");
    let create = |table| create_table(Dialect::Sqlite, &schema[schema.find(table)]);
    assert_eq!(
        create("orders"),
        "CREATE TABLE orders (\n  o_w_id INTEGER NOT NULL,\n  o_d_id INTEGER NOT NULL,\n  o_id INTEGER NOT NULL,\n  \
         o_c_id INTEGER NOT NULL,\n  o_entry_d INTEGER NOT NULL,\n  o_carrier_id INTEGER,\n  \
         o_ol_cnt INTEGER NOT NULL,\n  o_all_local INTEGER NOT NULL,\n  PRIMARY KEY (o_w_id, o_d_id, o_id)\n) \
         WITHOUT ROWID"
    );
    // An integer key is the row's number.
    let item = create("item");
    assert!(item.ends_with("PRIMARY KEY (i_id)\n)"), "{item}");
    assert!(
        item.contains("i_name TEXT NOT NULL,\n  i_price INTEGER NOT NULL"),
        "{item}"
    );
    assert!(!create("history").contains("KEY"));
    assert_eq!(
        after_load(Dialect::Sqlite, &schema[schema.find("orders")]),
        [
            "CREATE UNIQUE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
            "ANALYZE orders",
        ]
    );
}

#[test]
fn a_row_by_key_is_locked() {
    assert_sql(
        "tpcc",
        "new_order_stock_03",
        "SELECT s_quantity, s_data, s_dist_03 FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE",
        "SELECT s_quantity, s_data, s_dist_03 FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
        &[0, 1],
    );
    assert_sql(
        "micro",
        "micro_select",
        "SELECT r_value FROM record WHERE r_id = $1 FOR SHARE",
        "SELECT r_value FROM record WHERE r_id = ? LOCK IN SHARE MODE",
        &[0],
    );
}

#[test]
fn the_order_is_that_of_the_key_columns_that_vary() {
    assert_sql(
        "tpcc",
        "order_status_last_order",
        "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 \
         ORDER BY o_id DESC LIMIT 1",
        "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? \
         ORDER BY o_id DESC LIMIT 1",
        &[0, 1, 2],
    );
    assert_sql(
        "ycsb-e",
        "ycsb_scan",
        "SELECT field0, field1, field2, field3, field4, field5, field6, field7, field8, field9 FROM usertable \
         WHERE ycsb_key >= $1 ORDER BY ycsb_key LIMIT $2",
        "SELECT field0, field1, field2, field3, field4, field5, field6, field7, field8, field9 FROM usertable \
         WHERE ycsb_key >= ? ORDER BY ycsb_key LIMIT ?",
        &[0, 1],
    );
}

#[test]
fn a_parameter_used_twice_is_sent_twice_to_mysql() {
    assert_sql(
        "tpcc",
        "payment_pay",
        "UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, \
         c_payment_cnt = c_payment_cnt + $5 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
        "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
         c_payment_cnt = c_payment_cnt + ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        &[3, 3, 4, 0, 1, 2],
    );
    let [postgres] = &sql("tpcc", "payment_pay", Dialect::Postgres)[..] else {
        panic!("one statement")
    };
    assert_eq!(postgres.parameters, [0, 1, 2, 3, 4]);
}

#[test]
fn an_update_returns_rows_in_the_dialect_s_way() {
    let texts = |dialect| {
        sql("tpcc", "new_order_next_order", dialect)
            .into_iter()
            .map(|sql| sql.text)
    };
    assert_eq!(
        texts(Dialect::Postgres).collect::<Vec<_>>(),
        [
            "UPDATE district SET d_next_o_id = d_next_o_id + $3 WHERE d_w_id = $1 AND d_id = $2 \
          RETURNING d_next_o_id, d_tax"
        ]
    );
    assert_eq!(
        texts(Dialect::MySql).collect::<Vec<_>>(),
        [
            "UPDATE district SET d_next_o_id = d_next_o_id + ? WHERE d_w_id = ? AND d_id = ?",
            "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ?"
        ]
    );
    let parameters: Vec<_> = sql("tpcc", "new_order_next_order", Dialect::MySql)
        .into_iter()
        .map(|sql| sql.parameters)
        .collect();
    assert_eq!(parameters, [vec![2, 0, 1], vec![0, 1]]);
}

#[test]
fn joins_name_their_tables() {
    assert_sql(
        "tpcc",
        "stock_level_low",
        "SELECT count(DISTINCT stock.s_i_id) FROM order_line JOIN stock ON stock.s_w_id = $1 AND \
         stock.s_i_id = order_line.ol_i_id WHERE order_line.ol_w_id = $1 AND order_line.ol_d_id = $2 AND \
         order_line.ol_o_id >= $3 AND order_line.ol_o_id < $4 AND stock.s_quantity < $5",
        "SELECT count(DISTINCT stock.s_i_id) FROM order_line JOIN stock ON stock.s_w_id = ? AND \
         stock.s_i_id = order_line.ol_i_id WHERE order_line.ol_w_id = ? AND order_line.ol_d_id = ? AND \
         order_line.ol_o_id >= ? AND order_line.ol_o_id < ? AND stock.s_quantity < ?",
        &[0, 0, 1, 2, 3, 4],
    );
    assert_sql(
        "htap",
        "analytical_orders_by_state",
        "SELECT warehouse.w_state, count(DISTINCT order_line.ol_o_id) FROM warehouse JOIN order_line ON \
         order_line.ol_w_id = warehouse.w_id WHERE warehouse.w_id >= $1 AND warehouse.w_id <= $2 \
         GROUP BY warehouse.w_state",
        "SELECT warehouse.w_state, count(DISTINCT order_line.ol_o_id) FROM warehouse JOIN order_line ON \
         order_line.ol_w_id = warehouse.w_id WHERE warehouse.w_id >= ? AND warehouse.w_id <= ? \
         GROUP BY warehouse.w_state",
        &[0, 1],
    );
    assert_sql(
        "tatp",
        "tatp_destination",
        "SELECT call_forwarding.numberx FROM special_facility JOIN call_forwarding ON \
         call_forwarding.s_id = special_facility.s_id AND call_forwarding.sf_type = special_facility.sf_type AND \
         call_forwarding.start_time <= $3 WHERE special_facility.s_id = $1 AND special_facility.sf_type = $2 AND \
         special_facility.is_active = 1 AND call_forwarding.end_time > $4",
        "SELECT call_forwarding.numberx FROM special_facility JOIN call_forwarding ON \
         call_forwarding.s_id = special_facility.s_id AND call_forwarding.sf_type = special_facility.sf_type AND \
         call_forwarding.start_time <= ? WHERE special_facility.s_id = ? AND special_facility.sf_type = ? AND \
         special_facility.is_active = 1 AND call_forwarding.end_time > ?",
        &[2, 0, 1, 3],
    );
}

#[test]
fn aggregates_have_the_promised_types() {
    assert_sql(
        "epinions",
        "epinions_trusted_average",
        "SELECT CAST(avg(review.rating) AS DOUBLE PRECISION) FROM review JOIN trust ON trust.source_u_id = $2 AND \
         trust.target_u_id = review.u_id WHERE review.i_id = $1",
        "SELECT avg(review.rating + 0e0) FROM review JOIN trust ON trust.source_u_id = ? AND \
         trust.target_u_id = review.u_id WHERE review.i_id = ?",
        &[1, 0],
    );
    assert_sql(
        "micro",
        "micro_total",
        "SELECT CAST(sum(r_value) AS BIGINT), count(*) FROM record",
        "SELECT CAST(sum(r_value) AS SIGNED), count(*) FROM record",
        &[],
    );
    assert_sql(
        "tpcc",
        "check_lines",
        "SELECT ol_o_id, count(*), count(ol_delivery_d), sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND \
         ol_d_id = $2 GROUP BY ol_o_id",
        "SELECT ol_o_id, count(*), count(ol_delivery_d), sum(ol_amount) FROM order_line WHERE ol_w_id = ? AND \
         ol_d_id = ? GROUP BY ol_o_id",
        &[0, 1],
    );
}

#[test]
fn inserts_and_deletes() {
    assert_sql(
        "tpcc",
        "new_order_insert_new_order",
        "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES ($1, $2, $3)",
        "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)",
        &[0, 1, 2],
    );
    assert_sql(
        "tatp",
        "tatp_delete_forwarding",
        "DELETE FROM call_forwarding WHERE s_id = $1 AND sf_type = $2 AND start_time = $3",
        "DELETE FROM call_forwarding WHERE s_id = ? AND sf_type = ? AND start_time = ?",
        &[0, 1, 2],
    );
}

#[test]
fn tables() {
    let (schema, _) = declarations("tpcc");
    let orders = &schema[schema.find("orders")];
    assert_eq!(
        create_table(Dialect::Postgres, orders),
        "CREATE TABLE orders (\n  o_w_id INTEGER NOT NULL,\n  o_d_id INTEGER NOT NULL,\n  o_id INTEGER NOT NULL,\n  \
         o_c_id INTEGER NOT NULL,\n  o_entry_d TIMESTAMP NOT NULL,\n  o_carrier_id INTEGER,\n  \
         o_ol_cnt INTEGER NOT NULL,\n  o_all_local INTEGER NOT NULL\n)"
    );
    assert_eq!(
        create_table(Dialect::MySql, orders),
        "CREATE TABLE orders (\n  o_w_id INT NOT NULL,\n  o_d_id INT NOT NULL,\n  o_id INT NOT NULL,\n  \
         o_c_id INT NOT NULL,\n  o_entry_d DATETIME(6) NOT NULL,\n  o_carrier_id INT,\n  o_ol_cnt INT NOT NULL,\n  \
         o_all_local INT NOT NULL,\n  PRIMARY KEY (o_w_id, o_d_id, o_id)\n) \
         ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
    );
    assert_eq!(
        after_load(Dialect::Postgres, orders),
        [
            "ALTER TABLE orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id)",
            "CREATE UNIQUE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
            "VACUUM ANALYZE orders",
        ]
    );
    // HISTORY has no key in either.
    let history = &schema[schema.find("history")];
    assert!(!create_table(Dialect::MySql, history).contains("KEY"));
    assert_eq!(
        after_load(Dialect::MySql, history),
        ["ANALYZE TABLE history"]
    );
    let item = create_table(Dialect::Postgres, &schema[schema.find("item")]);
    assert!(
        item.contains("i_name VARCHAR(24) COLLATE \"C\" NOT NULL"),
        "{item}"
    );
    assert!(item.contains("i_price DECIMAL(5,2) NOT NULL"), "{item}");
}

/// Requirements of every text: a placeholder for each parameter that it is sent, and each declared parameter in use.
#[test]
fn every_statement_of_every_workload_uses_its_parameters() {
    for name in NAMES {
        let (schema, statements) = declarations(name);
        for statement in &statements {
            let mysql = translate(Dialect::MySql, &schema, statement);
            for sql in &mysql {
                assert_eq!(
                    sql.text.matches('?').count(),
                    sql.parameters.len(),
                    "{name}: {}",
                    sql.text
                );
            }
            let mut used: Vec<usize> = mysql[0].parameters.clone();
            used.sort_unstable();
            used.dedup();
            assert_eq!(
                used,
                (0..statement.parameters.len()).collect::<Vec<_>>(),
                "{name}: {}",
                statement.name
            );
            for (dialect, sign) in [(Dialect::Postgres, '$'), (Dialect::Sqlite, '?')] {
                let [sql] = &translate(dialect, &schema, statement)[..] else {
                    panic!("{name}: {} is one statement", statement.name)
                };
                assert_eq!(
                    sql.parameters.len(),
                    statement.parameters.len(),
                    "{name}: {}",
                    sql.text
                );
                assert!(
                    sql.parameters
                        .iter()
                        .all(|at| sql.text.contains(&format!("{sign}{}", at + 1))),
                    "{}",
                    sql.text
                );
            }
        }
    }
}
