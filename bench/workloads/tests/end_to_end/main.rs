//! Every workload end to end on the reference target: data, inputs, transactions, checks.

mod epinions;
mod micro;
mod seats;
mod sysbench;
mod tatp;
mod tpcc;
mod ycsb;

use std::collections::BTreeSet;

use evenkeel_workloads::interface::{Row, TableId, Value, Workload};
use evenkeel_workloads::reference::{self, Reference, Tally};

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
) -> (W, Reference, Tally) {
    let execute = |deadlock_every| {
        let workload = workload();
        let database = reference::load(&workload).expect("the data fits the schema");
        assert_eq!(
            reference::check(&workload, &database).unwrap(),
            [],
            "after the load"
        );
        database.inject_deadlocks(deadlock_every);
        let mut clients: Vec<_> = (0..clients).map(|number| workload.client(number)).collect();
        let tally = reference::run(&workload, &database, &mut clients, transactions).unwrap();
        database.inject_deadlocks(None);
        assert_eq!(
            reference::check(&workload, &database).unwrap(),
            [],
            "after the run"
        );
        (workload, database, tally)
    };
    let (workload, database, tally) = execute(None);
    // More than a transaction has statements, or it would never succeed.
    let (_, bumpy_database, bumpy) = execute(Some(97));
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

fn rows<W: Workload>(workload: &W, database: &Reference, table: &str) -> Vec<Row> {
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
fn violated<W: Workload>(workload: &W, damage: impl FnOnce(&Reference)) -> BTreeSet<String> {
    let database = reference::load(workload).unwrap();
    damage(&database);
    let violations = reference::check(workload, &database).unwrap();
    violations
        .iter()
        .map(|v| v.condition.split_once(": ").unwrap().1.to_owned())
        .collect()
}
