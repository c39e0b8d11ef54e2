use std::collections::BTreeMap;

use evenkeel_analysis::profile::{Bin, Finding, Node, Profile};

use super::*;

/// 40,000 intervals: the mean in ns, the standard deviation, and how much of the variance `disk` has.
fn host(mean_ns: f64, sd_ns: f64, disk: f64) -> Profile {
    // Half of them below the mean and half above, with a few far out, as the fourth moment goes.
    let bin = |at: f64, count| Bin {
        from_ns: mean_ns + at * sd_ns - 0.5,
        to_ns: mean_ns + at * sd_ns + 0.5,
        count,
    };
    let finding = |name: &str, share| Finding {
        headline: name.to_owned(),
        function: name.to_owned(),
        share,
        se: 0.01,
        ..Finding::default()
    };
    let node = |name: &str, share| Node {
        name: name.to_owned(),
        share,
        se: 0.01,
        ..Node::default()
    };
    Profile {
        intervals: 40_000,
        mean_ns,
        sd_ns,
        variance_ns2: sd_ns * sd_ns,
        histogram: vec![
            bin(-1.5, 5_000),
            bin(-0.5, 15_000),
            bin(0.5, 15_000),
            bin(1.5, 5_000),
        ],
        percentiles_ns: BTreeMap::from([("p99".to_owned(), mean_ns + 2.0 * sd_ns)]),
        // A finding too small to be named is still in the tree.
        findings: (disk > 0.1)
            .then(|| finding("disk", disk))
            .into_iter()
            .collect(),
        tree: Node {
            name: "request".to_owned(),
            mean_ns,
            sd_ns,
            children: vec![node("disk", disk), node("cpu", 1.0 - disk)],
            ..Node::default()
        },
        ..Profile::default()
    }
}

fn groups(profiles: &[(&str, Profile)], canary: Option<&str>) -> Groups {
    let members: Vec<(Group, &Profile)> = profiles
        .iter()
        .map(|(name, profile)| {
            let group = Group {
                name: (*name).to_owned(),
                recordings: 2,
                intervals: profile.intervals,
                mean_ns: profile.mean_ns,
                sd_ns: profile.sd_ns,
                ..Group::default()
            };
            (group, profile)
        })
        .collect();
    Groups::new("host", &members, canary)
}

fn differing(groups: &Groups) -> Vec<&str> {
    let differing = groups.groups.iter().filter(|group| group.differs);
    differing.map(|group| group.name.as_str()).collect()
}

/// One of four hosts, `c`, has half again the standard deviation, all of it from `disk`, which the others' reports do
/// not even name. It alone differs: the healthy ones are compared with each other.
#[test]
fn one_bad_host() {
    let bad_disk = 1.0 - 0.95 / 2.25;
    let profiles = [
        ("a", host(1000.0, 200.0, 0.05)),
        ("b", host(1001.0, 200.2, 0.05)),
        ("c", host(1000.0, 300.0, bad_disk)),
        ("d", host(999.0, 199.8, 0.05)),
    ];
    let groups = groups(&profiles, None);
    assert_eq!(differing(&groups), ["c"], "{groups:#?}");
    let first = groups
        .differences
        .iter()
        .find(|one| matches!(one.what, What::Finding { .. }));
    let first = first.expect("a finding");
    // 0.578 x 2.25 - 0.05 of the others' variance.
    assert!(
        (first.change_fraction.unwrap() - 1.25).abs() < 0.01,
        "{first:?}"
    );
    assert!(groups.summary.contains("c is worse") && groups.summary.contains("disk"));
    assert_eq!(groups.comparisons, 4 * 3);
}

/// Two hundred equal hosts, each off by its error (a fixed sequence): about ten figures are beyond two standard errors, none counts.
#[test]
fn chance_is_no_difference() {
    let names: Vec<String> = (0..200).map(|n| format!("h{n}")).collect();
    let noise = |n: usize| ((n * 7919 % 200) as f64 / 100.0 - 1.0) * 2.5;
    let profiles: Vec<(&str, Profile)> = (0..200)
        .map(|n| (names[n].as_str(), host(1000.0 + noise(n), 200.0, 0.05)))
        .collect();
    let groups = groups(&profiles, None);
    let beyond = groups
        .differences
        .iter()
        .filter(|one| one.figures.significant);
    assert!(beyond.count() > 10);
    assert_eq!(differing(&groups), [""; 0]);
}

#[test]
fn the_canary_alone_is_judged() {
    let profiles = [
        ("old", host(1000.0, 200.0, 0.05)),
        ("new", host(1100.0, 200.0, 0.05)),
    ];
    let canary = groups(&profiles, Some("new"));
    assert_eq!(differing(&canary), ["new"]);
    assert!(canary.differences.iter().all(|one| one.group == "new"));
    assert!(
        canary
            .summary
            .contains("new is worse than the others: mean +10"),
        "{}",
        canary.summary
    );
    let same = groups(
        &[profiles[0].clone(), ("new", host(1000.0, 200.0, 0.05))],
        Some("new"),
    );
    assert!(same.summary.contains("cannot be told"));
}
