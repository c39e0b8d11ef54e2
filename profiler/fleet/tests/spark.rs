//! A cluster of Spark answers as the embedded engine does: a master and two workers, on loopback.

#[path = "spark/cluster.rs"]
mod cluster;
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cluster::Cluster;
use evenkeel_export::columns::schema::Table;
use serde_json::Value;
use support::{QUESTIONS, Said, planted, python, rows, run, same, source};

/// The first sort key of an answer: numbers in the same order, however their last digits differ.
fn order(question: &str, row: &Value) -> (String, f64) {
    let number = |name: &str| row[name].as_f64().unwrap();
    let text = |name: &str| row[name].as_str().unwrap().to_owned();
    match question {
        "shares" => (String::new(), number("share")),
        "tails" => (text("tail"), number("tail_share")),
        "factors" => (String::new(), number("score")),
        "classes" => (String::new(), number("intervals")),
        _ => (
            text("dimension"),
            (number("mean_ns") - number("others_mean_ns")).abs(),
        ),
    }
}

fn same_order(ours: &[Value], theirs: &[Value], question: &str) {
    for (ours, theirs) in ours.iter().zip(theirs) {
        let names = |row: &Value| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(ours), names(theirs), "{question}");
        let (ours, theirs) = (order(question, ours), order(question, theirs));
        let is_near = (ours.1 - theirs.1).abs() <= 1e-9 * ours.1.abs() + 1e-9;
        assert!(
            ours.0 == theirs.0 && is_near,
            "{question}: {ours:?} where Spark has {theirs:?}"
        );
    }
}

/// The script, on a cluster.
struct Spark {
    python: PathBuf,
    cluster: Cluster,
    scratch: PathBuf,
}

impl Spark {
    fn start(directory: &Path) -> Option<Spark> {
        let python = python("spark")?;
        let scratch = directory.join("spark");
        fs::create_dir(&scratch).unwrap();
        Some(Spark {
            cluster: Cluster::start(&python, &scratch),
            python,
            scratch,
        })
    }

    fn run(&self, tables: &Path, words: &[&str]) -> Said {
        let settings = [
            "spark.driver.host=127.0.0.1",
            "spark.driver.bindAddress=127.0.0.1",
            "spark.ui.enabled=false",
            "spark.driver.memory=512m",
            "spark.executor.memory=512m",
            "spark.sql.shuffle.partitions=4",
        ];
        let mut command = Command::new(&self.python);
        command
            .arg(source("scripts/fleet/spark.py"))
            .arg(tables)
            .args(words);
        for setting in settings {
            command.args(["--conf", setting]);
        }
        run(command
            .args(["--master", &self.cluster.address])
            .env("SPARK_LOCAL_IP", "127.0.0.1")
            .env("SPARK_LOCAL_DIRS", &self.scratch)
            .current_dir(&self.scratch))
    }

    /// Rows of each question, in one application.
    fn answers(&self, tables: &Path, words: &[&str]) -> Vec<(String, Vec<Value>)> {
        let said = self.run(tables, &[&["--json"][..], words].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let answers = said.stdout.lines().map(|line| {
            let mut answer: Value = serde_json::from_str(line).unwrap();
            let rows = answer["rows"].as_array_mut().unwrap().split_off(0);
            (
                answer["question"].as_str().unwrap_or_default().to_owned(),
                rows,
            )
        });
        answers.collect()
    }

    #[track_caller]
    fn refused(&self, tables: &Path, words: &[&str], expected: &[&str]) {
        self.run(tables, words).refuses(1, expected);
    }
}

/// Every question of hosts with other clocks, builds, days and names, and of a real server's recording.
#[test]
fn a_cluster_answers_as_the_embedded_engine() {
    let place = tempfile::tempdir().unwrap();
    let Some(spark) = Spark::start(place.path()) else {
        return;
    };
    planted(place.path());
    let recording = source("profiler/recording/tests/recordings/postgres-transaction.keel");
    support::export(place.path(), &recording, "postgres");
    for name in ["planted", "postgres"] {
        let tables = place.path().join(name);
        let answers = spark.answers(&tables, &QUESTIONS);
        let names: Vec<&str> = answers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, QUESTIONS);
        for (question, theirs) in &answers {
            let ours = rows(&tables, &["--question", question]);
            if ours.is_empty() {
                // A single host, build, class and day.
                assert_eq!((question.as_str(), theirs.len()), ("groups", 0));
                continue;
            }
            same(&ours, theirs, question);
            same_order(&ours, theirs, question);
        }
    }
    assert_eq!(spark.cluster.workers_used(), 2);

    let tables = place.path().join("planted");
    let by_host = spark.answers(&tables, &["--by", "host"]);
    let ours = rows(&tables, &["--by", "host"]);
    same(&ours, &by_host[0].1, "groups");
    same_order(&ours, &by_host[0].1, "groups");

    spark.refused(
        place.path(),
        &["shares"],
        &["has no table intervals", "evenkeel export"],
    );
    let query = place.path().join("query.sql");
    fs::write(&query, "SELECT SUM(inclusive_squared) * CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0)) FROM moments").unwrap();
    spark.refused(
        &tables,
        &["--sql", query.to_str().unwrap()],
        &["query.sql cannot be answered", "fewer days"],
    );

    let later = tables.join("moments/day=2023-11-14/host=later");
    fs::create_dir(&later).unwrap();
    for (version, said) in [(Some("99"), "has version 99"), (None, "which version")] {
        support::empty_file(&later.join("run.parquet"), Table::Moments, &[], version);
        spark.refused(&tables, &["shares"], &["host=later/run.parquet", said]);
    }
}
