//! Findings of traces whose causes are known.

use evenkeel_wire::ObjectKind;
use proptest::prelude::*;

use super::critical::streams::{G, LOCK, UNLOCK, following, run, stream, table};
use super::trace::*;
use crate::Options;
use crate::findings::call_path::CallPath;
use crate::findings::cohorts::Difference;
use crate::profile::Profile;

const F: u32 = 0;
const G2: u32 = 1;
const SEM: u32 = 2;
const OTHER: u32 = 3;
const AGAIN: u32 = 4;

fn sites_of_findings() -> crate::sites::SiteTable {
    sites(&[
        ("flush", "root+0x1", 3),
        ("acquire", "flush+0x2", 2),
        ("sem_wait", "acquire+0x3", 0),
        ("plan", "root+0x4", 1),
        ("acquire", "flush+0x5", 2),
    ])
}

fn headlines(profile: &Profile) -> Vec<&str> {
    let findings = profile.findings.iter();
    findings.map(|finding| finding.headline.as_str()).collect()
}

/// flush > acquire > sem_wait takes 10 or 30, plan 100 or 104, independently: shares 400/416 and 16/416, which is too
/// small. The chain is one finding, named by the deepest function that is not the C library's, and all of its factors
/// are parts of it.
#[test]
fn a_chain_is_one_finding() {
    let interval = |wait, plan| vec![call(F, [call(G2, [leaf(SEM, wait)])]), leaf(OTHER, plan)];
    let analysis = analysed(&[
        interval(10, 100),
        interval(30, 104),
        interval(10, 104),
        interval(30, 100),
    ]);
    let profile = analysis.profile(&sites_of_findings(), &options());
    assert_eq!(headlines(&profile), ["acquire called by flush"]);
    let finding = &profile.findings[0];
    near(finding.share, 400.0 / 416.0);
    near(finding.mean_ns, 20.0);
    near(finding.calls_mean, 1.0);
    assert_eq!(
        finding.paths,
        [CallPath::from(
            "root > flush [root+0x1] > acquire [flush+0x2]"
        )]
    );
    assert!(!finding.spread && finding.classes.is_empty());
    near(profile.uncovered.share, 16.0 / 416.0);
    let of = |at: &usize| profile.factors[*at].functions[0].as_str();
    let mut parts: Vec<&str> = finding.factors.iter().map(of).collect();
    parts.sort_unstable();
    assert_eq!(parts, ["acquire", "flush", "sem_wait"]);
    let rest: Vec<&str> = profile.uncovered.factors.iter().map(of).collect();
    assert_eq!(rest, ["plan"]);
    assert!(profile.trades.is_empty());
}

/// The same, but the call of acquire is not timed: its wait is not flush's.
#[test]
fn a_wait_is_its_callers_whose_own_call_is_not_timed() {
    let interval = |wait| vec![call(F, [leaf(SEM, wait)])];
    let analysis = analysed(&[10, 30, 10, 30].map(interval));
    let profile = analysis.profile(&sites_of_findings(), &options());
    assert_eq!(headlines(&profile), ["acquire called by flush"]);
    near(profile.findings[0].calls_mean, 1.0);
}

/// flush calls acquire at two sites, which take 10 n and 30 n: one function, whose variance is that of 40 n. As a
/// factor it is 1, too, and no pair with itself.
#[test]
fn several_sites_are_one_function() {
    let intervals: Vec<_> = (1..=4)
        .map(|n| vec![call(F, [leaf(G2, 10 * n), leaf(AGAIN, 30 * n)])])
        .collect();
    let profile = analysed(&intervals).profile(&sites_of_findings(), &options());
    assert_eq!(headlines(&profile), ["acquire called by flush"]);
    near(profile.findings[0].share, 1.0);
    near(profile.findings[0].calls_mean, 2.0);
    assert_eq!(profile.findings[0].paths.len(), 2);
    let acquire = profile
        .factors
        .iter()
        .find(|factor| factor.functions == ["acquire"]);
    near(acquire.unwrap().contribution, 1.0);
    assert!(
        profile
            .factors
            .iter()
            .all(|factor| factor.functions != ["acquire", "acquire"])
    );
    near(profile.uncovered.share, 0.0);
}

/// acquire takes 40 n from its first site, and 1 or 2 from its second: less than a twentieth.
#[test]
fn a_path_that_explains_nothing_is_not_the_findings() {
    let intervals: Vec<_> = (1..=4)
        .map(|n| vec![call(F, [leaf(G2, 40 * n), leaf(AGAIN, 1 + n % 2)])])
        .collect();
    let profile = analysed(&intervals).profile(&sites_of_findings(), &options());
    assert_eq!(headlines(&profile), ["acquire called by flush"]);
    assert_eq!(
        profile.findings[0].paths,
        [CallPath::from(
            "root > flush [root+0x1] > acquire [flush+0x2]"
        )]
    );
}

