//! Servers in a Java virtual machine, under clients. Each was given a cause of slow requests. The cause is among the first two findings, and no
//! request fails.

mod support;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use support::java::{compile_with, jars, jdks, version};
use support::run::{Place, finish_hearing, has_opened_all};

/// Time under load once all methods are opened.
const AFTERWARDS: Duration = Duration::from_secs(5);

/// Where the programs are.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/java");

/// A server with a cause.
struct Case {
    /// Its name in `scripts/jvm/subjects`.
    subject: &'static str,
    /// The program in `tests/java` that starts it, with its clients.
    program: &'static str,
    /// The preset.
    preset: &'static str,
    /// Methods or threads that name the cause. The finding is of such a method, its holders are in one, or its chain of waits leads to such
    /// a thread.
    causes: &'static [&'static str],
    /// It is known what helps.
    has_advice: bool,
    /// A file of options for the JVM, in `tests/java`.
    options: Option<&'static str>,
    /// The newest version of Java that it runs on, if not any.
    newest: Option<u32>,
}

impl Case {
    /// One that needs no options.
    const PLAIN: Case = Case {
        subject: "",
        program: "",
        preset: "",
        causes: &[],
        has_advice: false,
        options: None,
        newest: None,
    };

    /// The JDKs that it is tried on: the newest that it runs on, or all of them if `EVERY_JDK` is set, as `make test-jvm`
    /// does.
    fn jdks(&self) -> Vec<PathBuf> {
        let mut jdks = jdks();
        jdks.retain(|jdk| {
            self.newest
                .is_none_or(|newest| version(jdk).is_some_and(|version| version <= newest))
        });
        jdks.sort_by_key(|jdk| version(jdk));
        match std::env::var_os("EVERY_JDK") {
            Some(_) => jdks,
            None => jdks.pop().into_iter().collect(),
        }
    }

    /// Whether a finding names the cause.
    fn is_named_by(&self, finding: &Value) -> bool {
        let names = [&finding["function"], &finding["meanwhile"]["function"]];
        let links = finding["chain"]["links"].as_array().into_iter().flatten();
        let threads = links.filter_map(|link| link["thread"].as_str()?.split(" #").next());
        let mut names = names.into_iter().filter_map(Value::as_str).chain(threads);
        names.any(|name| self.causes.contains(&name))
    }
}

fn finds(case: &Case) {
    let Some(jars) = jars(case.subject) else {
        eprintln!(
            "SKIPPED: THERE IS NO {}: scripts/install.sh jvm",
            case.subject
        );
        return;
    };
    for jdk in case.jdks() {
        let place = Place::new();
        compile_with(&place, &jdk, &format!("{}.java", case.program), &jars);
        let mut command = place.evenkeel(["profile", "--waits", "--preset", case.preset]);
        // On a busy machine sampling would leave few.
        command
            .args(["--sampling", "all", "--json", "run.json", "--"])
            .arg(jdk.join("bin/java"))
            .args(case.options.map(|file| format!("@{SOURCES}/{file}")))
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
        let mut first = findings.iter().take(2);
        let found = first.find(|finding| case.is_named_by(finding));
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
        ..Case::PLAIN
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
        ..Case::PLAIN
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
        ..Case::PLAIN
    });
}

#[test]
fn a_slow_disk_below_cassandras_commit_log() {
    finds(&Case {
        subject: "cassandra",
        program: "Table",
        preset: "cassandra",
        causes: &["COMMIT-LOG-WRIT"],
        options: Some("cassandra.options"),
        // It installs a security manager.
        newest: Some(23),
        ..Case::PLAIN
    });
}

#[test]
fn too_few_threads_of_tomcat() {
    finds(&Case {
        subject: "tomcat",
        program: "Pages",
        preset: "tomcat",
        causes: &["queued"],
        has_advice: true,
        ..Case::PLAIN
    });
}
