//! The start of a server, as data: a caller may run it directly, under another command, or differently.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::account::Account;
use crate::error::{During, ServerError};

/// A program with its arguments, environment, user and working directory.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Arguments, without the program's name.
    pub args: Vec<OsString>,
    /// Variables added to (or overriding those of) the caller's environment.
    pub env: Vec<(OsString, OsString)>,
    /// User to run as, if not the caller's.
    pub account: Option<Account>,
    /// Working directory: one that the user may enter.
    pub working_directory: PathBuf,
}

impl Launch {
    /// User and group id to run as; `None` means the caller's.
    pub fn user(&self) -> Option<(u32, u32)> {
        self.account
            .as_ref()
            .map(|account| (account.uid, account.gid))
    }

    /// The same start under another command, which gets the program and its arguments as its last arguments and runs
    /// as the same user. An empty `wrap` changes nothing.
    pub fn wrapped(mut self, wrap: &[OsString]) -> Self {
        if let Some((program, first_args)) = wrap.split_first() {
            let inner = std::mem::replace(&mut self.program, program.into());
            let inner_args = std::mem::take(&mut self.args);
            self.args = first_args
                .iter()
                .cloned()
                .chain([inner.into_os_string()])
                .chain(inner_args)
                .collect();
        }
        self
    }

    /// A command that starts it in the foreground. `uid` and `gid` are set where the user changes, and then the caller's
    /// supplementary groups are dropped (the standard library does so when root sets a uid).
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(&self.working_directory);
        if let Some((uid, gid)) = self.user() {
            command.uid(uid).gid(gid);
        }
        command
    }
}

/// Runs a program to its end and returns what it wrote to its output.
pub(crate) fn run(command: &mut Command) -> Result<String, ServerError> {
    run_with_input(command, Stdio::null())
}

/// [`run`] with something to read.
pub(crate) fn run_with_input(command: &mut Command, input: Stdio) -> Result<String, ServerError> {
    let words = words(command);
    let output = command
        .stdin(input)
        .output()
        .during(|| format!("run `{words}`"))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let output_text = if stderr.trim().is_empty() {
        stdout
    } else {
        stderr
    };
    Err(ServerError::Failed {
        command: words,
        status: output.status.to_string(),
        output: output_text,
    })
}

/// The command as one would type it, near enough to read.
fn words(command: &Command) -> String {
    let all: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect();
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_puts_the_command_in_front_and_keeps_order() {
        let launch = Launch {
            program: "/bin/server".into(),
            args: vec!["-D".into(), "data".into()],
            env: vec![("LC_ALL".into(), "C".into())],
            account: None,
            working_directory: "/".into(),
        };
        let wrapped = launch.clone().wrapped(&["/bin/time".into(), "-v".into()]);
        assert_eq!(wrapped.program, PathBuf::from("/bin/time"));
        assert_eq!(
            wrapped.args,
            ["-v", "/bin/server", "-D", "data"].map(OsString::from)
        );
        assert_eq!(launch.clone().wrapped(&[]).args, launch.args);
    }

    #[test]
    fn a_failing_program_is_reported_with_its_words() {
        let error = run(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("why") && text.contains("exit status: 3"),
            "{text}"
        );
    }
}
