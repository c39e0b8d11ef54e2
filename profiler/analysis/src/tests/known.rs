//! Known variances and covariances are recovered.

use evenkeel_wire::record::{Marker, Record};

use super::trace::*;
use crate::ProbeCost;
use crate::findings::warnings::Warning;
use crate::profile::{Factor, FactorKind, Profile};
use crate::sites::Kind;

const A: u32 = 0;
const B: u32 = 1;

fn factor<'a>(profile: &'a Profile, functions: &[&str]) -> &'a Factor {
    let found = profile
        .factors
        .iter()
        .find(|factor| factor.functions == functions);
    found.unwrap_or_else(|| panic!("no factor {functions:?} among {:?}", profile.factors))
}

/// a is 10 or 30, b is 100 or 104, all four combinations once, 5 ticks around them: independent by construction.
/// Sums of squares over 4 intervals: a 4 * 10^2 = 400, b 4 * 2^2 = 16, L 416. Shares 400/416 and 16/416, body 0.
#[test]
fn independent_stages() {
    let interval = |a, b| vec![work(2), leaf(A, a), work(2), leaf(B, b), work(1)];
    let analysis = analysed(&[
        interval(10, 100),
        interval(30, 104),
        interval(10, 104),
        interval(30, 100),
    ]);
    let profile = analysis.profile(
        &sites(&[("a", "root+0x1", 2), ("b", "root+0x2", 3)]),
        &options(),
    );

    near(profile.mean_ns, 20.0 + 102.0 + 5.0);
    near(profile.variance_ns2, 416.0 / 3.0);
    near(profile.tree.share, 1.0);
    let (a, b) = (child(&profile.tree, "a"), child(&profile.tree, "b"));
    near(a.share, 400.0 / 416.0);
    near(b.share, 16.0 / 416.0);
    near(a.variance_fraction, 400.0 / 416.0);
    near(a.sd_ns, (400.0f64 / 3.0).sqrt());
    let body = child(&profile.tree, "body of root");
    assert_eq!(
        (body.share, body.mean_ns, body.kind),
        (0.0, 5.0, Kind::Body)
    );
    assert!(
        profile.tree.covariances.is_empty(),
        "all covariances are zero"
    );
    // Heights 2 and 3 under 5: scores 3^2 * 400/416 and 2^2 * 16/416.
    near(factor(&profile, &["a"]).score, 9.0 * 400.0 / 416.0);
    near(factor(&profile, &["b"]).score, 4.0 * 16.0 / 416.0);
    assert_eq!(profile.factors[0].functions, ["a"]);
    assert!(
        profile
            .factors
            .iter()
            .all(|factor| factor.functions != ["root"]),
        "specificity 0"
    );
    assert_eq!(
        (
            profile.closure.max_abs_error_ticks,
            profile.closure.intervals
        ),
        (0, 4)
    );
}

/// One size n in 1..=4 determines a = 10 n and b = 30 n. The sum of squares of n is 5, so Var(L) is 40^2 * 5. Fractions
/// of it: Var a 100/1600, Var b 900/1600, 2 Cov 600/1600. Shares: 10 * 40 / 1600 = 1/4 and 3/4.
#[test]
fn two_stages_driven_by_one_size() {
    let intervals: Vec<_> = (1..=4)
        .map(|n| vec![leaf(A, 10 * n), leaf(B, 30 * n)])
        .collect();
    let profile = analysed(&intervals).profile(
        &sites(&[("a", "root+0x1", 0), ("b", "root+0x2", 0)]),
        &options(),
    );

    near(child(&profile.tree, "a").share, 0.25);
    near(child(&profile.tree, "b").share, 0.75);
    let both = factor(&profile, &["a", "b"]);
    assert_eq!(both.kind, FactorKind::Covariance);
    near(both.contribution, 600.0 / 1600.0);
    assert_eq!(both.paths, ["root > {a [root+0x1], b [root+0x2]}"]);
    let covariance = profile.tree.covariances[0];
    let names = [covariance.a, covariance.b].map(|at| profile.tree.children[at].name.as_str());
    assert!(names.contains(&"a") && names.contains(&"b"));
    near(covariance.contribution, 600.0 / 1600.0);
    near(
        profile
            .tree
            .covariances
            .iter()
            .map(|pair| pair.contribution)
            .sum::<f64>(),
        600.0 / 1600.0,
    );
}

