//! Every pattern of advice beside profiles of its problem, and of others: it fires there, and nowhere else.
//!
//! `patterns/*.json` are findings of profiles of reproduced problems, without what the advice added (`scripts/pattern-case.py` makes one of a
//! report's JSON). Recordings are replayed. Each says which patterns fire, and which of them is first or second.

mod proofs;

use std::collections::BTreeSet;
use std::path::Path;

use evenkeel_analysis::Options;
use evenkeel_analysis::findings::Finding;
use evenkeel_analysis::profile::Profile;
use evenkeel_recording::Replay;
use evenkeel_report::advice::{self, Server};
use proofs::{RECORDINGS, cases, server_of};

/// Names of the patterns of a profile's findings, in their order.
fn fired(server: &'static Server, profile: &Profile) -> Vec<Option<&'static str>> {
    let pattern = |finding: &Finding| {
        let pattern = server.pattern(profile, finding)?;
        Some(pattern.name.as_str())
    };
    profile.findings.iter().map(pattern).collect()
}

#[test]
fn a_pattern_fires_on_its_problem_and_on_no_other() {
    let mut wrong = Vec::new();
    for (path, case) in cases() {
        let at = format!("{} ({})", path.display(), case.about);
        let fired = fired(server_of(&case.target), &case.profile());
        let allowed: BTreeSet<&str> = case
            .expected
            .iter()
            .chain(&case.also)
            .map(String::as_str)
            .collect();
        for name in fired.iter().flatten() {
            if !allowed.contains(name) {
                wrong.push(format!("{name} fires in {at}"));
            }
        }
        if let Some(expected) = case.expected.as_deref() {
            let first = fired.iter().take(2).flatten().any(|name| *name == expected);
            if !first {
                wrong.push(format!(
                    "{expected} is not first or second in {at}: {fired:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn patterns_of_recordings() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recording/tests/recordings");
    let mut wrong = Vec::new();
    for (name, server, expected) in RECORDINGS {
        let replayed = Replay::open(&recordings.join(name)).unwrap().run().unwrap();
        let profile = replayed.profile(&Options::default());
        let mut servers = advice::servers().iter();
        let server = servers.find(|known| known.server == server).unwrap();
        let fired: BTreeSet<&str> = fired(server, &profile).into_iter().flatten().collect();
        let expected: BTreeSet<&str> = expected.iter().copied().collect();
        if fired != expected {
            wrong.push((name, fired, expected));
        }
    }
    assert!(wrong.is_empty(), "fired, and expected: {wrong:#?}");
}

/// Statements wait for a change of a table, which waits for a session that waits for its client.
#[test]
fn the_head_of_a_queue_is_named() {
    for name in ["postgres-ddl-queue", "mariadb-metadata-lock"] {
        let mut cases = cases().into_iter();
        let is_it = |path: &Path| path.file_stem().is_some_and(|stem| stem == name);
        let Some((_, case)) = cases.find(|(path, _)| is_it(path)) else {
            continue; // another directory of cases
        };
        let chain = case.findings[0].chain.as_ref().expect("a chain");
        let head = chain.links.last().unwrap();
        assert!(chain.links.len() > 1 && head.tid.is_some(), "{chain:?}");
        let since = head.idle.as_ref().and_then(|idle| idle.since_unix_ns);
        assert!(since.is_some(), "{head:?}");
        let says = evenkeel_report::chains::says(chain);
        let text = ", which waits for a session idle in transaction (";
        assert!(says.contains(text), "{says}");
    }
}
