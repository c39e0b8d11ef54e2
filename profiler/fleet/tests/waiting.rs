//! A waiting user sees a line of progress, can end the program at once, and gets a message if memory is short.

mod support;

use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use support::{fleet, planted, rows, run, same};

const PROGRAM: &str = env!("CARGO_BIN_EXE_evenkeel-fleet");

/// On a terminal a line shows the progress, and disappears before the answer; elsewhere there is no line.
#[test]
fn a_terminal_shows_how_far_it_is() {
    let place = tempfile::tempdir().unwrap();
    planted(place.path());
    let tables = place.path().join("planted");
    // A separate terminal, made by a program that every Linux has.
    let command = format!("'{PROGRAM}' '{}' -q classes", tables.display());
    let said = run(Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::null()));
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    let parts: Vec<&str> = said.stdout.split("\r\x1b[K").collect();
    let [nothing, lines @ .., answer] = parts.as_slice() else {
        panic!("no line: {}", said.stdout);
    };
    assert!(nothing.is_empty() && answer.contains("4 hosts"), "{answer}");
    let stages = ["tables", "files", "planning"];
    for line in lines {
        assert!(stages.iter().any(|stage| line.contains(stage)), "{line:?}");
    }

    let said = fleet([tables.as_os_str(), "-q".as_ref(), "classes".as_ref()]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
}

/// A store that never answers: Ctrl-C and a request to terminate still work, and no file is left.
#[test]
fn it_ends_when_it_is_asked_to() {
    let scratch = tempfile::tempdir().unwrap();
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let store = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut asking = Command::new(PROGRAM)
            .arg("s3://bucket/fleet")
            .env(
                "AWS_ENDPOINT_URL",
                format!("http://{}", store.local_addr().unwrap()),
            )
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_SKIP_SIGNATURE", "true")
            .env("TMPDIR", scratch.path())
            .spawn()
            .unwrap();
        // It waits for an answer now.
        let _silent = store.accept().unwrap();
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
        let number = asking.id().to_string();
        let sent = Command::new("kill").args([signal, &number]).status();
        assert!(sent.unwrap().success());
        assert_eq!(asking.wait().unwrap().code(), Some(code));
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }
}

/// Asks a query with little memory.
fn with_memory(tables: &Path, query: &str, memory: &str) -> support::Said {
    let file = tables.with_file_name("query.sql");
    fs::write(&file, query).unwrap();
    let words = [tables.as_os_str(), "--sql".as_ref(), file.as_os_str()];
    let more = ["--json", "--memory", memory].map(OsStr::new);
    fleet(words.into_iter().chain(more))
}

/// Joins must fit into memory; sorts use files.
#[test]
fn short_memory_ends_in_words() {
    let place = tempfile::tempdir().unwrap();
    planted(place.path());
    let tables = place.path().join("planted");
    let join = "SELECT COUNT(*) AS n FROM times AS a JOIN times AS b ON a.interval = b.interval AND a.host = b.host";
    with_memory(&tables, join, "100k").refuses(
        2,
        &[
            "query.sql cannot be answered",
            "allocate",
            "--memory",
            "DuckDB",
        ],
    );
    let said = with_memory(&tables, join, "1G");
    assert_eq!(said.code, Some(0), "{}", said.stderr);

    let questions = ["shares", "groups"];
    for question in questions {
        let all = rows(&tables, &["-q", question]);
        let few = rows(&tables, &["-q", question, "--memory", "64MiB"]);
        same(&few, &all, question);
        // Whatever there is: the same numbers, or none.
        for memory in ["64k", "1MiB", "8MiB", "24MiB"] {
            let words = ["--json", "-q", question, "--memory", memory].map(OsStr::new);
            let said = fleet([tables.as_os_str()].into_iter().chain(words));
            match said.code {
                Some(0) => same(&said.rows(), &all, question),
                _ => said.refuses(2, &[question, "cannot be answered", "--memory"]),
            }
        }
    }
    let said = fleet([tables.as_os_str(), "--memory".as_ref(), "much".as_ref()]);
    said.refuses(2, &["8GiB"]);
}
