//! Epinions on the embedded store.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_workloads::epinions::{self, Epinions};
use evenkeel_workloads::interface::Workload;

use crate::{assert_fraction, assert_mix, rows, run, set, violated};

#[test]
fn epinions_runs() {
    let sizes = epinions::Sizes {
        users: 300,
        items: 150,
        reviews: 80,
        trusts: 40,
    };
    let (epinions, database, tally) = run(|| Epinions::new(sizes, 9), 2, 5000);
    assert_mix(&epinions, &tally, 5000);
    let reviews = rows(&epinions, &database, "review");
    let mut by_item: BTreeMap<i64, usize> = BTreeMap::new();
    for review in &reviews {
        *by_item.entry(review.int(2).unwrap()).or_default() += 1;
    }
    assert_eq!(by_item.len(), 150, "every item has a review");
    // Zipf's rank 0 has the share 1 / zeta(80, 1.8) = 0.54: that many items have a single review.
    let single = by_item.values().filter(|&&count| count == 1).count();
    assert_fraction(
        "items with one review",
        single,
        150,
        1.0 / evenkeel_workloads::random::zeta(80, 1.8),
    );
    let pairs: BTreeSet<_> = reviews
        .iter()
        .map(|row| (row.int(1), row.int(2)).clone())
        .map(|p| format!("{p:?}"))
        .collect();
    assert_eq!(pairs.len(), reviews.len(), "nobody reviews an item twice");
    assert_eq!(tally.missed[0], 0);
    assert_eq!(tally.missed[5] + tally.missed[6], 0);
    assert!(
        tally.missed[8] > tally.committed[8] / 2,
        "most pairs of users do not know each other"
    );
}

#[test]
fn epinions_checks_see_damage() {
    let epinions = Epinions::new(
        epinions::Sizes {
            users: 60,
            items: 30,
            reviews: 10,
            trusts: 10,
        },
        9,
    );
    let find = |name| epinions.schema().find(name);
    assert_eq!(violated(&epinions, |_| ()).len(), 0);
    let one = |text: &str| BTreeSet::from([text.to_owned()]);
    let rating = violated(&epinions, |db| {
        assert!(db.corrupt(find("review"), |row| set(row, 3, 5)))
    });
    assert_eq!(rating, one("ratings lie in 0 to 4"));
    let trust = violated(&epinions, |db| {
        assert!(db.corrupt(find("trust"), |row| set(row, 2, 2)))
    });
    assert_eq!(trust, one("trusts are 0 or 1"));
    let lost = violated(&epinions, |db| assert!(db.lose(find("trust"), |_| true)));
    assert_eq!(lost, one("count(review) and count(trust) stay"));
    let item = violated(&epinions, |db| assert!(db.lose(find("item"), |_| true)));
    assert_eq!(item, one("each review has its item"));
    let user = violated(&epinions, |db| {
        assert!(db.corrupt(find("review"), |row| set(row, 1, 1000)))
    });
    assert_eq!(user, one("each review has its user"));
}
