//! Every workload end to end on the embedded store: data, inputs, transactions, checks.

mod database;
mod declarations;
mod epinions;
mod micro;
mod seats;
mod sysbench;
mod tatp;
mod tpcc;
mod ycsb;

use std::collections::BTreeSet;

use database::{Database, Tally};
use evenkeel_workloads::interface::{Row, TableId, Value, Workload};

/// Expects `count` of `draws` to be within five standard deviations of a binomial with this probability.
fn assert_fraction(what: &str, count: usize, draws: usize, probability: f64) {
    let expected = draws as f64 * probability;
    let deviation = (expected * (1.0 - probability)).sqrt();
    let off = (count as f64 - expected).abs();
    assert!(
        off <= 5.0 * deviation + 1e-9,
        "{what}: {count} of {draws}, expected {expected:.0} +- {deviation:.0}"
    );
}

/// Loads, runs and checks; also that retries change nothing but their number, and that the mix is kept.
fn run<W: Workload>(
    workload: impl Fn() -> W,
    clients: u32,
    transactions: usize,
) -> (W, Database, Tally) {
    let execute = |deadlock_every| {
        let workload = workload();
        let database = database::load(&workload);
        assert_eq!(database::check(&workload, &database), [], "after the load");
        database.inject_deadlocks(deadlock_every);
        let mut clients: Vec<_> = (0..clients).map(|number| workload.client(number)).collect();
        let tally = database::run(&workload, &database, &mut clients, transactions);
        database.inject_deadlocks(0);
        assert_eq!(database::check(&workload, &database), [], "after the run");
        (workload, database, tally)
    };
    let (workload, database, tally) = execute(0);
    // More than a transaction has statements, or it would never succeed.
    let (_, bumpy_database, bumpy) = execute(97);
    assert!(bumpy.retries > 0);
    assert_eq!(
        Tally {
            retries: 0,
            ..bumpy
        },
        tally
    );
    for table in 0..workload.schema().tables.len() {
        assert!(
            database.rows(TableId(table)) == bumpy_database.rows(TableId(table)),
            "table {table} differs"
        );
    }
    (workload, database, tally)
}

fn rows<W: Workload>(workload: &W, database: &Database, table: &str) -> Vec<Row> {
    database.rows(workload.schema().find(table))
}

/// Draws of the next transaction's type.
fn assert_mix<W: Workload>(workload: &W, tally: &Tally, transactions: usize) {
    for (kind, transaction) in workload.transactions().iter().enumerate() {
        assert_fraction(
            transaction.name,
            tally.committed[kind] as usize,
            transactions,
            transaction.fraction,
        );
    }
    let total: f64 = workload
        .transactions()
        .iter()
        .map(|kind| kind.fraction)
        .sum();
    assert!((total - 1.0).abs() < 1e-12);
}

fn set(row: &mut Row, column: usize, value: i64) -> bool {
    row.0[column] = Value::Int(value);
    true
}

/// The conditions violated after `damage`, without their workload.
fn violated<W: Workload>(workload: &W, damage: impl FnOnce(&Database)) -> BTreeSet<String> {
    let database = database::load(workload);
    damage(&database);
    let violations = database::check(workload, &database);
    violations
        .iter()
        .map(|v| v.condition.split_once(": ").unwrap().1.to_owned())
        .collect()
}