/// b grows as a shrinks: a + b is always 100. c = 1 or 3 varies alone. The covariance is negative and stays negative.
/// Over all four combinations of a and c, the squares about the means are 400, 400 and 4, and 4 for L. Contributions:
/// 100, 100, 2 * -100.
#[test]
fn negative_covariance_keeps_its_sign() {
    let interval = |a, c| vec![leaf(A, a), leaf(B, 100 - a), leaf(2, c)];
    let profile = analysed(&[
        interval(10, 1),
        interval(30, 1),
        interval(10, 3),
        interval(30, 3),
    ])
    .profile(
        &sites(&[("a", "r+1", 0), ("b", "r+2", 0), ("c", "r+3", 0)]),
        &options(),
    );
    near(profile.tree.covariances[0].contribution, -200.0);
    near(child(&profile.tree, "a").variance_fraction, 100.0);
    near(child(&profile.tree, "a").share, 0.0);
    near(child(&profile.tree, "c").share, 1.0);
}

/// a is 2,000 less or more 1,000. b and c are both 100 less or more `by`, independently of a. So 2 Cov(b, c) is 2 by^2 of
/// nearly 10^6. Less than one in 10,000 is not listed.
#[test]
fn tiny_covariances_are_not_listed() {
    let listed = |by: u64| {
        let interval = |a, b| vec![leaf(A, a), leaf(B, b), leaf(2, b)];
        let (less, more) = (100 - by, 100 + by);
        let traces = [(1000, less), (3000, more), (1000, more), (3000, less)];
        let table = sites(&[("a", "r+1", 0), ("b", "r+2", 0), ("c", "r+3", 0)]);
        let analysis = analysed(&traces.map(|(a, b)| interval(a, b)));
        analysis.profile(&table, &options()).tree.covariances.len()
    };
    assert_eq!((listed(10), listed(4)), (1, 0));
}

/// wait is called from f (always 10) and from g (2 or 42). Two nodes; all variance is at the second, the factor sums
/// both.
#[test]
fn one_function_from_two_sites() {
    let (f, g, wait_in_f, wait_in_g) = (0, 1, 2, 3);
    let interval = |slow| {
        vec![
            call(f, [work(5), leaf(wait_in_f, 10)]),
            call(g, [leaf(wait_in_g, slow), work(1)]),
        ]
    };
    let table = sites(&[
        ("f", "root+0x1", 1),
        ("g", "root+0x2", 1),
        ("wait", "f+0x10", 0),
        ("wait", "g+0x20", 0),
    ]);
    let profile = analysed(&[interval(2), interval(42)]).profile(&table, &options());

    near(child(child(&profile.tree, "f"), "wait").share, 0.0);
    near(child(child(&profile.tree, "g"), "g+0x20").share, 1.0);
    let wait = factor(&profile, &["wait"]);
    near(wait.contribution, 1.0);
    near(wait.score, 25.0);
    assert_eq!(
        wait.paths,
        [
            "root > g [root+0x2] > wait [g+0x20]",
            "root > f [root+0x1] > wait [f+0x10]"
        ]
    );
}

/// f calls itself once, 5 ticks around 10 or 30. The variance of the outer f is all of Var(L), and is counted once. The
/// bodies are separate: the outer one is constant, and the inner call is a leaf.
#[test]
fn recursion_counts_the_outermost() {
    let interval = |inner| vec![call(A, [work(5), leaf(B, inner)])];
    let profile = analysed(&[interval(10), interval(30)]).profile(
        &sites(&[("f", "root+0x1", 2), ("f", "f+0x8", 2)]),
        &options(),
    );
    let f = factor(&profile, &["f"]);
    near(f.contribution, 1.0);
    assert_eq!(f.paths, ["root > f [root+0x1]"]);
    let outer = child(&profile.tree, "f");
    near(child(outer, "f").share, 1.0);
    near(child(outer, "body of f").share, 0.0);
}

