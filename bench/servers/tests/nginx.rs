//! A private nginx from its start to its end. Needs nginx: scripts/install.sh nginx.

use evenkeel_servers::{Nginx, ServerError, http_get};

fn or_explain<T>(result: Result<T, ServerError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn starts_answers_and_stops() {
    let server = or_explain(
        Nginx::default()
            .prepare()
            .and_then(|server| server.start(None)),
    );
    let (folder, port) = (server.folder().to_owned(), server.port());
    assert!(or_explain(http_get(port, "/")).starts_with(b"<!DOCTYPE html>"));
    assert_eq!(or_explain(http_get(port, "/64k.txt")).len(), 64 << 10);
    let stopped = or_explain(server.stop());
    assert!(
        stopped.status.is_some_and(|status| status.success()),
        "{stopped:?}"
    );
    assert!(!folder.exists(), "{} is left", folder.display());
}

#[test]
fn a_wrong_directive_is_refused_before_the_start() {
    let nginx = Nginx {
        directives: vec!["no_such_directive 1;".into()],
        ..Nginx::default()
    };
    match nginx.prepare() {
        Err(ServerError::Failed { output, .. }) => {
            assert!(output.contains("no_such_directive"), "{output}")
        }
        other => panic!("expected Failed, got {other:?}"),
    }
}

#[test]
fn directives_are_the_servers() {
    let nginx = Nginx {
        workers: 2,
        directives: vec!["location /six { return 200 seven; }".into()],
        ..Nginx::default()
    };
    let server = or_explain(nginx.prepare().and_then(|server| server.start(None)));
    assert_eq!(or_explain(http_get(server.port(), "/six")), b"seven");
}
