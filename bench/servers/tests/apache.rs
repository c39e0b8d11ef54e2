//! A private Apache from its start to its end. Needs Apache: scripts/install.sh apache.

use evenkeel_servers::{Apache, Mpm, ServerError, http_get};

fn or_explain<T>(result: Result<T, ServerError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn starts_answers_and_stops() {
    let server = Apache::default()
        .prepare()
        .and_then(|server| server.start(None));
    let server = or_explain(server);
    let (folder, port) = (server.folder().to_owned(), server.port());
    assert!(or_explain(http_get(port, "/")).starts_with(b"<!DOCTYPE html>"));
    assert_eq!(or_explain(http_get(port, "/1k.txt")).len(), 1 << 10);
    assert_eq!(or_explain(http_get(port, "/1m.txt")).len(), 1 << 20);
    assert!(matches!(
        http_get(port, "/absent"),
        Err(ServerError::Unreadable {
            what: "status 200",
            ..
        })
    ));
    let stopped = or_explain(server.stop());
    assert!(
        stopped.status.is_some_and(|status| status.success()),
        "{stopped:?}"
    );
    assert!(!folder.exists(), "{} is left", folder.display());
}

#[test]
fn a_wrong_directive_is_refused_before_the_start() {
    let apache = Apache {
        directives: vec!["NoSuchDirective 1".into()],
        ..Apache::default()
    };
    match apache.prepare() {
        Err(ServerError::Failed { output, .. }) => {
            assert!(output.contains("NoSuchDirective"), "{output}")
        }
        other => panic!("expected Failed, got {other:?}"),
    }
}

#[test]
fn directives_are_added() {
    let apache = Apache {
        directives: vec!["ServerTokens Prod".into()],
        ..Apache::default()
    };
    let server = or_explain(apache.prepare().and_then(|server| server.start(None)));
    assert_eq!(
        or_explain(http_get(server.port(), "/64k.txt")).len(),
        64 << 10
    );
}

#[test]
fn scripts_run_under_either_module() {
    for mpm in [Mpm::Event, Mpm::Worker] {
        let script = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'; echo $((6 * 7))\n";
        let apache = Apache {
            mpm,
            scripts: vec![("answer".into(), script.into())],
            ..Apache::default()
        };
        let server = or_explain(apache.prepare().and_then(|server| server.start(None)));
        let answer = or_explain(http_get(server.port(), "/cgi-bin/answer"));
        assert_eq!(answer, b"42\n", "{mpm:?}");
    }
}
