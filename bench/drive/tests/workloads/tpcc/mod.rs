//! TPC-C end to end on the embedded store: data, inputs, transactions, checks.

mod inputs;

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_drive::workload::Hosted;
use evenkeel_workloads::interface::{Outcome, Row, Value, Workload, complete};
use evenkeel_workloads::tpcc::{
    DISTRICTS, INVALID_ITEM, Line, Mix, NewOrder, Request, Scale, Tpcc, last_name,
};

use crate::database::{self, Database};
use crate::{assert_fraction, rows, run};

const SMALL: Scale = Scale {
    warehouses: 2,
    customers: 60,
    items: 500,
};

fn small() -> Tpcc {
    Tpcc::new(SMALL, Mix::Standard, 1)
}

fn column(tpcc: &Tpcc, table: &str, name: &str) -> usize {
    let schema = tpcc.schema();
    schema[schema.find(table)].column(name)
}

#[test]
fn initial_data_is_complete_and_consistent() {
    let tpcc = small();
    let database = database::load(&tpcc);
    let count = |table| rows(&tpcc, &database, table).len() as i64;
    let districts = SMALL.warehouses * DISTRICTS;
    assert_eq!(count("item"), 500);
    assert_eq!(count("warehouse"), 2);
    assert_eq!(count("stock"), 1000);
    assert_eq!(count("district"), 20);
    assert_eq!(count("customer"), districts * 60);
    assert_eq!(count("history"), districts * 60);
    assert_eq!(count("orders"), districts * 60);
    // Condition 3.3.2.11, scaled: 42 of 60 orders are delivered (2100 of 3000).
    assert_eq!(count("orders") - count("new_order"), districts * 42);
    assert_eq!(database::check(&tpcc, &database), []);
}

#[test]
fn every_partition_says_about_how_many_rows_it_has() {
    let tpcc = small();
    for partition in tpcc.partitions() {
        let rows: u64 = tpcc
            .batches(&partition)
            .map(|batch| batch.rows.len() as u64)
            .sum();
        assert!(
            rows.abs_diff(partition.rows) * 5 <= rows,
            "{}: {rows} rows, {} announced",
            partition.name,
            partition.rows
        );
    }
}

#[test]
fn data_depends_on_the_seed_alone() {
    let partition = &small().partitions()[3];
    let load = |seed| {
        Tpcc::new(SMALL, Mix::Standard, seed)
            .batches(partition)
            .collect::<Vec<_>>()
    };
    assert_eq!(load(1), load(1));
    assert_ne!(load(1), load(2));
}

#[test]
fn full_scale_rows_follow_the_specification() {
    let tpcc = Tpcc::new(Scale::full(1), Mix::Standard, 5);
    // Partition 0 is the items, 1 the warehouse with its stock, 2 its first district.
    let partitions = tpcc.partitions();
    let mut by_table: BTreeMap<&str, Vec<Row>> = BTreeMap::new();
    for partition in &partitions[..3] {
        for batch in tpcc.batches(partition) {
            let name = tpcc.schema()[batch.table].name;
            by_table.entry(name).or_default().extend(batch.rows);
        }
    }
    let cell = |table: &str, row: &Row, name: &str| row.0[column(&tpcc, table, name)].clone();
    let count = |table: &str, name: &str, holds: &dyn Fn(&Value) -> bool| {
        by_table[table]
            .iter()
            .filter(|row| holds(&cell(table, row, name)))
            .count()
    };
    let original = |value: &Value| matches!(value, Value::Text(text) if text.contains("ORIGINAL"));
    assert_eq!(by_table["item"].len(), 100_000);
    assert_eq!(by_table["stock"].len(), 100_000);
    assert_fraction(
        "original items",
        count("item", "i_data", &original),
        100_000,
        0.1,
    );
    assert_fraction(
        "original stock",
        count("stock", "s_data", &original),
        100_000,
        0.1,
    );
    assert_fraction(
        "bad credit",
        count("customer", "c_credit", &|v| *v == "BC".into()),
        3000,
        0.1,
    );
    let delivered = count("orders", "o_carrier_id", &|value| !value.is_null());
    assert_eq!((delivered, by_table["new_order"].len()), (2100, 900));
    assert_eq!(by_table["new_order"][0].int(2), Ok(2101));
    assert_eq!(by_table["district"][0].int(10), Ok(3001));
    assert_eq!(by_table["warehouse"][0].int(8), Ok(30_000_000));
    assert_eq!(by_table["district"][0].int(9), Ok(3_000_000));

    let customers: BTreeSet<_> = by_table["orders"]
        .iter()
        .map(|row| row.int(3).unwrap())
        .collect();
    assert_eq!(customers, (1..=3000).collect());
    for (number, customer) in by_table["customer"].iter().take(1000).enumerate() {
        assert_eq!(customer.text(5), Ok(last_name(number as i64).as_str()));
    }
    let drawn_names: BTreeSet<_> = by_table["customer"][1000..]
        .iter()
        .map(|row| row.text(5).unwrap())
        .collect();
    assert!(
        drawn_names.len() > 100 && drawn_names.len() < 900,
        "NURand repeats names: {}",
        drawn_names.len()
    );
    for line in &by_table["order_line"] {
        let delivered = line.int(2).unwrap() <= 2100;
        assert_eq!(line.0[6].is_null(), !delivered);
        let amount = line.int(8).unwrap();
        assert!(if delivered {
            amount == 0
        } else {
            (1..=999_999).contains(&amount)
        });
        assert_eq!(line.int(7), Ok(5));
    }
}

