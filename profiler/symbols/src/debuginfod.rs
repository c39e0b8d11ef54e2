//! Debug files from debuginfod servers, by the client program of elfutils.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often a running client is checked.
const POLL: Duration = Duration::from_millis(10);

/// Access to debuginfod servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Debuginfod {
    /// The client of elfutils. It reads `DEBUGINFOD_URLS` itself.
    pub program: PathBuf,
    /// After this time it is ended.
    pub limit: Duration,
}

/// Fetches the debug file of a build into the client's cache. The error says what to do.
pub(crate) fn fetch(client: &Debuginfod, build_id: &[u8]) -> Result<PathBuf, String> {
    if build_id.is_empty() {
        return Err("the program has no build id to ask for".to_owned());
    }
    let child = Command::new(&client.program)
        .args(["debuginfo", &hex(build_id)])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let child = child.map_err(|error| match error.kind() {
        ErrorKind::NotFound => "DEBUGINFOD_URLS is set, but debuginfod-find is not installed; \
            install it (Debian: apt install debuginfod)"
            .to_owned(),
        _ => format!("{} does not start: {error}", client.program.display()),
    })?;
    wait(child, client.limit)
}

fn wait(mut child: Child, limit: Duration) -> Result<PathBuf, String> {
    let begin = Instant::now();
    // What it prints is one path, which fits into a pipe: it never blocks before it exits.
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begin.elapsed() < limit => std::thread::sleep(POLL),
            Ok(None) | Err(_) => {
                // It may have exited already; either way it is reaped.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("no answer within {} s", limit.as_secs()));
            }
        }
    };
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    if !status.success() {
        return Err("the servers do not have this build".to_owned());
    }
    let path = output.stdout.trim_ascii_end().to_vec();
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path)))
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
