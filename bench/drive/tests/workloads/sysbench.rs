//! sysbench's `oltp_read_write` on the embedded store.

use evenkeel_workloads::interface::{Value, Workload};
use evenkeel_workloads::sysbench::{Options, Sysbench};

use crate::{database, rows, run, set, violated};

fn small() -> Options {
    Options {
        records: 300,
        ..Options::default()
    }
}

#[test]
fn rows_stay_and_are_replaced() {
    let (sysbench, database, tally) = run(|| Sysbench::new(small()), 5, 1000);
    assert_eq!(tally.committed, [1000]);
    let ran = rows(&sysbench, &database, "sbtest1");
    assert_eq!(ran.len(), 300);
    let fresh = database::load(&sysbench);
    let loaded = rows(&sysbench, &fresh, "sbtest1");
    // The three popular rows are drawn 250 times each by every write, and the others a few times or never.
    let changed = |column: usize, id: usize| ran[id - 1].0[column] != loaded[id - 1].0[column];
    for id in 149..=151 {
        assert_eq!(ran[id - 1].0[0], Value::Int(id as i64));
        assert!(changed(1, id) && changed(2, id) && changed(3, id), "{id}");
    }
    assert!((1..=300).any(|id| !changed(3, id)));
}

#[test]
fn lost_updates_and_rows_are_seen() {
    let options = Options {
        replaced: 0,
        ..small()
    };
    let (sysbench, database, _) = run(|| Sysbench::new(options), 5, 1000);
    let sum = |rows: Vec<evenkeel_workloads::interface::Row>| -> i64 {
        rows.iter().map(|row| row.int(1).unwrap()).sum()
    };
    let fresh = database::load(&sysbench);
    let before = sum(rows(&sysbench, &fresh, "sbtest1"));
    assert_eq!(sum(rows(&sysbench, &database, "sbtest1")), before + 1000);

    let table = sysbench.schema().find("sbtest1");
    let fresh = Sysbench::new(options);
    let condition =
        "sum(k) = sum at the beginning + committed index updates, where no row is replaced";
    assert_eq!(
        violated(&fresh, |db| assert!(
            db.corrupt(table, |row| set(row, 1, 100_000))
        )),
        [condition.to_owned()].into()
    );
    assert_eq!(
        violated(&Sysbench::new(small()), |db| assert!(
            db.lose(table, |_| true)
        )),
        ["count(rows) stays".to_owned()].into()
    );
    let no_text = |row: &mut evenkeel_workloads::interface::Row| {
        row.0[2] = Value::Text("0123".to_owned());
        true
    };
    assert_eq!(
        violated(&fresh, |db| assert!(db.corrupt(table, no_text))),
        ["c is ten groups of digits".to_owned()].into()
    );
}

#[test]
fn read_only_and_write_only_are_had() {
    let reads = Options {
        index_updates: 0,
        other_updates: 0,
        replaced: 0,
        ..small()
    };
    let sysbench = Sysbench::new(reads);
    assert!(sysbench.transactions()[0].read_only);
    assert_eq!(reads.statements(), 14);
    let writes = Options {
        point_selects: 0,
        ranges: 0,
        ..small()
    };
    assert!(!Sysbench::new(writes).transactions()[0].read_only);
    assert_eq!(writes.statements(), 4);
    let (_, _, tally) = run(|| Sysbench::new(writes), 3, 300);
    assert_eq!(tally.committed, [300]);
}