#[test]
fn texts_fit_their_columns() {
    let tpcc = small();
    let database = database::load(&tpcc);
    for (id, table) in tpcc.schema().tables.iter().enumerate() {
        for row in database.rows(evenkeel_workloads::interface::TableId(id)) {
            assert_eq!(row.0.len(), table.columns.len());
            for (value, column) in row.0.iter().zip(&table.columns) {
                if let (Value::Text(text), evenkeel_workloads::interface::ColumnType::Text(most)) =
                    (value, column.column_type)
                {
                    assert!(text.len() <= most.into(), "{}: {text}", column.name);
                }
                assert!(
                    column.nullable || !value.is_null(),
                    "{} is null",
                    column.name
                );
            }
        }
    }
}

#[test]
fn transactions_keep_the_conditions() {
    let tpcc = small();
    let database = database::load(&tpcc);
    let mut clients: Vec<_> = (0..4).map(|number| tpcc.client(number)).collect();
    let tally = database::run(&tpcc, &database, &mut clients, 4000);
    assert_eq!(database::check(&tpcc, &database), []);
    let rolled_back = tally.rolled_back[INVALID_ITEM];
    assert_eq!(tally.committed.iter().sum::<u64>() + rolled_back, 4000);
    // Each NewOrder that was not rolled back is an order.
    let orders = rows(&tpcc, &database, "orders").len() as u64;
    assert_eq!(orders, 20 * 60 + tally.committed[0]);
    // Each payment is a row of history.
    assert_eq!(
        rows(&tpcc, &database, "history").len() as u64,
        20 * 60 + tally.committed[1]
    );
    // Deliveries take from the open orders, never below none.
    let open = rows(&tpcc, &database, "new_order").len() as u64;
    let delivered = 20 * 18 + tally.committed[0] - open;
    assert!(delivered > 0 && delivered <= tally.committed[3] * 10);
}

