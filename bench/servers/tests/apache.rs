//! A private Apache from its start to its end. Needs Apache: scripts/install.sh apache.

use evenkeel_servers::{Apache, ApacheOptions, ServerError};

fn or_explain<T>(result: Result<T, ServerError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn starts_answers_and_stops() {
    let server = Apache::prepare(&ApacheOptions::default()).and_then(|server| server.start(None));
    let server = or_explain(server);
    let folder = server.folder().to_owned();
    assert!(or_explain(server.get("/")).starts_with(b"<!DOCTYPE html>"));
    assert_eq!(or_explain(server.get("/1k.txt")).len(), 1 << 10);
    assert_eq!(or_explain(server.get("/1m.txt")).len(), 1 << 20);
    assert!(matches!(
        server.get("/absent"),
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
    let options = ApacheOptions {
        directives: vec!["NoSuchDirective 1".into()],
        ..ApacheOptions::default()
    };
    match Apache::prepare(&options) {
        Err(ServerError::Failed { output, .. }) => {
            assert!(output.contains("NoSuchDirective"), "{output}")
        }
        other => panic!("expected Failed, got {other:?}"),
    }
}

#[test]
fn directives_are_added() {
    let options = ApacheOptions {
        directives: vec!["ServerTokens Prod".into()],
        ..ApacheOptions::default()
    };
    let server = or_explain(Apache::prepare(&options).and_then(|server| server.start(None)));
    assert_eq!(or_explain(server.get("/64k.txt")).len(), 64 << 10);
}
