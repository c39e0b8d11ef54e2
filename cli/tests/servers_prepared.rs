//! Prepared statements of PostgreSQL and MariaDB: the message that executes one has no text, but the class is still
//! the statement's text.
//!
//! Only what is determined by the work is asserted: which classes there are, and how many intervals they have.

mod support;

use std::collections::BTreeMap;
use std::process::Command;

use evenkeel_servers::{MariaDb, Options};
use serde_json::Value;
use support::build::EVENKEEL;
use support::servers::{
    ProfiledPostgres, ProfiledServer, count, installed, make_pgbench_tables, nodes, pgbench,
};

/// Intervals by class.
fn classes(profile: &Value) -> BTreeMap<String, u64> {
    let classes = profile["classes"]["classes"].as_array().unwrap();
    let class = |class: &Value| {
        let name = class["name"].as_str().unwrap().to_owned();
        (name, count(&class["intervals"]))
    };
    classes.iter().map(class).collect()
}

/// No part of the intervals is left out to stay within a budget, which would take more of them on a slower machine.
const EVERY_INTERVAL: [&str; 4] = ["--plant", "40", "--max-overhead", "100%"];

/// The seven statements of pgbench's transactions have the same classes whether they are sent as text or prepared.
#[test]
fn postgres_executes_what_was_prepared() {
    const TRANSACTIONS: u64 = 8 * 250;
    let of_mode = |mode: &str| {
        let profiled = ProfiledPostgres::start(&EVERY_INTERVAL, &[("fsync", "off")])?;
        make_pgbench_tables(&profiled.server);
        let load = ["-M", mode, "-c", "8", "-j", "2", "-t", "250"];
        assert_eq!(pgbench(&profiled.server, &load), TRANSACTIONS);
        let profiled = profiled.finish();
        let profile = profiled.profile();
        let warnings = profile["warnings"].to_string();
        assert!(!warnings.contains("could not be read"), "{warnings}");
        Some(classes(profile))
    };
    let Some(simple) = of_mode("simple") else {
        return;
    };
    // Statements of every transaction. pgbench also looks at its tables first; of those statements a varying part is
    // seen.
    let of_transactions = |classes: &BTreeMap<String, u64>| -> Vec<String> {
        let often = classes.iter();
        let often = often.filter(|(_, intervals)| **intervals > TRANSACTIONS / 10);
        often.map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(of_transactions(&simple).len(), 7, "{simple:#?}");
    for mode in ["extended", "prepared"] {
        let found = of_mode(mode).expect("the server was there before");
        assert_eq!(
            of_transactions(&found),
            of_transactions(&simple),
            "{mode}: {found:#?}"
        );
        let update = |classes: &BTreeMap<String, u64>| {
            let mut named = classes.iter();
            let found = named.find(|(name, _)| name.starts_with("update pgbench_accounts"));
            *found.expect("an update").1
        };
        // But for windows without probes, and the first and last moments.
        for classes in [&found, &simple] {
            assert!(update(classes) > TRANSACTIONS / 2, "{mode}: {classes:#?}");
            assert!(update(classes) <= TRANSACTIONS, "{mode}: {classes:#?}");
        }
    }
}

/// Outside of a transaction a statement is committed after its execution; the extended protocol does it in a separate
/// call. The commit is part of the statement in all protocols.
#[test]
fn postgres_commits_what_was_prepared() {
    // Seconds, also for a quick server: every call is hooked while it serves, and those of its first moments may be in no round.
    const STATEMENTS: u64 = 2 * 3000;
    const EVERY_CALL: [&str; 4] = ["--plant", "every", "--max-overhead", "100%"];
    for mode in ["simple", "extended", "prepared"] {
        let Some(profiled) = ProfiledPostgres::start(&EVERY_CALL, &[("fsync", "off")]) else {
            return;
        };
        make_pgbench_tables(&profiled.server);
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("insert.sql");
        let insert = "INSERT INTO pgbench_history VALUES (1, 1, 1, 0, now());\n";
        std::fs::write(&script, insert).unwrap();
        let file = script.to_str().expect("a path of letters");
        let load = ["-M", mode, "-f", file, "-c", "2", "-t", "3000"];
        assert_eq!(pgbench(&profiled.server, &load), STATEMENTS);
        let profiled = profiled.finish();
        let profile = profiled.profile();
        let inserts = classes(profile);
        let mut inserts = inserts.iter();
        let inserts = inserts.find(|(name, _)| name.starts_with("insert into pgbench_history"));
        assert!(*inserts.expect("the statement's class").1 > 0, "{mode}");
        let commits: f64 = nodes(profile)
            .iter()
            .filter(|(path, _)| {
                path.last()
                    .is_some_and(|name| name == "CommitTransactionCommand")
            })
            .map(|(_, node)| node["calls_mean"].as_f64().unwrap_or_default())
            .sum();
        assert!(commits > 0.5, "{mode}: {commits}: {:#}", profile["tree"]);
    }
}

/// The workload's statements are executed by the binary protocol: nearly all commands are of their classes.
#[test]
fn mariadb_executes_what_was_prepared() {
    let Some(prepared) = installed(MariaDb::prepare(&Options {
        loopback: true,
        fsync: false,
        settings: vec![("local-infile".to_owned(), "ON".to_owned())],
        ..Options::default()
    })) else {
        return;
    };
    let port = prepared.port().expect("a loopback port");
    let options = ["--preset", "mariadb", "--plant", "40"];
    let profiled = ProfiledServer::of(prepared, &options);
    let url = format!("mysql://root@127.0.0.1:{port}/test");
    let load = Command::new(EVENKEEL)
        .args(["bench", "ycsb-a", "--target", &url, "--clients", "4"])
        .args(["-o", "records=1000", "--for", "4s"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&load.stderr);
    assert!(load.status.success(), "{errors}\n{}", profiled.server.log());
    let profiled = profiled.finish();
    let profile = profiled.profile();
    let classes = classes(profile);
    let of = |beginning: &str| -> u64 {
        let named = classes.iter();
        let named = named.filter(|(name, _)| name.starts_with(beginning));
        named.map(|(_, intervals)| intervals).sum()
    };
    let (selects, updates) = (of("select "), of("update "));
    assert!(selects > 0 && updates > 0, "{classes:#?}");
    let names = classes.keys();
    let mut strange = names.filter(|name| name.chars().any(|c| c.is_control() || !c.is_ascii()));
    assert_eq!(strange.next(), None, "{classes:#?}");
    assert!(
        2 * (selects + updates) > count(&profile["intervals"]),
        "{classes:#?}"
    );
}