/// flush takes 10 n, plan 100 - 5 n: the shares are 2 and -1. What evens the latency out has a path, too.
#[test]
fn a_negative_finding_has_its_path() {
    let interval = |n: u64| vec![leaf(F, 10 * n), leaf(OTHER, 100 - 5 * n)];
    let profile = analysed(&[1, 2, 3, 4].map(interval)).profile(&sites_of_findings(), &options());
    let of = |headline: &str| {
        let mut findings = profile.findings.iter();
        findings.find(|it| it.headline == headline).unwrap()
    };
    near(of("flush").share, 2.0);
    near(of("plan").share, -1.0);
    assert_eq!(of("plan").paths, [CallPath::from("root > plan [root+0x4]")]);
}

/// Forty functions below f take n ticks each: 1/40 of the variance, too little alone. What falls to f is its finding.
#[test]
fn small_calls_fall_to_their_caller() {
    let names: Vec<(String, String)> = (0..40)
        .map(|at| (format!("g{at}"), format!("f+{at}")))
        .collect();
    let mut list = vec![("f", "root+1", 3)];
    list.extend(
        names
            .iter()
            .map(|(name, site)| (name.as_str(), site.as_str(), 1)),
    );
    let interval = |n: u64| {
        let calls: Vec<_> = (1..=40).map(|probe| leaf(probe, n)).collect();
        vec![call(F, calls)]
    };
    let intervals: Vec<_> = [3, 5, 8, 1].map(interval).to_vec();
    let profile = analysed(&intervals).profile(&sites(&list), &options());
    assert_eq!(headlines(&profile), ["f, spread over the calls below it"]);
    near(profile.findings[0].share, 1.0);
    assert!(profile.findings[0].spread);
}

/// a takes 10 n and b 40 - 7 n ticks: L = 40 + 3 n, Var(L) 9, Cov(a, L) 30, Cov(b, L) -21, 2 Cov(a, b) -140. The second
/// evens the first out, and both trade.
#[test]
fn what_trades_is_said() {
    let intervals: Vec<_> = (1..=4)
        .map(|n| vec![leaf(F, 10 * n), leaf(OTHER, 40 - 7 * n)])
        .collect();
    let profile = analysed(&intervals).profile(&sites_of_findings(), &options());
    assert_eq!(headlines(&profile), ["flush", "plan"]);
    near(profile.findings[0].share, 30.0 / 9.0);
    near(profile.findings[1].share, -21.0 / 9.0);
    let [trade] = &profile.trades[..] else {
        panic!("{:?}", profile.trades)
    };
    assert_eq!(trade.functions, ["flush", "plan"]);
    near(trade.contribution, -140.0 / 9.0);
}

/// Four intervals wait in lock for mutex 7, for 20, 40, 60 and 80 ticks. "pay" releases it in unlock, called by g, and
/// the waiter runs again 5 ticks later. L = wait + 20, and only the time before the release varies.
#[test]
fn whom_it_waits_for() {
    let (mut a, mut b) = (stream(), stream().begin(500, "pay"));
    for n in 1..=4u64 {
        let (at, wait) = (1000 * n, 20 * n);
        a = a
            .begin(at, "order")
            .wait(at + 10, at + 10 + wait, ObjectKind::Mutex, 7)
            .call(at + 9, at + 11 + wait, LOCK)
            .end(at + 20 + wait, &[]);
        let released = at + 5 + wait;
        b = b.wake(
            released,
            ObjectKind::Mutex,
            7,
            &[(600, G), (released - 1, UNLOCK)],
        );
    }
    let mut analysis = following();
    run(&mut analysis, &[a, b]);
    let profile = analysis.profile(&table(), &options());
    assert_eq!(headlines(&profile), ["lock"]);
    let finding = &profile.findings[0];
    near(finding.share, 1.0);
    let [holder] = &finding.waits_for[..] else {
        panic!("{:?}", finding.waits_for)
    };
    assert_eq!(
        (holder.class.as_str(), holder.function.as_deref()),
        ("pay", Some("g"))
    );
    // 180 ticks of the holder's among 200 + 8 of lock, less the 20 for which it was ready to run.
    near(holder.of_time, 180.0 / 188.0);
    let meanwhile = finding.meanwhile.as_ref().unwrap();
    assert_eq!(meanwhile.function, "g");
    let [class] = &finding.classes[..] else {
        panic!("{:?}", finding.classes)
    };
    assert_eq!(class.name, "order");
    near(class.share, 1.0);
    near(class.of_time, 1.0);
    near(class.mean_ns, 188.0 / 4.0);
}

