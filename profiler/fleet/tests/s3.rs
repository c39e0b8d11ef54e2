//! Tables in a store with the protocol of S3, on loopback: the same answers as from a directory, and what is wrong is said.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;
use support::{Said, export, planted, python, rows, run, same, source};

const BUCKET: &str = "tables";
const PREFIX: &str = "of all/fleet";

/// Ends with its standard input, which is the test's.
struct Store {
    child: Child,
    lines: BufReader<ChildStdout>,
    address: String,
}

impl Store {
    /// A store with the files of a directory.
    fn start(directory: &Path) -> Option<Store> {
        let mut child = Command::new(python("s3")?)
            .arg(source("profiler/fleet/tests/s3/server.py"))
            .arg(directory)
            .args([BUCKET, PREFIX])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut store = Store {
            child,
            lines,
            address: String::new(),
        };
        store.address = store.line();
        assert!(
            store.address.starts_with("http://127.0.0.1:"),
            "it did not start"
        );
        Some(store)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// From now on, nobody may do anything.
    fn deny(&mut self) {
        self.child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(b"deny\n")
            .unwrap();
        assert_eq!(self.line(), "denied");
    }

    fn ask(&self, words: &[&str], changes: &[(&str, Option<&str>)]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel-fleet"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("AWS_") {
                command.env_remove(name);
            }
        }
        let mut variables = vec![
            ("AWS_ACCESS_KEY_ID", Some("key")),
            ("AWS_SECRET_ACCESS_KEY", Some("secret")),
            ("AWS_REGION", Some("us-east-1")),
            ("AWS_ENDPOINT_URL", Some(self.address.as_str())),
            ("AWS_ALLOW_HTTP", Some("true")),
            ("NO_PROXY", Some("127.0.0.1")),
        ];
        variables.extend(changes);
        for (name, value) in variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        run(command.args(words))
    }

    #[track_caller]
    fn refused(&self, place: &str, changes: &[(&str, Option<&str>)], expected: &[&str]) {
        self.ask(&[place], changes).refuses(2, expected);
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[test]
fn tables_of_a_bucket_are_those_of_the_directory() {
    let place = tempfile::tempdir().unwrap();
    planted(place.path());
    let tables = place.path().join("planted");
    let Some(store) = Store::start(&tables) else {
        return;
    };
    let bucket = format!("s3://{BUCKET}/{PREFIX}");
    for words in [&["--question", "tails"][..], &["--by", "host"]] {
        let said = store.ask(&[&[bucket.as_str(), "--json"][..], words].concat(), &[]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let answer: Value = serde_json::from_str(&said.stdout).unwrap();
        same(
            &rows(&tables, words),
            answer["rows"].as_array().unwrap(),
            words[1],
        );
    }
    let shown = store.ask(&[&format!("{bucket}/")], &[]);
    assert!(
        shown.stdout.starts_with("4 hosts, 2 builds"),
        "{} {}",
        shown.stdout,
        shown.stderr
    );
}

#[test]
fn what_a_store_refuses_is_said() {
    let place = tempfile::tempdir().unwrap();
    let recording = source("profiler/session/tests/recordings/apache-request.keel");
    export(place.path(), &recording, "tables");
    let tables = place.path().join("tables");
    let Some(mut store) = Store::start(&tables) else {
        return;
    };
    let bucket = format!("s3://{BUCKET}/{PREFIX}");
    let key = "AWS_ACCESS_KEY_ID";
    let secret = "AWS_SECRET_ACCESS_KEY";
    store.refused(
        &bucket,
        &[(key, None), (secret, None)],
        &["no credentials", key, secret],
    );
    store.refused(
        &bucket,
        &[(secret, None)],
        &["AWS_SECRET_ACCESS_KEY is not"],
    );
    store.refused(
        &bucket,
        &[("AWS_ALLOW_HTTP", None)],
        &["AWS_ALLOW_HTTP=true"],
    );
    store.refused("s3://", &[], &["names no bucket"]);
    store.refused("gs://bucket/fleet", &[], &["gs:// is not read"]);
    store.refused(
        "s3://missing/fleet",
        &[],
        &[
            "s3://missing/fleet",
            "NoSuchBucket",
            "the name of the bucket",
        ],
    );
    store.refused(
        &format!("s3://{BUCKET}/elsewhere"),
        &[],
        &["no table intervals", "aws s3 sync"],
    );
    // A port that nothing listens at.
    store.refused(
        &bucket,
        &[("AWS_ENDPOINT_URL", Some("http://127.0.0.1:9"))],
        &["AWS_ENDPOINT_URL"],
    );
    store.deny();
    store.refused(&bucket, &[], &["cannot read s3://", key]);
}
