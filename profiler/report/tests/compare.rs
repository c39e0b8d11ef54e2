//! Before and after.

mod fixture;

use evenkeel_analysis::profile::{Factor, Finding, Node, Profile};
use evenkeel_report::compare::{Comparison, Match};
use evenkeel_report::fit::columns;
use evenkeel_report::json;
use evenkeel_report::terminal::Style;

/// A profile with one call `f` below the root.
fn one_call(variance_ns2: f64, share: f64, se: f64) -> Profile {
    let call = Node {
        name: "f".into(),
        site: "root+0x5".into(),
        share,
        se,
        mean_ns: 7.0,
        sd_ns: 5.0,
        ..Node::default()
    };
    let tree = Node {
        name: "root".into(),
        share: 1.0,
        children: vec![call],
        ..Node::default()
    };
    let sd_ns = variance_ns2.sqrt();
    Profile {
        variance_ns2,
        sd_ns,
        mean_ns: 20.0,
        intervals: 100,
        tree,
        ..Profile::default()
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9 * b.abs().max(1.0)
}

#[test]
fn contributions_are_compared_in_absolute_terms() {
    // Before: 0.5 of 100 ns² is 50 ± 3; after: 0.25 of 64 is 16 ± 0.04 * 64 = 2.56.
    // Change -34 ± sqrt(9 + 6.5536) = 3.9438, which is beyond 2 se, and -0.34 of the variance before.
    let [before, after] = [one_call(100.0, 0.5, 0.03), one_call(64.0, 0.25, 0.04)];
    let comparison = Comparison::new(&before, &after);
    let f = comparison
        .nodes
        .iter()
        .find(|node| node.path == "root > f [root+0x5]")
        .unwrap();
    assert!(near(f.contribution_ns2.change, -34.0));
    assert!(near(f.contribution_ns2.se, 15.5536f64.sqrt()));
    assert!(f.contribution_ns2.significant);
    assert!(near(f.change_of_variance, -0.34));
    // Share: 0.25 less, ± sqrt(0.03² + 0.04²) = 0.05. Mean: unchanged, ± sqrt(2) * 5 / sqrt(100).
    assert!(near(f.share.se, 0.05) && f.share.significant);
    assert!(near(f.mean_ns.se, 0.5 * 2f64.sqrt()) && !f.mean_ns.significant);
    // The root lost 36, of which f carries 34: it only passes the change on.
    assert!(comparison.nodes[0].path == "root" && comparison.nodes[0].passes_on && !f.passes_on);
    assert_eq!(
        comparison.summary,
        "The standard deviation fell from 10 ns to 8 ns (-20.0 %). The largest part of it is f: \
         -34.0 % ±3.9 of the variance before."
    );
    assert!(near(
        comparison.latency[1].change_fraction.unwrap(),
        8.0 / 10.0 - 1.0
    ));
}

#[test]
fn a_profile_does_not_differ_from_itself() {
    let profile = fixture::before();
    let comparison = Comparison::new(&profile, &profile);
    assert!(comparison.warnings.is_empty());
    assert!(
        comparison
            .nodes
            .iter()
            .all(|node| node.matched == Match::Site)
    );
    assert!(
        comparison
            .nodes
            .iter()
            .all(|node| node.contribution_ns2.change == 0.0 && !node.contribution_ns2.significant)
    );
    assert!(
        comparison
            .factors
            .iter()
            .all(|factor| factor.in_before && factor.in_after)
    );
    assert!(
        comparison
            .terminal(&Style::default())
            .contains("nothing by more than")
    );
}

#[test]
fn a_rebuilt_binary_is_matched_by_names() {
    let [before, after] = [fixture::before(), fixture::after()];
    let comparison = Comparison::new(&before, &after);
    let matched = |name: &str| {
        comparison
            .nodes
            .iter()
            .find(|node| node.names.last().unwrap() == name)
            .unwrap()
            .matched
    };
    assert_eq!(matched("LWLockAcquireOrWait"), Match::Name);
    assert_eq!(matched("pg_usleep"), Match::AfterOnly);
    assert_eq!(matched("WaitXLogInsertionsToFinish"), Match::BeforeOnly);
    assert_eq!(matched("exec_simple_query"), Match::Site);
}

#[test]
fn different_work_is_warned_of() {
    let before = fixture::before();
    let after = Profile {
        interval: "transaction".into(),
        target: "mariadbd".into(),
        ..before.clone()
    };
    let comparison = Comparison::new(&before, &after);
    assert_eq!(comparison.warnings.len(), 2);
    assert!(comparison.warnings[0].contains("statement before, transaction after"));
    assert!(
        comparison
            .terminal(&Style::default())
            .contains("The commands differ")
    );
}

#[test]
fn factors_come_and_go() {
    let factor = |name: &str, contribution| Factor {
        functions: vec![name.into()],
        contribution,
        ..Factor::default()
    };
    let before = Profile {
        factors: vec![factor("f", 0.5), factor("g", 0.1)],
        ..one_call(100.0, 0.5, 0.0)
    };
    // The calls of f that g makes are another factor than f.
    let of_caller = Factor {
        caller: Some("g".into()),
        ..factor("f", 0.08)
    };
    let after = Profile {
        factors: vec![factor("f", 0.5), factor("h", 0.2), of_caller],
        ..one_call(50.0, 0.5, 0.0)
    };
    let comparison = Comparison::new(&before, &after);
    let rows: Vec<_> = comparison
        .factors
        .iter()
        .map(|f| {
            (
                f.functions[0].as_str(),
                f.in_before,
                f.in_after,
                f.contribution_ns2.change,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("f", true, true, -25.0),
            ("g", true, false, -10.0),
            ("h", false, true, 10.0),
            ("f", false, true, 4.0)
        ]
    );
    // Of f: 0.5 * 100 ns² before, 0.5 * 50 ns² after.
    assert!(
        comparison.summary.ends_with(
            "The first factor before, f, went from 50.0 % to 25.0 % of the variance before."
        ),
        "{}",
        comparison.summary
    );
    let text = comparison.terminal(&Style::default());
    assert!(text.contains("g > f\n"), "{text}");
}

#[test]
fn the_terminal_as_it_is() {
    let [before, after] = [fixture::before(), fixture::after()];
    let text = Comparison::new(&before, &after).terminal(&Style {
        rows: 6,
        ..Style::default()
    });
    assert_eq!(text, include_str!("snapshots/tpcb-compare.txt"));
}

#[test]
fn every_line_fits() {
    let [mut before, after] = [fixture::before(), fixture::after()];
    fixture::rename(&mut before, &|name| {
        format!("std::vector<int, std::allocator<int> >::{name}\u{1b}[2J")
    });
    for width in [0, 80, 89, 90, 100, 150] {
        let text = Comparison::new(&before, &after).terminal(&Style {
            width,
            rows: 50,
            ..Style::default()
        });
        assert!(text.lines().all(|line| columns(line) <= width.max(80)));
        assert!(!text.contains('\u{1b}'));
    }
}

#[test]
fn as_json() {
    let [before, after] = [fixture::before(), fixture::after()];
    let value: serde_json::Value =
        serde_json::from_str(&json::render(&Comparison::new(&before, &after))).unwrap();
    assert_eq!(value["latency"][0]["name"], "mean");
    assert_eq!(value["nodes"][0]["matched"], "site");
    assert!(value["nodes"][0]["contribution_ns2"]["significant"].is_boolean());
    assert!(
        value.get("before").is_none(),
        "the profiles themselves are not repeated"
    );
}

/// 60 % of a variance of 100 falls to 30 % of one of 50: 15 % of the variance before. What only one side has stands against nought.
#[test]
fn findings_before_and_after() {
    let profile = |variance_ns2: f64, findings: &[(&str, f64)]| Profile {
        variance_ns2,
        findings: findings
            .iter()
            .map(|&(function, share)| Finding {
                headline: format!("{function} called by g"),
                function: function.into(),
                called_by: Some("g".into()),
                share,
                se: 0.01,
                ..Finding::default()
            })
            .collect(),
        ..Profile::default()
    };
    let (before, after) = (
        profile(100.0, &[("wait", 0.6), ("gone", 0.2)]),
        profile(50.0, &[("wait", 0.3)]),
    );
    let comparison = Comparison::new(&before, &after);
    let found: Vec<_> = comparison
        .findings
        .iter()
        .map(|f| {
            (
                f.function.as_str(),
                f.before_fraction,
                f.after_fraction,
                f.in_after,
            )
        })
        .collect();
    assert_eq!(
        found,
        [("wait", 0.6, 0.15, true), ("gone", 0.2, 0.0, false)]
    );
    let text = comparison.terminal(&Style::default());
    assert!(
        text.contains("    60.0 %     15.0 %    -45.0 % ±1.1    wait called by g"),
        "{text}"
    );
    assert!(text.contains("    20.0 %  not found    -20.0 %"), "{text}");
    assert!(comparison.html().contains("wait called by g"));
}
