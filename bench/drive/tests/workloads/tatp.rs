//! TATP on the embedded store.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_workloads::interface::{Row, Workload};
use evenkeel_workloads::tatp::{self, ALREADY_FORWARDED, START_TIMES, Tatp};

use crate::{assert_fraction, database, rows, run, set, violated};

#[test]
fn tatp_runs_and_its_shares_of_success_follow_from_its_data() {
    let draws = 60_000;
    let (tatp, _, tally) = run(|| Tatp::new(500, 3), 3, draws);
    let succeeded = |kind: usize| (tally.committed[kind] - tally.missed[kind]) as usize;
    // Rolled-back inserts belong to the sixth type.
    let drawn = |kind: usize| {
        let rolled_back = if kind == 5 {
            tally.rolled_back[ALREADY_FORWARDED]
        } else {
            0
        };
        (tally.committed[kind] + rolled_back) as usize
    };
    for (kind, transaction) in tatp.transactions().iter().enumerate() {
        assert_fraction(transaction.name, drawn(kind), draws, transaction.fraction);
    }
    assert_eq!(tally.missed[0], 0, "every subscriber exists");
    assert_eq!(tally.missed[4], 0, "every location is updated");
    // 500 subscribers, unequally drawn, are a sample of the law, and few draws repeat: wide bounds around
    // 62.5 %.
    let share = |kind: usize| succeeded(kind) as f64 / drawn(kind) as f64;
    assert!(
        (share(2) - 0.625).abs() < 0.05,
        "get_access_data {}",
        share(2)
    );
    assert!(
        (share(3) - 0.625).abs() < 0.08,
        "update_subscriber_data {}",
        share(3)
    );
    assert!(
        (share(1) - destination_law()).abs() < 0.05,
        "get_new_destination {}",
        share(1)
    );
    assert!(
        (share(5) - 0.3125).abs() < 0.08,
        "insert_call_forwarding {}",
        share(5)
    );
    assert!(
        (share(6) - 0.3125).abs() < 0.08,
        "delete_call_forwarding {}",
        share(6)
    );
}

/// The share of GetNewDestination that finds a number: an active facility (2.5/4 * 0.85) with a forwarding that
/// begins no later than s and ends after e. A forwarding that begins at 0, 8 or 16 ends 1 to 8 hours later. Its end
/// is after e, uniform in 1 to 24, in 28, 92 and 156 of 192 cases. A later forwarding decides if it exists, as it
/// ends after all earlier ones. There are 0 to 3 forwardings with equal probability. A given one exists with 1/2;
/// without a given other one with 1/2 - (1/3 + 1) / 4 = 1/6; alone with (1/3) / 4 = 1/12.
fn destination_law() -> f64 {
    let [after_0, after_8, after_16] = [28.0, 92.0, 156.0].map(|cases| cases / 192.0);
    let by_start = [
        after_0 / 2.0,
        after_8 / 2.0 + after_0 / 6.0,
        after_16 / 2.0 + after_8 / 6.0 + after_0 / 12.0,
    ];
    0.625 * 0.85 * by_start.iter().sum::<f64>() / 3.0
}

#[test]
fn tatp_finds_destinations_as_often_as_its_definition_says() {
    assert!((destination_law() - 0.1479).abs() < 0.0001);
    let tatp = Tatp::new(4000, 3);
    let database = database::load(&tatp);
    let mut active = BTreeSet::new();
    for facility in rows(&tatp, &database, "special_facility") {
        if facility.int(2) == Ok(1) {
            active.insert((facility.int(0).unwrap(), facility.int(1).unwrap()));
        }
    }
    // Each request (facility, s, e) that finds one, whatever the number of facilities.
    let mut found = BTreeSet::new();
    for forwarding in rows(&tatp, &database, "call_forwarding") {
        let [s_id, sf_type, start, end] = [0, 1, 2, 3].map(|at| forwarding.int(at).unwrap());
        for s in START_TIMES
            .into_iter()
            .filter(|s| active.contains(&(s_id, sf_type)) && start <= *s)
        {
            found.extend((1..=24).filter(|e| *e < end).map(|e| (s_id, sf_type, s, e)));
        }
    }
    let share = found.len() as f64 / (4000 * 4 * 3 * 24) as f64;
    assert!((share - destination_law()).abs() < 0.01, "{share}");
}

