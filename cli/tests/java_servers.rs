//! Servers in a Java virtual machine, under clients. Each was given a cause of slow requests. The cause is among the first two findings, and no
//! request fails.

mod support;

use std::time::Duration;

use serde_json::Value;
use support::java::{compile_with, jars, jdks};
use support::run::{Place, finish_hearing, has_opened_all};

/// Time under load once all methods are opened.
const AFTERWARDS: Duration = Duration::from_secs(5);

/// A server with a cause.
struct Case {
    /// Its name in `scripts/jvm/subjects`.
    subject: &'static str,
    /// The program in `tests/java` that starts it, with its clients.
    program: &'static str,
    /// The preset.
    preset: &'static str,
    /// Methods that name the cause. The finding is of one of them, or its holders are in one.
    causes: &'static [&'static str],
    /// It is known what helps.
    has_advice: bool,
}

fn finds(case: &Case) {
    let Some(jars) = jars(case.subject) else {
        eprintln!(
            "SKIPPED: THERE IS NO {}: scripts/install.sh jvm",
            case.subject
        );
        return;
    };
    for jdk in jdks() {
        let place = Place::new();
        compile_with(&place, &jdk, &format!("{}.java", case.program), &jars);
        let mut command = place.evenkeel(["profile", "--waits", "--preset", case.preset]);
        // On a busy machine sampling would leave few.
        command
            .args(["--sampling", "all", "--json", "run.json", "--"])
            .arg(jdk.join("bin/java"))
            .args(["-Xmx512m", "-cp"])
            .arg(format!("{jars}:."))
            .arg(case.program)
            .env("UNTIL", place.file("enough"));
        let enough = place.file("enough");
        let run = finish_hearing(command.spawn().unwrap(), move |line| {
            if has_opened_all(line) {
                std::thread::sleep(AFTERWARDS);
                std::fs::write(&enough, "").unwrap();
            }
        });
        let run = run.ended(0);
        assert!(run.stdout.ends_with(", 0 failed\n"), "{run:?}");
        let profile = place.json("run.json");
        let findings = profile["findings"].as_array().expect("a list");
        let is_cause = |finding: &&Value| {
            let names = [&finding["function"], &finding["meanwhile"]["function"]];
            let mut names = names.into_iter().filter_map(Value::as_str);
            names.any(|name| case.causes.contains(&name))
        };
        let found = findings.iter().take(2).find(is_cause);
        let found = found.unwrap_or_else(|| panic!("{run:?}"));
        assert_eq!(found["means"].is_string(), case.has_advice, "{found}");
    }
}

#[test]
fn a_locked_row_of_h2() {
    finds(&Case {
        subject: "h2",
        program: "RowLock",
        preset: "h2",
        causes: &["waiting in Object.wait of org.h2.mvstore.tx.Transaction"],
        has_advice: false,
    });
}

#[test]
fn a_slow_disk_below_zookeepers_log() {
    finds(&Case {
        subject: "zookeeper",
        program: "Keeper",
        preset: "zookeeper",
        causes: &[
            "sun.nio.ch.FileDispatcherImpl.force0",
            "sun.nio.ch.UnixFileDispatcherImpl.force0",
        ],
        has_advice: true,
    });
}

#[test]
fn a_slow_disk_below_a_log_of_kafka_that_is_forced_with_each_message() {
    finds(&Case {
        subject: "kafka",
        program: "Broker",
        preset: "kafka",
        // Requests to one partition wait for the one that forces its log.
        causes: &[
            "sun.nio.ch.FileDispatcherImpl.force0",
            "sun.nio.ch.UnixFileDispatcherImpl.force0",
            "org.apache.kafka.storage.internals.log.UnifiedLog.flush",
            "org.apache.kafka.storage.internals.log.LogSegment.flush",
            "org.apache.kafka.storage.internals.log.LogSegment$1.call",
        ],
        has_advice: true,
    });
}
