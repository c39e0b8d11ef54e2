//! A load that is a command of the user's.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::{During, Error};

const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Time that a command has to end once it was asked to.
const GRACE: Duration = Duration::from_secs(5);
/// End of its output that an error shows.
const TAIL_BYTES: u64 = 4000;

/// Runs `command` in a shell, with these variables, to its end. False if the user interrupted it.
///
/// # Errors
/// [`Error::Load`] if it fails.
pub fn run(
    command: &str,
    variables: &[(&str, String)],
    interrupted: &AtomicBool,
) -> Result<bool, Error> {
    let mut output = tempfile::tempfile().during(|| "make a temporary file".to_owned())?;
    let again = |file: &File| {
        file.try_clone()
            .during(|| "open a temporary file".to_owned())
    };
    let mut child = Command::new("sh")
        .args(["-c", command])
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(again(&output)?)
        .stderr(again(&output)?)
        // Ctrl-C at a terminal is for us, who then end the load.
        .process_group(0)
        .spawn()
        .during(|| format!("run `{command}`"))?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let signal = |signal| {
        if let Some(group) = group {
            // An error means that the group is gone, which is what is wanted.
            let _ = kill_process_group(group, signal);
        }
    };
    let mut waited = Duration::ZERO;
    let status = loop {
        if let Some(status) = child
            .try_wait()
            .during(|| format!("wait for `{command}`"))?
        {
            break status;
        }
        if interrupted.load(Ordering::Relaxed) {
            signal(if waited < GRACE {
                Signal::TERM
            } else {
                Signal::KILL
            });
            waited += LOOK_EVERY;
        }
        std::thread::sleep(LOOK_EVERY);
    };
    if interrupted.load(Ordering::Relaxed) {
        return Ok(false);
    }
    if status.success() {
        return Ok(true);
    }
    Err(failed(command, status, &mut output))
}

fn failed(command: &str, status: ExitStatus, output: &mut File) -> Error {
    let length = output.metadata().map_or(0, |about| about.len());
    let mut tail = Vec::new();
    let read = output
        .seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))
        .and_then(|_| output.read_to_end(&mut tail));
    let output = match read {
        Ok(_) => String::from_utf8_lossy(&tail).trim_end().to_owned(),
        Err(error) => format!("(its output cannot be read: {error})"),
    };
    Error::Load {
        command: command.to_owned(),
        status: status.to_string(),
        output,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_fails_says_how() {
        let never = AtomicBool::new(false);
        assert!(run("test \"$X\" = 1", &[("X", "1".to_owned())], &never).expect("it succeeds"));
        let error = run("echo no such table >&2; exit 3", &[], &never).expect_err("it fails");
        let text = error.to_string();
        assert!(
            text.contains("no such table") && text.contains("exit status: 3"),
            "{text}"
        );
    }

    #[test]
    fn a_load_ends_when_the_user_has_had_enough() {
        let now = AtomicBool::new(true);
        assert!(!run("sleep 1000 & sleep 1000", &[], &now).expect("it is ended"));
    }
}
