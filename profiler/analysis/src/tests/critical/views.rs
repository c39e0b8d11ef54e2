//! The table of waits, and single intervals as timelines.

use evenkeel_wire::ObjectKind;

use super::super::trace::{child, near, options, started};
use super::streams::*;
use crate::profile::Profile;
use crate::sites::Kind;
use crate::{Options, Pick, ProbeCost};

/// Four intervals "order" of 40, 60, 80 and 100 ticks. They wait in lock for 20, 40, 60 and 80 ticks for mutex 7. "pay"
/// releases it in unlock, called by g, 5 ticks before the wait ends.
fn contended() -> Vec<Stream> {
    let (mut a, mut b) = (stream(), stream().begin(500, "pay"));
    for n in 1..=4u64 {
        let at = 1000 * n;
        let wait = 20 * n;
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
    vec![a, b]
}

fn profile(timelines: Vec<Pick>) -> Profile {
    let mut analysis = following();
    analysis.name_thread(1, "server/11".into());
    analysis.keep_interval(1);
    run(&mut analysis, &contended());
    let options = Options {
        timelines,
        ..options()
    };
    analysis.profile(&table(), &options)
}

/// Waits 20, 40, 60, 80: 200 in all. L = wait + 20, so Cov(X, L) = Var(X) = Var(L).
#[test]
fn who_waits_for_whom() {
    let profile = profile(vec![]);
    let [line] = &profile.waits[..] else {
        panic!("one line: {:?}", profile.waits)
    };
    assert_eq!(line.waiter, "lock [f+1]");
    assert_eq!(line.waiter_calls, ["lock [f+1]"]);
    assert_eq!((line.object.as_str(), line.kind), ("mutex", Kind::Lock));
    assert_eq!(line.holder.as_deref(), Some("pay"));
    assert_eq!(line.holder_calls, ["g [root+2]", "unlock [g+3]"]);
    assert_eq!((line.count, line.total_ns, line.mean_ns), (4, 200.0, 50.0));
    assert_eq!((line.objects, line.longest_object.as_str()), (1, "0x7"));
    near(line.share, 1.0);
    near(line.variance_fraction, 1.0);
}

/// The slowest: 100 ticks, waiting 4010-4090, released 4085; unlock is called at 4084.
#[test]
fn the_slowest_interval_as_a_timeline() {
    let profile = profile(vec![Pick::Rank(1), Pick::Rank(9)]);
    let [slowest, asked] = &profile.timelines[..] else {
        panic!("no ninth, but the one that was asked for")
    };
    assert_eq!((asked.pick.as_str(), asked.latency_ns), ("id:1", 60.0));
    assert_eq!(
        (slowest.pick.as_str(), slowest.class.as_str()),
        ("max", "order")
    );
    assert_eq!(slowest.lanes, ["server/11", "thread 2"]);
    let spans: Vec<_> = slowest
        .spans
        .iter()
        .map(|span| (span.lane, span.from_ns, span.to_ns, span.name.as_str()))
        .collect();
    assert_eq!(
        spans,
        [
            (0, 0.0, 9.0, "root"),
            (0, 9.0, 10.0, "lock"),
            (1, 10.0, 84.0, "g"),
            (1, 84.0, 85.0, "unlock"),
            (0, 85.0, 90.0, "woken, not yet running"),
            (0, 90.0, 91.0, "lock"),
            (0, 91.0, 100.0, "root"),
        ]
    );
    assert_eq!(
        slowest.spans[2].path,
        "root > lock [f+1] > waits: mutex > other interval: pay > g [root+2]"
    );
}

#[test]
fn a_timeline_near_a_percentile() {
    let profile = profile(vec![Pick::Percentile(0.5), Pick::Id(2), Pick::Id(77)]);
    let picked: Vec<_> = profile
        .timelines
        .iter()
        .map(|timeline| (timeline.pick.as_str(), timeline.latency_ns))
        .collect();
    assert_eq!(picked, [("p50", 60.0), ("id:2", 80.0), ("id:1", 60.0)]);
}

/// A profile without waits has no field for them, in JSON either. A profile with waits is the same after a round trip.
#[test]
fn json() {
    let with = profile(vec![Pick::Rank(1)]);
    let json = serde_json::to_string(&with).unwrap();
    assert_eq!(serde_json::from_str::<Profile>(&json).unwrap(), with);
    assert!(json.contains(r#""kind":"others""#) && json.contains(r#""doing":"blocked""#));
    let without = super::super::trace::analysed(&[]).profile(&table(), &options());
    let json = serde_json::to_string(&without).unwrap();
    assert!(
        !["\"waits\"", "\"timelines\"", "\"doing\""]
            .iter()
            .any(|field| json.contains(field))
    );
}

/// f lasts 10, 20 or 30 ticks, all but 2 of them blocked. It has no timed calls, so it is a leaf. Its contribution is
/// the same whether its wait is known or not, and its time outside of the wait is not a separate factor.
#[test]
fn a_leaf_is_the_same_with_its_waits_and_without() {
    let mut both = stream();
    for (at, n) in [(1000, 10), (2000, 20), (3000, 30)] {
        both = both
            .begin(at, "")
            .wait(at + 3, at + 1 + n, ObjectKind::Mutex, 7)
            .call(at + 2, at + 2 + n, F)
            .end(at + 5 + n, &[]);
    }
    let mut alone = started(ProbeCost::default());
    alone.push(1, &both.0);
    let alone = alone.profile(&table(), &options());
    let followed = profile_of(&[both]);
    let factors = |profile: &Profile| -> Vec<(String, f64)> {
        let factors = profile.factors.iter();
        let factors = factors.map(|factor| (factor.functions.join("+"), factor.contribution));
        factors.filter(|(name, _)| name != "waits: mutex").collect()
    };
    assert_eq!(factors(&alone), [("f".to_owned(), 1.0)]);
    assert_eq!(factors(&followed), factors(&alone));
    let f = child(&followed.tree, "f");
    assert_eq!(child(f, "f itself").mean_ns, 2.0);
}