/// a is uniform over 0..100, b over 0..50, drawn independently: share of a 100^2 / (100^2 + 50^2) = 0.8. The delta
/// method gives the error for n = 2000. The variances' relative error sqrt(0.8 / n) = 0.02 contributes 0.8 * 0.2 *
/// sqrt(2) * 0.02 = 0.0045. The chance covariance contributes 0.6 * (2/5) / sqrt(n) = 0.0054, so the error is 0.0070.
/// The jackknife must find it from the sums alone.
#[test]
fn errors_are_of_the_right_size() {
    let mut state = 1u64;
    let mut uniform = |limit: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        1 + (state >> 33) % limit
    };
    let intervals: Vec<_> = (0..2000)
        .map(|_| vec![leaf(A, uniform(100)), leaf(B, uniform(50))])
        .collect();
    let table = sites(&[("a", "root+0x1", 0), ("b", "root+0x2", 0)]);
    let profile = analysed(&intervals).profile(&table, &options());
    let a = child(&profile.tree, "a");
    assert!((0.0045..0.0105).contains(&a.se), "{}", a.se);
    assert!(
        (a.share - 0.8).abs() < 3.0 * a.se,
        "{} +- {}",
        a.share,
        a.se
    );
    let a = factor(&profile, &["a"]);
    assert!(
        a.se > 0.0 && (a.contribution - 0.8).abs() < 3.0 * a.se,
        "{} +- {}",
        a.contribution,
        a.se
    );
    assert!(profile.warnings.is_empty(), "{:?}", profile.warnings);
}

/// N calls of 10 ticks each, N = 1, 2, 3: all of Var(X) comes from N. One call of 10, 20, 30: none of it can.
#[test]
fn calls_against_duration() {
    let more = |n: usize| vec![leaf(A, 10); n];
    let longer = |n: usize| vec![leaf(A, 10 * n as u64)];
    let table = sites(&[("a", "root+0x1", 0)]);
    let profile = analysed(&[more(1), more(2), more(3)]).profile(&table, &options());
    let a = child(&profile.tree, "a");
    near(a.calls_explained.unwrap(), 1.0);
    near(a.calls_mean, 2.0);
    let profile = analysed(&[longer(1), longer(2), longer(3)]).profile(&table, &options());
    assert_eq!(child(&profile.tree, "a").calls_explained, None);
}

/// Intervals of one call with 10 and 30 ticks, and of three calls with 30 and 50 ticks in all. So N is 1, 1, 3, 3, and
/// X is 10, 30, 30, 50. The sum of products about the means is 40, the sums of squares are 4 and 800. The squared
/// correlation is 40^2 / 3200, a half.
#[test]
fn calls_and_duration_share_the_variance() {
    let calls = |ticks: &[u64]| {
        ticks
            .iter()
            .map(|&ticks| leaf(A, ticks))
            .collect::<Vec<_>>()
    };
    let intervals = [
        calls(&[10]),
        calls(&[30]),
        calls(&[10, 10, 10]),
        calls(&[20, 15, 15]),
    ];
    let table = sites(&[("a", "root+0x1", 0)]);
    let profile = analysed(&intervals).profile(&table, &options());
    near(child(&profile.tree, "a").calls_explained.unwrap(), 0.5);
}

/// In 99 intervals of 100 ticks, a takes 60; in one of 300, it takes 80. The slowest 1 % exceed the mean by (300 - 102)
/// = 198, and in a by 80 - 60.2 = 19.8: a tenth. The body has the rest.
#[test]
fn tail_shares() {
    let mut intervals = vec![vec![leaf(A, 60), work(40)]; 99];
    intervals.push(vec![leaf(A, 80), work(220)]);
    let profile = analysed(&intervals).profile(&sites(&[("a", "root+0x1", 0)]), &options());
    let tail = |name: &str| child(&profile.tree, name).tail_share["p999"];
    near(profile.tree.tail_share["p999"], 1.0);
    near(tail("a"), 0.1);
    near(tail("body of root"), 0.9);
    near(profile.percentiles_ns["max"], 300.0);
}

