//! Private servers on a loopback port from their start to their end. Needs all four: scripts/install.sh apache nginx redis
//! memcached.

mod support;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use evenkeel_servers::{Apache, Memcached, Mpm, Nginx, Redis, http_get};
use evenkeel_servers::{LoopbackServer, RunningLoopbackServer, ServerError};
use support::{assert_ends_well, log_of_refusal, or_explain};

#[track_caller]
fn started(prepared: Result<LoopbackServer, ServerError>) -> RunningLoopbackServer {
    or_explain(prepared.and_then(|server| server.start(None)))
}

/// Result of the server's own check of its configuration.
#[track_caller]
fn refusal(prepared: Result<LoopbackServer, ServerError>) -> String {
    match prepared {
        Err(ServerError::Failed { output, .. }) => output,
        other => panic!("expected Failed, got {other:?}"),
    }
}

/// All that the server answers until it ends the connection.
fn ask(port: u16, lines: &str) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.write_all(lines.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The documents that Apache and nginx serve.
#[track_caller]
fn assert_documents(port: u16) {
    assert!(or_explain(http_get(port, "/")).starts_with(b"<!DOCTYPE html>"));
    for (path, bytes) in [
        ("/1k.txt", 1 << 10),
        ("/64k.txt", 64 << 10),
        ("/1m.txt", 1 << 20),
    ] {
        assert_eq!(or_explain(http_get(port, path)).len(), bytes, "{path}");
    }
    assert!(matches!(
        http_get(port, "/absent"),
        Err(ServerError::Unreadable {
            what: "status 200",
            ..
        })
    ));
}

// Apache ----------------------------------------------------------------------------------------------------------------

#[test]
fn apache_starts_answers_and_stops() {
    let server = started(Apache::default().prepare());
    assert_documents(server.port());
    assert_ends_well(server);
}

#[test]
fn apache_checks_directives_before_the_start() {
    let apache = Apache {
        directives: vec!["NoSuchDirective 1".into()],
        ..Apache::default()
    };
    let said = refusal(apache.prepare());
    assert!(said.contains("NoSuchDirective"), "{said}");
}

#[test]
fn apache_takes_directives() {
    let apache = Apache {
        directives: ["<Files 1k.txt>", "Require all denied", "</Files>"]
            .map(str::to_owned)
            .to_vec(),
        ..Apache::default()
    };
    let server = started(apache.prepare());
    assert!(http_get(server.port(), "/64k.txt").is_ok());
    assert!(http_get(server.port(), "/1k.txt").is_err());
}

#[test]
fn apache_runs_scripts_under_either_module() {
    for mpm in [Mpm::Event, Mpm::Worker] {
        let script = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'; echo $((6 * 7))\n";
        let apache = Apache {
            mpm,
            scripts: vec![("answer".into(), script.into())],
            ..Apache::default()
        };
        let server = started(apache.prepare());
        let answer = or_explain(http_get(server.port(), "/cgi-bin/answer"));
        assert_eq!(answer, b"42\n", "{mpm:?}");
    }
}

// nginx -----------------------------------------------------------------------------------------------------------------

#[test]
fn nginx_starts_answers_and_stops() {
    let server = started(Nginx::default().prepare());
    assert_documents(server.port());
    assert_ends_well(server);
}

#[test]
fn nginx_checks_directives_before_the_start() {
    let nginx = Nginx {
        directives: vec!["no_such_directive 1;".into()],
        ..Nginx::default()
    };
    let said = refusal(nginx.prepare());
    assert!(said.contains("no_such_directive"), "{said}");
}

#[test]
fn nginx_takes_directives() {
    let nginx = Nginx {
        workers: 2,
        directives: vec!["location /six { return 200 seven; }".into()],
        ..Nginx::default()
    };
    let server = started(nginx.prepare());
    assert_eq!(or_explain(http_get(server.port(), "/six")), b"seven");
}

// Redis -----------------------------------------------------------------------------------------------------------------

#[test]
fn redis_starts_answers_and_stops() {
    let server = started(Redis::default().prepare());
    assert_eq!(
        ask(server.port(), "SET a 42\r\nGET a\r\nQUIT\r\n"),
        "+OK\r\n$2\r\n42\r\n+OK\r\n"
    );
    assert_ends_well(server);
}

#[test]
fn redis_takes_threads_and_directives() {
    let redis = Redis {
        io_threads: 3,
        directives: vec!["maxclients 77".into()],
        ..Redis::default()
    };
    let server = started(redis.prepare());
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
fn redis_refuses_a_directive_in_its_own_words() {
    let redis = Redis {
        directives: vec!["no-such-directive 1".into()],
        ..Redis::default()
    };
    let log = log_of_refusal(redis.prepare().and_then(|server| server.start(None)));
    assert!(log.contains("no-such-directive"), "{log}");
}

// memcached -------------------------------------------------------------------------------------------------------------

#[test]
fn memcached_starts_answers_and_stops() {
    let server = started(Memcached::default().prepare());
    assert_eq!(
        ask(server.port(), "set a 0 0 2\r\n42\r\nget a\r\nquit\r\n"),
        "STORED\r\nVALUE a 0 2\r\n42\r\nEND\r\n"
    );
    assert_ends_well(server);
}

#[test]
fn memcached_takes_threads_and_arguments() {
    let memcached = Memcached {
        threads: 2,
        args: ["-c", "77"].map(Into::into).to_vec(),
        ..Memcached::default()
    };
    let server = started(memcached.prepare());
    let answer = ask(server.port(), "stats settings\r\nquit\r\n");
    assert!(answer.contains("STAT num_threads 2\r\n"), "{answer}");
    assert!(answer.contains("STAT maxconns 77\r\n"), "{answer}");
}
