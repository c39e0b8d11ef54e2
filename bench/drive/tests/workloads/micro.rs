//! The lock microbenchmark on the embedded store.

use evenkeel_workloads::interface::Workload;
use evenkeel_workloads::micro::{self, Micro};

use crate::{assert_fraction, rows, run, set, violated};

#[test]
fn micro_runs_and_counts_updates() {
    let options = micro::Options {
        records: 100,
        ..micro::Options::default()
    };
    let (micro, database, tally) = run(|| Micro::new(options), 5, 2000);
    assert_eq!(tally.committed, [2000]);
    let sum: i64 = rows(&micro, &database, "record")
        .iter()
        .map(|row| row.int(1).unwrap())
        .sum();
    assert_fraction("updates", sum as usize, 2000 * 5, 0.6);
    let condition = "sum(r_value) = sum at the beginning + committed updates".to_owned();
    let table = micro.schema().find("record");
    let fresh = Micro::new(options);
    assert_eq!(
        violated(&fresh, |db| assert!(
            db.corrupt(table, |row| set(row, 1, 1))
        )),
        [condition].into()
    );
    assert_eq!(
        violated(&fresh, |db| assert!(db.lose(table, |_| true))),
        ["count(records) stays".to_owned()].into()
    );
}

#[test]
fn micro_follows_its_parameters() {
    let options = micro::Options {
        theta: 0.9,
        exclusive: 0.2,
        ..micro::Options::default()
    };
    let micro = Micro::new(options);
    let mut client = micro.client(0);
    let accesses: Vec<_> = (0..20_000).flat_map(|_| micro.next(&mut client)).collect();
    assert_eq!(accesses.len(), 100_000);
    let exclusive = accesses.iter().filter(|access| access.exclusive).count();
    assert_fraction("exclusive", exclusive, accesses.len(), 0.2);
    let zeta = evenkeel_workloads::random::zeta(20_000, 0.9);
    for record in [1i64, 2, 10] {
        let count = accesses
            .iter()
            .filter(|access| access.record == record)
            .count();
        assert_fraction(
            "popularity",
            count,
            accesses.len(),
            (record as f64).powf(-0.9) / zeta,
        );
    }
    let ordered = Micro::new(micro::Options {
        ordered: true,
        ..options
    });
    let mut client = ordered.client(0);
    for _ in 0..1000 {
        let accesses = ordered.next(&mut client);
        assert!(accesses.is_sorted_by_key(|access| (access.record, !access.exclusive)));
    }
}
