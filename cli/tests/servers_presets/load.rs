//! Load tools, and the numbers in what they say.

use std::env;
use std::process::{Child, Command, Stdio};

use evenkeel_servers::{LoopbackServer, ServerError};

use crate::support::servers::skip;

/// The prepared server; `None`, said on standard error, where it or the load tool is not installed. In continuous
/// integration, which sets `CI`, both have to be.
#[track_caller]
pub fn installed_with(
    prepared: Result<LoopbackServer, ServerError>,
    tool: &str,
) -> Option<LoopbackServer> {
    let missing = match prepared {
        Ok(server) if is_on_path(tool) => return Some(server),
        Ok(_) => format!("there is no `{tool}`"),
        Err(error @ ServerError::NotInstalled { .. }) => error.to_string(),
        Err(error) => panic!("{error}"),
    };
    skip(&missing);
    None
}

fn is_on_path(tool: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(tool).is_file())
}

/// A tool that runs.
pub struct Running {
    name: String,
    child: Child,
}

/// Starts a tool.
#[track_caller]
pub fn start(tool: &str, arguments: &[&str]) -> Running {
    let mut command = Command::new(tool);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Running {
        name: tool.to_owned(),
        child: command.spawn().unwrap(),
    }
}

impl Running {
    /// Its output, once it ended well.
    #[track_caller]
    pub fn output(self) -> String {
        let output = self.child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (said, errors) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{}: {said}\n{errors}", self.name);
        said
    }
}

/// Runs a tool to its end and returns what it wrote to its output.
#[track_caller]
pub fn run(tool: &str, arguments: &[&str]) -> String {
    start(tool, arguments).output()
}

/// The number that follows `text`.
#[track_caller]
pub fn number_after(said: &str, text: &str) -> u64 {
    let rest = said.split_once(text).map(|(_, rest)| rest.trim_start());
    let digits = rest.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    digits
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_else(|| panic!("no number after {text:?} in:\n{said}"))
}

/// The number that precedes `text`.
#[track_caller]
pub fn number_before(said: &str, text: &str) -> u64 {
    let before = said.split_once(text).map(|(before, _)| before);
    let digits = before.and_then(|before| before.rsplit(|c: char| !c.is_ascii_digit()).next());
    digits
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_else(|| panic!("no number before {text:?} in:\n{said}"))
}