#[test]
fn tatp_subscribers_differ() {
    let tatp = Tatp::new(4000, 3);
    let database = database::load(&tatp);
    let mut access: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    for row in rows(&tatp, &database, "access_info") {
        access
            .entry(row.int(0).unwrap())
            .or_default()
            .insert(row.int(1).unwrap());
    }
    // All 15 sets of types occur, sizes alike.
    assert_eq!(access.values().collect::<BTreeSet<_>>().len(), 15);
    for size in 1..=4 {
        assert_fraction(
            "access types",
            access.values().filter(|types| types.len() == size).count(),
            4000,
            0.25,
        );
    }
    let facilities = rows(&tatp, &database, "special_facility");
    let active = facilities.iter().filter(|row| row.int(2) == Ok(1)).count();
    assert_fraction("active facilities", active, facilities.len(), 0.85);
    let forwardings = rows(&tatp, &database, "call_forwarding");
    for start in START_TIMES {
        // Each facility has each start time with probability 1/2.
        let with = forwardings
            .iter()
            .filter(|row| row.int(2) == Ok(start))
            .count();
        assert_fraction("forwardings", with, facilities.len(), 0.5);
    }
    for row in forwardings {
        let length = row.int(3).unwrap() - row.int(2).unwrap();
        assert!((1..=8).contains(&length));
    }
    for row in rows(&tatp, &database, "subscriber") {
        assert_eq!(row.text(1), Ok(tatp::number(row.int(0).unwrap()).as_str()));
    }
}

/// The bitwise or of a 16-bit draw and one below the population. With 100 000 subscribers, each of the 16 low bits of
/// s_id - 1 before the modulo is set with probability of about 3/4. So subscribers are drawn very unequally.
#[test]
fn tatp_subscribers_are_drawn_unequally() {
    let mut random = evenkeel_workloads::random::Random::new(1, &[]);
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for _ in 0..200_000 {
        *counts
            .entry(tatp::random_subscriber(&mut random, 100_000))
            .or_default() += 1;
    }
    assert!(
        *counts.first_key_value().unwrap().0 >= 1 && *counts.last_key_value().unwrap().0 <= 100_000
    );
    let most = counts.values().max().unwrap();
    // Uniform draws give 2 in the mean, and hardly ever more than 15.
    assert!(*most > 100, "{most}");
}

#[test]
fn tatp_checks_see_damage() {
    let tatp = Tatp::new(50, 1);
    let find = |name| tatp.schema().find(name);
    assert_eq!(violated(&tatp, |_| ()).len(), 0);
    let lost = violated(&tatp, |db| {
        assert!(db.lose(find("call_forwarding"), |_| true))
    });
    // The count at the beginning is taken before the damage.
    assert_eq!(lost.len(), 1);
    let orphan = violated(&tatp, |db| {
        let forwarding = rows(&tatp, db, "call_forwarding")[0].clone();
        let of = |row: &Row| row.int(0) == forwarding.int(0) && row.int(1) == forwarding.int(1);
        assert!(db.lose(find("special_facility"), of));
    });
    assert!(
        orphan.contains("each call forwarding belongs to a special facility"),
        "{orphan:?}"
    );
    let late = violated(&tatp, |db| {
        assert!(db.corrupt(find("call_forwarding"), |row| set(row, 3, 25)))
    });
    assert_eq!(
        late,
        ["call forwardings lie in hours 0 to 24".to_owned()].into()
    );
    assert!(!violated(&tatp, |db| assert!(db.lose(find("subscriber"), |_| true))).is_empty());
}