/// Rows are locked in turn: a waits for b, which waits in the same function for c, which flushes the log in h, in
/// fdatasync. What the finding tells is the flush, not the wait for a row again.
#[test]
fn holders_that_wait_for_the_same_are_not_the_answer() {
    let list = sites(&[
        ("lock_row", "root+1", 2),
        ("flush", "root+2", 2),
        ("fdatasync", "flush+1", 1),
    ]);
    const ROW: u32 = 0;
    const FLUSH: u32 = 1;
    const SYNC: u32 = 2;
    let (mut a, mut b, mut c) = (stream(), stream(), stream().begin(500, "pay"));
    for n in 1..=4u64 {
        let (at, wait) = (1000 * n, 20 * n);
        let (over, passed_on) = (at + 30 + wait, at + 28 + wait);
        a = a
            .begin(at, "order")
            .wait(at + 10, over, ObjectKind::Mutex, 1)
            .call(at + 9, over + 1, ROW)
            .end(over + 10, &[]);
        b = b
            .begin(at + 1, "order")
            .wait(at + 5, passed_on - 2, ObjectKind::Mutex, 2)
            .call(at + 4, passed_on - 1, ROW)
            .wake(passed_on, ObjectKind::Mutex, 1, &[])
            .end(passed_on + 2, &[]);
        let written = passed_on - 6;
        c = c
            .call(at + 3, written, SYNC)
            .wake(written + 1, ObjectKind::Mutex, 2, &[(at + 2, FLUSH)])
            .call(at + 2, written + 2, FLUSH);
    }
    let mut analysis = following();
    run(&mut analysis, &[a, b, c]);
    let profile = analysis.profile(&list, &options());
    assert_eq!(headlines(&profile), ["lock_row"]);
    let meanwhile = profile.findings[0].meanwhile.as_ref().unwrap();
    assert_eq!(
        (meanwhile.function.as_str(), meanwhile.wait.as_deref()),
        ("flush", Some("fdatasync"))
    );
}

/// Five intervals of "read" take 18 ticks of flush each and never vary; nearly all of the variance is that of "write".
/// "few" takes 3 of 106 ticks, and "rare" 1, less than a hundredth.
#[test]
fn classes_of_a_finding_have_parts_of_its_time() {
    let mut a = stream();
    for n in 1..=12u64 {
        let (class, took) = match n {
            11 => ("few", 3),
            12 => ("rare", 1),
            _ if n % 2 == 0 => ("write", 2 * (n % 4)),
            _ => ("read", 18),
        };
        let at = 1000 * n;
        a = a
            .begin(at, class)
            .call(at + 1, at + 1 + took, F)
            .end(at + 2 + took, &[]);
    }
    let mut analysis = started(crate::ProbeCost::default());
    analysis.push(1, &a.0);
    analysis.ended();
    let profile = analysis.profile(&sites_of_findings(), &options());
    let parts = profile.findings[0].classes.iter();
    let parts: Vec<_> = parts
        .map(|class| (class.name.as_str(), (class.of_time * 106.0).round()))
        .collect();
    // 5 of 18, and 4, 0, 4, 0, 4.
    assert_eq!(parts, [("read", 90.0), ("write", 12.0), ("few", 3.0)]);
}

/// f calls a function without a name, which takes 3 n of 4 n ticks: the finding is f's, and tells the address.
#[test]
fn most_of_a_finding_in_a_function_without_a_name_is_told() {
    let list = sites(&[("f", "root+1", 2), ("0x4751e0", "f+2", 1), ("g", "f+3", 1)]);
    let interval = |n: u64| vec![call(0, [work(n), leaf(1, 3 * n)])];
    let profile = analysed(&[1, 5, 2, 9].map(interval)).profile(&list, &options());
    assert_eq!(headlines(&profile), ["f"]);
    let unnamed = profile.findings[0].unnamed.as_ref().unwrap();
    assert_eq!(unnamed.function, "0x4751e0");
    near(unnamed.of_time, 0.75);
    let named = sites(&[("f", "root+1", 2), ("h", "f+2", 1)]);
    let profile = analysed(&[1, 5, 2, 9].map(interval)).profile(&named, &options());
    assert!(profile.findings.iter().all(|it| it.unnamed.is_none()));
}

