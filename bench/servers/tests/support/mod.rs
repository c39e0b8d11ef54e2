//! Requirements of the tests of all servers.

use std::fmt::Debug;

use evenkeel_servers::{RunningServer, ServerError, Stopped};

#[track_caller]
pub fn or_explain<T>(result: Result<T, ServerError>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// Stops a server: it ends well, and leaves neither process nor folder.
#[track_caller]
pub fn assert_ends_well<S>(server: RunningServer<S>) -> Stopped {
    let folder = server.folder().to_owned();
    let pid = server.pid().expect("it runs");
    let stopped = or_explain(server.stop());
    assert!(
        stopped.status.is_some_and(|status| status.success()),
        "{stopped:?}"
    );
    assert!(!folder.exists(), "{} is left", folder.display());
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    stopped
}

/// The log of a server that ended at its start.
#[track_caller]
pub fn log_of_refusal<S: Debug>(result: Result<RunningServer<S>, ServerError>) -> String {
    match result {
        Err(ServerError::EndedAtStart { log, .. }) => log,
        other => panic!("expected EndedAtStart, got {other:?}"),
    }
}
