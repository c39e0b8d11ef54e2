//! A private Redis from its start to its end. Needs Redis: scripts/install.sh redis.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use evenkeel_servers::{Redis, ServerError};

fn or_explain<T>(result: Result<T, ServerError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// All that the server answers until it ends the connection.
fn ask(port: u16, lines: &str) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.write_all(lines.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn starts_answers_and_stops() {
    let server = or_explain(
        Redis::default()
            .prepare()
            .and_then(|server| server.start(None)),
    );
    let (folder, port) = (server.folder().to_owned(), server.port());
    assert_eq!(
        ask(port, "SET a 42\r\nGET a\r\nQUIT\r\n"),
        "+OK\r\n$2\r\n42\r\n+OK\r\n"
    );
    let stopped = or_explain(server.stop());
    assert!(
        stopped.status.is_some_and(|status| status.success()),
        "{stopped:?}"
    );
    assert!(!folder.exists(), "{} is left", folder.display());
}

#[test]
fn threads_and_directives_are_set() {
    let redis = Redis {
        io_threads: 3,
        directives: vec!["maxclients 77".into()],
        ..Redis::default()
    };
    let server = or_explain(redis.prepare().and_then(|server| server.start(None)));
    let answer = ask(
        server.port(),
        "CONFIG GET io-threads\r\nCONFIG GET maxclients\r\nQUIT\r\n",
    );
    assert!(
        answer.contains("\r\n3\r\n") && answer.contains("\r\n77\r\n"),
        "{answer}"
    );
}

#[test]
fn a_wrong_directive_fails_with_the_servers_own_words() {
    let redis = Redis {
        directives: vec!["no-such-directive 1".into()],
        ..Redis::default()
    };
    match redis.prepare().and_then(|server| server.start(None)) {
        Err(ServerError::EndedAtStart { log, .. }) => {
            assert!(log.contains("no-such-directive"), "{log}")
        }
        other => panic!("expected EndedAtStart, got {other:?}"),
    }
}
