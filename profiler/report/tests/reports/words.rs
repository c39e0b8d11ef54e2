//! Texts of the report about a factor.

use evenkeel_analysis::profile::{Caller, Factor, FactorKind, Node, Profile};
use evenkeel_analysis::sites::Kind;
use evenkeel_report::paths::Paths;
use evenkeel_report::words::{callers, explain};

use super::fixture;

/// A profile of one call `f` below the root, and `f` as its factor.
fn one_call(kind: Kind, calls_explained: Option<f64>, tail: f64) -> (Profile, Factor) {
    let call = Node {
        id: 2,
        name: "f".into(),
        site: "root+0x5".into(),
        kind,
        calls_explained,
        tail_share: [("p99".to_string(), tail)].into(),
        ..Node::default()
    };
    let tail_share = [("p99".to_string(), 1.0)].into();
    let tree = Node {
        name: "root".into(),
        tail_share,
        children: vec![call],
        ..Node::default()
    };
    let factor = Factor {
        functions: vec!["f".into()],
        nodes: vec![vec![2]],
        what: kind,
        ..Factor::default()
    };
    (
        Profile {
            tree,
            ..Profile::default()
        },
        factor,
    )
}

fn sentence(kind: Kind, calls_explained: Option<f64>, tail: f64) -> String {
    let (profile, factor) = one_call(kind, calls_explained, tail);
    explain(&profile, &Paths::of(&profile.tree), &factor, "p99")
}

#[test]
fn more_work_is_not_slower_work() {
    assert_eq!(
        sentence(Kind::Call, Some(0.8), 0.0),
        "Time in f and all it calls; the number of calls explains 80 % of it: more work, not slower work."
    );
    assert!(
        sentence(Kind::Call, Some(0.03), 0.0)
            .contains("only 3 % of it: the same work takes longer")
    );
    assert!(
        sentence(Kind::Call, Some(0.35), 0.0).contains("35 % of it, the time of a call the rest")
    );
    assert!(!sentence(Kind::Call, None, 0.0).contains("number of calls"));
}

#[test]
fn a_wait_says_for_what_and_how_much_of_the_tail() {
    let text = sentence(Kind::Lock, Some(0.1), 0.4);
    assert!(text.starts_with("Lock wait: its length depends on the holder"));
    assert!(text.ends_with("it is also 40 % of the tail (slowest 1 %)."));
    assert!(sentence(Kind::Client, None, 0.0).contains("think time, not the server's"));
}

/// `write` waits for a file's storage or for a socket's other end, and its name does not tell which; `fsync`'s does.
#[test]
fn bytes_may_go_to_a_device_or_to_a_socket() {
    let of = |name: &str| {
        let (profile, mut factor) = one_call(Kind::Io, None, 0.0);
        factor.functions = vec![name.into()];
        factor.caller = Some("net_write".into());
        explain(&profile, &Paths::of(&profile.tree), &factor, "p99")
    };
    assert!(of("write").contains("a pipe or socket"));
    assert!(of("fsync").starts_with("Waits for a device"));
}

/// Own time is a function's by what the profile says, whatever its name looks like.
#[test]
fn own_time_is_said_to_be_its_functions() {
    let of = |kind, own_time_of: Option<&str>| {
        let (profile, mut factor) = one_call(kind, None, 0.0);
        factor.functions = vec!["body of it".into()];
        factor.own_time_of = own_time_of.map(str::to_owned);
        explain(&profile, &Paths::of(&profile.tree), &factor, "p99")
    };
    assert!(of(Kind::Body, Some("f")).starts_with("f's own code"));
    assert!(of(Kind::NotOpened, Some("f")).starts_with("f's own code and its calls"));
    assert!(of(Kind::Body, None).starts_with("No timed call"));
}

#[test]
fn a_tail_the_profile_lacks_is_not_spoken_of() {
    let (profile, factor) = one_call(Kind::Io, None, 0.4);
    assert!(!explain(&profile, &Paths::of(&profile.tree), &factor, "p95").contains("slowest"));
}

#[test]
fn the_sign_of_a_pair_decides_what_is_said() {
    let profile = fixture::before();
    let pair = |contribution| {
        let functions = vec!["f".into(), "g".into()];
        let factor = Factor {
            kind: FactorKind::Covariance,
            functions,
            contribution,
            ..Factor::default()
        };
        explain(&profile, &Paths::of(&profile.tree), &factor, "p99")
    };
    assert!(pair(0.1).starts_with("f and g are slow together"));
    assert!(pair(-0.1).starts_with("When f is slow, g is fast"));
}

fn called_by(parts: &[(&str, f64)]) -> Factor {
    let caller = |&(function, contribution): &(&str, f64)| Caller {
        function: function.into(),
        contribution,
    };
    Factor {
        functions: vec!["wait".into()],
        callers: parts.iter().map(caller).collect(),
        ..Factor::default()
    }
}

#[test]
fn callers_are_named_with_their_parts() {
    assert_eq!(callers(&called_by(&[])), "");
    assert_eq!(
        callers(&called_by(&[
            ("lock", 0.965),
            ("commit", 0.26),
            ("tick", -0.004),
            ("init", 0.000_1)
        ])),
        "called by lock 96.5 %, commit 26.0 %, tick -0.4 %"
    );
}

/// Five are shown; of six the smallest two are added up: 0.02 + 0.01.
#[test]
fn small_callers_are_named_together() {
    let parts = [
        ("a", 0.3),
        ("b", 0.2),
        ("c", 0.1),
        ("d", 0.05),
        ("e", 0.02),
        ("f", 0.01),
    ];
    assert!(callers(&called_by(&parts[..5])).ends_with("d 5.0 %, e 2.0 %"));
    assert!(callers(&called_by(&parts)).ends_with("d 5.0 %, 2 others 3.0 %"));
}

#[test]
fn the_calls_of_one_caller_say_so() {
    let (profile, factor) = one_call(Kind::Call, None, 0.0);
    let factor = Factor {
        caller: Some("locks::owner::Owner::wait".into()),
        ..factor
    };
    assert_eq!(
        explain(&profile, &Paths::of(&profile.tree), &factor, "p99"),
        "Time in f and all it calls, when locks::owner::Owner::wait calls it."
    );
}