#[test]
fn the_same_seed_gives_the_same_database() {
    let run = || {
        let tpcc = small();
        let database = database::load(&tpcc);
        let mut clients: Vec<_> = (0..3).map(|number| tpcc.client(number)).collect();
        database::run(&tpcc, &database, &mut clients, 500);
        tpcc.schema()
            .tables
            .iter()
            .map(|table| rows(&tpcc, &database, table.name))
            .collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}

/// The rows of HISTORY, the one table with hidden keys, come in the same order, too.
#[test]
fn retries_after_deadlocks_change_nothing() {
    run(small, 1, 500);
}

#[test]
fn an_item_ordered_twice_keeps_both_changes_of_stock() {
    let tpcc = small();
    let database = database::load(&tpcc);
    let line = |quantity| Line {
        i: 7,
        supply_w: 1,
        quantity,
    };
    let at = evenkeel_workloads::tpcc::District { w: 1, d: 3 };
    let order = NewOrder {
        at,
        c: 5,
        lines: vec![line(4), line(10), line(6)],
        entry_d: 0,
    };
    let stock = |name| {
        let at = column(&tpcc, "stock", name);
        let all = rows(&tpcc, &database, "stock");
        let row = all
            .iter()
            .find(|row| (row.int(0), row.int(1)) == (Ok(1), Ok(7)))
            .expect("stock is there");
        row.int(at).unwrap()
    };
    let mut expected = stock("s_quantity");
    for quantity in [4, 10, 6] {
        expected = if expected - quantity >= 10 {
            expected - quantity
        } else {
            expected - quantity + 91
        };
    }
    let mut connection = database.connect(&Hosted(&tpcc));
    let request = Request::NewOrder(order);
    let client = &mut tpcc.client(0);
    let outcome = complete(database::transact(&tpcc, client, &request, &mut connection));
    assert_eq!(outcome, Ok(Outcome::Commit));
    assert_eq!(
        (stock("s_quantity"), stock("s_ytd"), stock("s_order_cnt")),
        (expected, 20, 3)
    );
    assert_eq!(database::check(&tpcc, &database), []);
}

#[test]
fn the_htap_mix_adds_its_query() {
    let tpcc = Tpcc::new(SMALL, Mix::Htap, 1);
    let total: f64 = tpcc.transactions().iter().map(|kind| kind.fraction).sum();
    assert!((total - 1.0).abs() < 1e-12);
    let database = database::load(&tpcc);
    let mut clients = vec![tpcc.client(0)];
    let tally = database::run(&tpcc, &database, &mut clients, 3000);
    assert_fraction("orders by state", tally.committed[5] as usize, 3000, 0.005);
    assert_eq!(database::check(&tpcc, &database), []);
}

/// Adds 1 to an integer column of the first row of `table` for which it is an integer.
fn bump(tpcc: &Tpcc, database: &Database, table: &str, name: &str) {
    let at = column(tpcc, table, name);
    let changed = database.corrupt(tpcc.schema().find(table), |row| match &mut row.0[at] {
        Value::Int(value) => {
            *value += 1;
            true
        }
        _ => false,
    });
    assert!(changed, "{table}.{name} was changed");
}

fn nullify(tpcc: &Tpcc, database: &Database, table: &str, name: &str) {
    let at = column(tpcc, table, name);
    let changed = database.corrupt(tpcc.schema().find(table), |row| {
        let had = !row.0[at].is_null();
        row.0[at] = Value::Null;
        had
    });
    assert!(changed, "{table}.{name} was cleared");
}

#[test]
fn checks_see_every_kind_of_damage() {
    let tpcc = small();
    let violated = |damage: &dyn Fn(&Database)| -> BTreeSet<String> {
        let database = database::load(&tpcc);
        let mut clients = vec![tpcc.client(0)];
        database::run(&tpcc, &database, &mut clients, 300);
        damage(&database);
        let violations = database::check(&tpcc, &database);
        violations
            .iter()
            .map(|v| {
                v.condition
                    .split(':')
                    .next()
                    .unwrap()
                    .trim_start_matches("tpcc ")
                    .to_owned()
            })
            .collect()
    };
    let set = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(violated(&|_| ()), set(&[]));
    assert_eq!(
        violated(&|db| bump(&tpcc, db, "warehouse", "w_ytd")),
        set(&["3.3.2.1", "3.3.2.8"])
    );
    assert_eq!(
        violated(&|db| bump(&tpcc, db, "district", "d_ytd")),
        set(&["3.3.2.1", "3.3.2.9"])
    );
    assert_eq!(
        violated(&|db| bump(&tpcc, db, "district", "d_next_o_id")),
        set(&["3.3.2.2"])
    );
    assert_eq!(
        violated(&|db| bump(&tpcc, db, "orders", "o_ol_cnt")),
        set(&["3.3.2.4", "3.3.2.6"])
    );
    assert_eq!(
        violated(&|db| bump(&tpcc, db, "customer", "c_balance")),
        set(&["3.3.2.10", "3.3.2.12"])
    );
    assert_eq!(
        violated(&|db| bump(&tpcc, db, "customer", "c_ytd_payment")),
        set(&["3.3.2.12"])
    );
    assert_eq!(
        violated(&|db| bump(&tpcc, db, "history", "h_amount")),
        set(&["3.3.2.8", "3.3.2.9", "3.3.2.10"])
    );
    assert_eq!(
        violated(&|db| nullify(&tpcc, db, "order_line", "ol_delivery_d")),
        set(&["3.3.2.7"])
    );
    // The lost update of the trap, and a lost counter.
    assert_eq!(
        violated(&|db| bump(&tpcc, db, "stock", "s_ytd")),
        set(&["tpcc"])
    );
    assert_eq!(
        violated(&|db| bump(&tpcc, db, "customer", "c_payment_cnt")),
        set(&["tpcc"])
    );
    // A hole in NEW_ORDER: the second open order of a district disappears.
    let hole = |db: &Database| {
        let mut seen = 0;
        let lost = db.lose(tpcc.schema().find("new_order"), |_| {
            seen += 1;
            seen == 2
        });
        assert!(lost);
    };
    assert_eq!(violated(&hole), set(&["3.3.2.3", "3.3.2.5"]));
    // A lost line.
    let line = |db: &Database| assert!(db.lose(tpcc.schema().find("order_line"), |_| true));
    assert!(violated(&line).is_superset(&set(&["3.3.2.4", "3.3.2.6"])));
}
