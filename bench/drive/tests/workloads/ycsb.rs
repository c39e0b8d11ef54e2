//! YCSB's core workloads on the embedded store.

use evenkeel_workloads::interface::{Row, Workload};
use evenkeel_workloads::ycsb::{self, Core, Ycsb};

use crate::{assert_fraction, assert_mix, database, rows, run, violated};

#[test]
fn ycsb_runs_all_core_workloads() {
    let options = ycsb::Options {
        records: 300,
        theta: 0.99,
        seed: 4,
    };
    for core in [Core::A, Core::B, Core::C, Core::D, Core::E, Core::F] {
        let (ycsb, database, tally) = run(|| Ycsb::new(core, options), 3, 3000);
        assert_mix(&ycsb, &tally, 3000);
        assert_eq!(tally.missed.iter().sum::<u64>(), 0, "{}", ycsb.name());
        let inserts = ycsb
            .transactions()
            .iter()
            .position(|kind| kind.name == "insert");
        let inserted = inserts.map_or(0, |kind| tally.committed[kind] as usize);
        assert_eq!(rows(&ycsb, &database, "usertable").len(), 300 + inserted);
    }
}

#[test]
fn ycsb_popularity_is_zipf_s_and_scattered() {
    let ycsb = Ycsb::new(
        Core::C,
        ycsb::Options {
            records: 1000,
            theta: 0.99,
            seed: 4,
        },
    );
    let mut client = ycsb.client(0);
    let mut counts = vec![0usize; 1000];
    let draws = 100_000;
    for _ in 0..draws {
        let ycsb::Request::Read(number) = ycsb.next(&mut client) else {
            panic!("C only reads")
        };
        counts[number as usize] += 1;
    }
    // Rank 0 of ten thousand million has 1 / 26.469 of the draws, plus what else hashes there: a thousandth
    // of the rest or so.
    let hot = evenkeel_workloads::random::scramble(0) % 1000;
    let share = counts[hot as usize] as f64 / draws as f64;
    assert!((0.0378..0.05).contains(&share), "{share}");
    assert!(
        counts.iter().all(|&count| count > 0),
        "the tail reaches every record"
    );
    assert_ne!(hot, evenkeel_workloads::random::scramble(1) % 1000 + 1);
}

#[test]
fn ycsb_d_reads_the_latest() {
    let ycsb = Ycsb::new(
        Core::D,
        ycsb::Options {
            records: 1000,
            theta: 0.99,
            seed: 4,
        },
    );
    database::load(&ycsb);
    let mut client = ycsb.client(0);
    let mut reads = Vec::new();
    while reads.len() < 20_000 {
        match ycsb.next(&mut client) {
            ycsb::Request::Read(number) => reads.push(number),
            // Never acknowledged: so 999 stays the latest.
            _ => assert!(reads.iter().all(|&number| number <= 999)),
        }
    }
    // 1 / zeta(1000, 0.99) = 0.129.
    let latest = reads.iter().filter(|&&number| number == 999).count();
    let probability = 1.0 / evenkeel_workloads::random::zeta(1000, 0.99);
    assert_fraction("reads of the latest", latest, reads.len(), probability);
}

#[test]
fn ycsb_checks_see_damage() {
    let ycsb = Ycsb::new(
        Core::A,
        ycsb::Options {
            records: 100,
            theta: 0.5,
            seed: 4,
        },
    );
    let table = ycsb.schema().find("usertable");
    assert_eq!(violated(&ycsb, |_| ()).len(), 0);
    let lost = violated(&ycsb, |db| assert!(db.lose(table, |_| true)));
    assert_eq!(
        lost,
        ["count(records) = records at the beginning + committed inserts".to_owned()].into()
    );
    let cut = |row: &mut Row| {
        row.0[3] = "short".into();
        true
    };
    let damaged = violated(&ycsb, |db| assert!(db.corrupt(table, cut)));
    assert_eq!(
        damaged,
        ["every field has 100 characters".to_owned()].into()
    );
}

#[test]
fn a_record_that_is_there_already_is_passed_over() {
    // Loaded with 110 records, run as if there were a hundred: ten inserts meet what is there.
    let options = ycsb::Options {
        records: 110,
        theta: 0.5,
        seed: 4,
    };
    let database = database::load(&Ycsb::new(Core::D, options));
    let ycsb = Ycsb::new(
        Core::D,
        ycsb::Options {
            records: 100,
            ..options
        },
    );
    let mut clients = vec![ycsb.client(0)];
    let tally = database::run(&ycsb, &database, &mut clients, 1000);
    assert_eq!(tally.rolled_back["key_exists"], 10);
}
