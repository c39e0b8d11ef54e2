//! `evenkeel tune` on a server whose setting is absurd: each commit sleeps a tenth of a second, so that whatever is tried helps, on any
//! machine.

mod support;

use evenkeel_servers::RunningPostgreSql;
use support::tuning::{self, State, json};

/// The longest `commit_delay` there is, µs; with no sibling needed every commit waits for so long.
const ABSURD: &str = "100000";

fn absurd() -> Option<(RunningPostgreSql, String)> {
    tuning::postgres(&[("commit_delay", ABSURD), ("commit_siblings", "0")])
}

fn shown(server: &RunningPostgreSql) -> String {
    server.psql("SHOW commit_delay").unwrap().trim().to_owned()
}

#[test]
fn a_winner_is_applied_and_stays() {
    let Some((server, url)) = absurd() else {
        return;
    };
    let state = State::new();
    let options = ["--knobs", "commit_delay", "--objective", "mean", "--apply"];
    let json = state.raced(&url, &options);
    assert_eq!(json["before"]["commit_delay"], ABSURD, "{json}");
    assert_eq!(json["applied"], true, "{json}");
    let value = json["helps"]["commit_delay"]
        .as_str()
        .unwrap_or_else(|| panic!("{json}"));
    // In the server's own file, and in force.
    let kept = server
        .psql("SELECT setting FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf' AND name = 'commit_delay'")
        .unwrap();
    assert_eq!(kept.trim(), value);
    assert_eq!(shown(&server), value);
    // Nothing is left to be put back.
    assert_eq!(state.journals(), 0);
}

/// The load is the user's own and has no fixed duration; the latency is that of the server's transactions. pgbench's
/// clients wait for each other's rows, so every transaction takes at least as long as a commit.
#[test]
fn a_winner_under_a_load_of_the_users_own() {
    let Some((server, url)) = absurd() else {
        return;
    };
    let state = State::new();
    let run = state.run(&[
        "--target",
        &url,
        "--prepare",
        "pgbench --initialize --quiet --scale 1",
        "--command",
        "pgbench --no-vacuum --client 2 --transactions 8",
        "--interval",
        "transaction",
        "--knobs",
        "commit_delay",
        "--objective",
        "mean",
        "--no-profile",
        "--budget",
        "90s",
        "--json",
    ]);
    let json = json(&run.ended(0));
    assert_eq!(json["before"]["commit_delay"], ABSURD, "{json}");
    let helps = json["helps"]["commit_delay"].as_str();
    assert!(helps.is_some_and(|value| value != ABSURD), "{json}");
    // Without --apply the server is as it was found.
    assert_eq!(json["applied"], false, "{json}");
    assert_eq!((shown(&server).as_str(), state.journals()), (ABSURD, 0));
}
