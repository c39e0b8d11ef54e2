//! What is known of servers, beside recordings of them: which pattern each recording's findings fit.

use std::path::Path;

use evenkeel_analysis::Options;
use evenkeel_analysis::profile::{Finding, Profile};
use evenkeel_report::advice;
use evenkeel_report::terminal::{Style, render};
use evenkeel_session::recording::Replay;

fn replayed(name: &str) -> Profile {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../session/tests/recordings");
    let replayed = Replay::open(&recordings.join(name)).unwrap().run().unwrap();
    let options = Options {
        ticks_per_ns: replayed.meta.ticks_per_ns,
        target: replayed.meta.target.clone(),
        interval: replayed.meta.interval.clone(),
        ..Options::default()
    };
    let mut profile = replayed.analysis.profile(&replayed.sites, &options);
    replayed.meta.complete(&mut profile);
    advice::add(&mut profile);
    let shares: f64 = profile.findings.iter().map(|finding| finding.share).sum();
    assert!(
        (shares + profile.uncovered.share - 1.0).abs() < 1e-6,
        "{shares}"
    );
    profile
}

fn finding<'a>(profile: &'a Profile, function: &str) -> &'a Finding {
    let is_named = |finding: &&Finding| finding.function.split('(').next() == Some(function);
    let found = profile.findings.iter().find(is_named);
    found.unwrap_or_else(|| panic!("no {function} among {:?}", profile.findings))
}

/// The client's time between the statements of a transaction.
#[test]
fn a_transaction_that_waits_for_its_client() {
    let profile = replayed("postgres-transaction.keel");
    let client = finding(&profile, "pq_getbyte");
    assert!(client.means.as_deref().unwrap().contains("client"));
    assert!(client.advice[0].what.contains("pipeline"));
    // A function without a name is in no pattern.
    assert!(finding(&profile, "0x1e4360").advice.is_empty());
}

/// Rows of a PostgreSQL without the wait's own function in the plan: whom it waits for is seen, and nothing is advised.
#[test]
fn rows_whose_owners_commit() {
    let profile = replayed("postgres-rows.keel");
    let rows = &profile.findings[0];
    assert_eq!(rows.function, "standard_ExecutorRun");
    assert_eq!(rows.meanwhile.as_ref().unwrap().function, "XLogFlush");
    let end = rows
        .waits_for
        .iter()
        .find(|holder| holder.class == "end")
        .unwrap();
    assert_eq!(end.function.as_deref(), Some("XLogFlush"));
    assert!(rows.advice.is_empty());
}

/// A stripped MariaDB: what waits for the log has no name, and is known by who calls it.
#[test]
fn commits_that_wait_for_the_log() {
    let profile = replayed("mariadb-rows.keel");
    for function in ["ha_commit_one_phase", "Protocol::end_statement"] {
        let commit = finding(&profile, function);
        assert!(
            commit.means.as_deref().unwrap().contains("redo log"),
            "{function}"
        );
        assert_eq!(commit.waits_for[0].class, "commit");
    }
    let text = render(&profile, &Style::default());
    assert!(text.contains("GIVES UP DURABILITY"));
    assert!(
        text.contains("> What helps 1 helps here, too."),
        "not twice the same: {text}"
    );
}

#[test]
fn requests_that_wait_outside_and_for_their_turn() {
    let apache = replayed("apache-request.keel");
    assert!(
        finding(&apache, "ap_invoke_handler")
            .means
            .as_deref()
            .unwrap()
            .contains("outside")
    );
    let nginx = replayed("nginx-request.keel");
    assert!(
        finding(&nginx, "waiting for its turn").advice[0]
            .what
            .contains("aio threads")
    );
}