/// 98 of 100 intervals take 10 ticks in acquire. The other two (the slowest 1 % and its neighbour) call it twice, 20
/// ticks each, and take 5 in plan, which the others never call. The gap is 35: acquire 30, plan 5. More often: (2 - 1)
/// (20 + 10) / 2 = 15. Longer: (20 - 10) (2 + 1) / 2 = 15.
#[test]
fn slow_beside_the_middle() {
    let intervals: Vec<_> = (0..100)
        .map(|at| match at % 50 {
            7 => vec![call(F, [leaf(G2, 20), leaf(G2, 20)]), leaf(OTHER, 5)],
            _ => vec![call(F, [leaf(G2, 10)])],
        })
        .collect();
    let profile = analysed(&intervals).profile(&sites_of_findings(), &options());
    let cohorts = profile.cohorts.as_ref().unwrap();
    assert_eq!((cohorts.slow.intervals, cohorts.middle.intervals), (2, 98));
    assert_eq!((cohorts.slow.mean_ns, cohorts.middle.mean_ns), (45.0, 10.0));
    let node = |name: &str| {
        let found = cohorts.nodes.iter().find(|node| node.path.contains(name));
        found.unwrap_or_else(|| panic!("{name} among {:?}", cohorts.nodes))
    };
    let (acquire, plan) = (node("> acquire"), node("> plan"));
    near(acquire.part, 30.0 / 35.0);
    near(acquire.more_often_ns, 15.0);
    near(acquire.longer_ns, 15.0);
    assert!(!acquire.only_slow && plan.only_slow);
    near(plan.part, 5.0 / 35.0);
    near(plan.more_often_ns, 5.0);
    assert!(node("flush [root+0x1]").passes_on && !acquire.passes_on);
    let causes: Vec<_> = cohorts
        .causes
        .iter()
        .map(|cause| (cause.path.as_str(), cause.slow_ns))
        .collect();
    assert_eq!(causes, [("acquire called by flush", 40.0), ("plan", 5.0)]);
    near(cohorts.causes[0].more_often_ns, 15.0);
    let even = analysed(&vec![vec![leaf(F, 10)]; 10]).profile(&sites_of_findings(), &options());
    assert!(even.cohorts.is_none());
}

/// The slowest take 1,000 ticks more than the middle: 980 in flush, 12 in plan and 8 in acquire, less than a hundredth.
#[test]
fn a_tiny_part_of_the_difference_is_not_listed() {
    let interval = |more: [u64; 3]| {
        let [flush, plan, acquire] = more.map(|more| 1000 + more);
        vec![leaf(F, flush), leaf(OTHER, plan), leaf(AGAIN, acquire)]
    };
    let traces: Vec<_> = (0..100)
        .map(|at| interval(if at % 50 == 7 { [980, 12, 8] } else { [0; 3] }))
        .collect();
    let profile = analysed(&traces).profile(&sites_of_findings(), &options());
    let cohorts = profile.cohorts.as_ref().unwrap();
    let parts = |of: &[Difference]| -> Vec<i64> {
        let parts = of.iter().map(|one| (1000.0 * one.part).round() as i64);
        parts.collect()
    };
    assert_eq!(parts(&cohorts.nodes), [980, 12]);
    assert_eq!(parts(&cohorts.causes), [980, 12]);
}

proptest! {
    /// Every node's own time is in one finding or in none: the shares add up to 1. Every factor is part of a finding,
    /// or said to be in none. The classes of a finding add up to it.
    #[test]
    fn findings_divide_the_variance(traces in super::properties::traces(), threshold in 0.0..0.2f64) {
        let list = [("a", "root+1", 3), ("sem_wait", "a+2", 0), ("0x12", "a+3", 2), ("b", "root+4", 2), ("c", "b+5", 1), ("a", "b+6", 3)];
        let profile = analysed(&traces).profile(&sites(&list), &Options { threshold, ..options() });
        if profile.variance_ns2 > 0.0 {
            let shares: f64 = profile.findings.iter().map(|finding| finding.share).sum();
            prop_assert!((shares + profile.uncovered.share - 1.0).abs() < 1e-6, "{shares}");
        }
        for at in 0..profile.factors.len() {
            let is_named = profile.findings.iter().any(|finding| finding.factors.contains(&at));
            prop_assert!(is_named != profile.uncovered.factors.contains(&at));
        }
        for finding in &profile.findings {
            prop_assert!(finding.share.abs() >= threshold.max(crate::findings::FINDING_MIN));
            prop_assert!(!crate::findings::plumbing::is_plumbing(&finding.function) || finding.called_by.is_none());
        }
    }
}