/// Class x: 10, 20; class y: 110, 120. Total mean 65; between: 4 * 50^2 = 10000; within: 4 * 5^2 = 100.
#[test]
fn classes_between_and_within() {
    let mut analysis = started(ProbeCost::default());
    let label = |text: &str| [Record::from_label_chunk(text.as_bytes())];
    for (at, (text, ticks)) in [
        ("SELECT 1", 10),
        ("select 2", 20),
        ("END", 110),
        ("end;", 120),
    ]
    .into_iter()
    .enumerate()
    {
        analysis.push(
            9,
            &labelled(1 + 1000 * at as u64, &label(text), &[leaf(A, ticks)]),
        );
    }
    let profile = analysis.profile(&sites(&[("a", "root+0x1", 0)]), &options());
    let classes = &profile.classes;
    near(classes.between_fraction, 10_000.0 / 10_100.0);
    near(classes.within_fraction, 100.0 / 10_100.0);
    assert_eq!(
        classes
            .classes
            .iter()
            .map(|class| &*class.name)
            .collect::<Vec<_>>(),
        ["end", "select ?"]
    );
    let end = &classes.classes[0];
    assert_eq!((end.intervals, end.mean_ns), (2, 115.0));
    near(end.sd_ns, 50.0f64.sqrt());
    near(end.within_fraction, 50.0 / 10_100.0);
    assert_eq!(
        (end.top[0].path.as_str(), end.top[0].mean_ns),
        ("root > a [root+0x1]", 115.0)
    );
    near(end.top[0].share, 1.0);
}

/// Outer cost 2 ticks, inner 3: one call of a with a call of b in it, 100 ticks in all. Probes: 2 * (2 + 3) = 10. The
/// root's own 20 pays a's outer 2, a's own 50 pays its inner 3 and b's outer 2, b's 30 its inner 3.
#[test]
fn probe_cost_moves_and_still_closes() {
    let mut analysis = started(ProbeCost {
        outer_256: 512,
        inner_256: 768,
    });
    analysis.push(
        1,
        &interval(1000, &[work(20), call(A, [work(50), leaf(B, 30)])]),
    );
    let profile = analysis.profile(
        &sites(&[("a", "root+0x1", 1), ("b", "a+0x2", 0)]),
        &options(),
    );
    let a = child(&profile.tree, "a");
    assert_eq!(profile.tree.mean_ns, 100.0);
    assert_eq!(child(&profile.tree, "body of root").mean_ns, 18.0);
    assert_eq!(a.mean_ns, 45.0 + 27.0);
    assert_eq!(
        (child(a, "body of a").mean_ns, child(a, "b").mean_ns),
        (45.0, 27.0)
    );
    let probes = child(&profile.tree, "probes");
    assert_eq!(
        (probes.mean_ns, probes.calls_mean, probes.kind),
        (10.0, 2.0, Kind::Probe)
    );
    near(profile.overhead.probe_ns, 5.0);
    near(profile.overhead.estimated_fraction, 0.1);
    assert_eq!(profile.closure.max_abs_error_ticks, 0);
}

/// The tree says in JSON what the design promises, and a profile comes back from it.
#[test]
fn json_of_the_deepest_tree_comes_back() {
    let mut steps = leaf(A, 3);
    for _ in 0..100 {
        steps = call(A, [work(1), steps]);
    }
    let mut analysis = started(ProbeCost::default());
    analysis.push(1, &interval(50, &[steps]));
    analysis.push(1, &[Record::marker(Marker::Begin, 900, PAYLOAD)]);
    let profile = analysis.profile(&sites(&[("a", "root+0x1", 0)]), &options());
    let json = serde_json::to_string(&profile).unwrap();
    assert_eq!(serde_json::from_str::<Profile>(&json).unwrap(), profile);
    near(profile.mean_ns, 103.0);
    assert!(profile.warnings.contains(&Warning::Folded(45)), "101 - 56");
    assert_eq!(analysis.in_flight(), 1);
}
