//! Tables in a store with the protocol of S3, on loopback: the same answers as from a directory, and a message for
//! each error.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
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
        let child = Command::new(python("s3")?)
            .arg(source("profiler/fleet/tests/s3/server.py"))
            .arg(directory)
            .args([BUCKET, PREFIX])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        Some(Store::of(child.unwrap(), "http://127.0.0.1:"))
    }

    /// A program that prints its address, which begins so.
    fn of(mut child: Child, begins: &str) -> Store {
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut store = Store {
            child,
            lines,
            address: String::new(),
        };
        store.address = store.line();
        assert!(store.address.starts_with(begins), "it did not start");
        store
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
        ask(&self.address, words, changes)
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

/// Asks the program, with a store at this address and these changes of its environment.
fn ask(address: &str, words: &[&str], changes: &[(&str, Option<&str>)]) -> Said {
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
        ("AWS_ENDPOINT_URL", Some(address)),
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
fn refusals_of_a_store_are_explained() {
    let place = tempfile::tempdir().unwrap();
    let recording = source("profiler/recording/tests/recordings/apache-request.keel");
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

/// A store that answers every request in one way.
struct Answering(String);

impl Answering {
    /// `answer`: to the head of a request.
    fn start(answer: impl Fn(&str) -> String + Send + 'static) -> Answering {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        // It ends with the test.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let _ = serve(stream.unwrap(), &answer);
            }
        });
        Answering(address)
    }

    /// A store that refuses all requests, with this status, code and more lines of the head.
    fn refusing(status: &str, code: &str, head: &str) -> Answering {
        let body = format!("<Error><Code>{code}</Code><Message>That is why.</Message></Error>");
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nConnection: close\r\n{head}Content-Length: {length}\r\n\r\n{body}"
        );
        Answering::start(move |_| answer.clone())
    }
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&str) -> String) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte)? > 0 {
        head.push(byte[0]);
    }
    stream.write_all(answer(&String::from_utf8_lossy(&head)).as_bytes())
}

/// Errors of stores: each has its own message, with what to do.
#[test]
fn every_refusal_says_what_to_do() {
    let elsewhere = "x-amz-bucket-region: eu-central-1\r\n";
    let moved = "Location: https://tables.s3.eu-central-1.amazonaws.com/\r\n";
    let cases = [
        (
            "301 Moved Permanently",
            "PermanentRedirect",
            elsewhere,
            "set AWS_REGION",
        ),
        (
            "400 Bad Request",
            "AuthorizationHeaderMalformed",
            "",
            "set AWS_REGION",
        ),
        ("403 Forbidden", "AccessDenied", "", "s3:ListBucket"),
        (
            "404 Not Found",
            "NoSuchBucket",
            "",
            "the name of the bucket",
        ),
        ("400 Bad Request", "ExpiredToken", "", "get a new one"),
        (
            "403 Forbidden",
            "InvalidAccessKeyId",
            "",
            "AWS_ACCESS_KEY_ID",
        ),
        (
            "403 Forbidden",
            "SignatureDoesNotMatch",
            "",
            "AWS_SECRET_ACCESS_KEY",
        ),
        (
            "403 Forbidden",
            "RequestTimeTooSkewed",
            "",
            "clock is wrong",
        ),
    ];
    for (status, code, head, advice) in cases {
        let store = Answering::refusing(status, code, head);
        let said = ask(&store.0, &["s3://tables/fleet"], &[]);
        said.refuses(2, &["cannot read s3://tables/fleet", advice]);
    }
    // A redirect that names where to is not followed to another machine with the key.
    let store = Answering::refusing("301 Moved Permanently", "PermanentRedirect", moved);
    ask(&store.0, &["s3://tables/fleet"], &[]).refuses(2, &["cannot read s3://tables/fleet"]);
}

/// A store that lists a file and does not give all of it.
#[test]
fn a_file_that_ends_too_early() {
    let key = "fleet/intervals/day=2023-11-14/host=a/run.parquet";
    let store = Answering::start(move |head| {
        if head.contains("list-type=2") {
            let body = format!(
                "<ListBucketResult><Name>tables</Name><KeyCount>1</KeyCount><IsTruncated>false</IsTruncated><Contents><Key>{key}</Key>\
                 <LastModified>2023-11-14T00:00:00.000Z</LastModified><ETag>\"1\"</ETag><Size>100000</Size></Contents></ListBucketResult>"
            );
            let length = body.len();
            return format!(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
            );
        }
        "HTTP/1.1 206 Partial Content\r\nConnection: close\r\nETag: \"1\"\r\nLast-Modified: Tue, 14 Nov 2023 00:00:00 GMT\r\n\
         Content-Range: bytes 34464-99999/100000\r\nContent-Length: 65536\r\n\r\nPAR1"
            .to_owned()
    });
    let said = ask(&store.0, &["s3://tables/fleet"], &[]);
    said.refuses(2, &[key]);
}

/// An object that was cut when it was copied there is no table.
#[test]
fn a_table_that_was_cut() {
    let place = tempfile::tempdir().unwrap();
    let recording = source("profiler/recording/tests/recordings/apache-request.keel");
    export(place.path(), &recording, "tables");
    let tables = place.path().join("tables");
    let moments = files_below(&tables.join("moments")).remove(0);
    let whole = std::fs::read(&moments).unwrap();
    std::fs::write(&moments, &whole[..whole.len() / 2]).unwrap();
    let Some(store) = Store::start(&tables) else {
        return;
    };
    let bucket = format!("s3://{BUCKET}/{PREFIX}");
    store.refused(
        &bucket,
        &[],
        &["moments/day=", "is damaged", "export its recording again"],
    );
}

fn files_below(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files_below(&path),
            false => vec![path],
        })
        .collect()
}

/// A store whose certificate nobody vouches for is not trusted with the key, unless the user says that it is to be.
#[test]
fn a_store_that_cannot_show_who_it_is() {
    let Some(python) = python("s3") else { return };
    let place = tempfile::tempdir().unwrap();
    let certificate = place.path().join("certificate.pem");
    let child = Command::new(python)
        .arg(source("profiler/fleet/tests/s3/tls.py"))
        .arg(&certificate)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let store = Store::of(child.unwrap(), "https://127.0.0.1:");
    store.refused(
        "s3://tables/fleet",
        &[("AWS_ALLOW_HTTP", None)],
        &["certificate", "certificate is not trusted", "SSL_CERT_FILE"],
    );
    let trusted = certificate.to_str().unwrap();
    store.refused(
        "s3://tables/fleet",
        &[("AWS_ALLOW_HTTP", None), ("SSL_CERT_FILE", Some(trusted))],
        &["NoSuchBucket"],
    );
}
