//! Other commands of `evenkeel`, run exactly as printed, so a result can be repeated by hand.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use serde_json::Value;

use crate::Error;
use crate::experiment::Context;

/// How often a running command is checked.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A command that takes longer than it was expected to is never done by more than this.
const NEARLY_DONE: f64 = 0.99;
/// A command that exceeds its expected time by this factor, and by this time, is stopped: it hangs, or the machine is
/// busy.
const PATIENCE: u32 = 2;
const PATIENCE_MIN: Duration = Duration::from_secs(60);
/// Time for a stopped command to end: it ends its servers in order.
const STOPPING: Duration = Duration::from_secs(30);

/// A command's result, or the reason why there is none: a server that is not installed, or that did not start.
pub(crate) type Answer = Result<Value, String>;

/// The JSON that a command prints.
///
/// # Errors
/// It cannot be started, or the user stopped it.
pub(crate) fn printed(
    context: &Context<'_>,
    words: &[String],
    expected: Duration,
) -> Result<Answer, Error> {
    let mut output = file()?;
    let ended = run(context, words, output.try_clone().map_err(io)?, expected)?;
    Ok(ended.and_then(|()| json(&mut output)))
}

/// The JSON that a command writes to the file whose name stands for `@` among its words.
///
/// # Errors
/// As [`printed`].
pub(crate) fn written(
    context: &Context<'_>,
    words: &[String],
    expected: Duration,
) -> Result<Answer, Error> {
    let directory = tempfile::tempdir().map_err(io)?;
    let path = directory.path().join("result.json");
    let words: Vec<String> = words
        .iter()
        .map(|word| match word.as_str() {
            "@" => path.display().to_string(),
            _ => word.clone(),
        })
        .collect();
    let ended = run(context, &words, file()?, expected)?;
    Ok(ended.and_then(|()| json(&mut File::open(&path).map_err(|error| error.to_string())?)))
}

/// Runs a command to its end; `Err` within is its last word.
fn run(
    context: &Context<'_>,
    words: &[String],
    output: File,
    expected: Duration,
) -> Result<Result<(), String>, Error> {
    let mut errors = file()?;
    let mut child = command(context.evenkeel, words)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors.try_clone().map_err(io)?)
        .spawn()
        .map_err(io)?;
    let (begun, limit) = (Instant::now(), expected * PATIENCE + PATIENCE_MIN);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(io)? {
            break status;
        }
        let passed = begun.elapsed();
        let part = passed.as_secs_f64() / expected.as_secs_f64().max(1e-3);
        (context.progress)(part.min(NEARLY_DONE));
        if context.interrupted.load(Ordering::Relaxed) {
            stop(&mut child).map_err(io)?;
            return Err(Error::Stopped);
        }
        if passed > limit {
            stop(&mut child).map_err(io)?;
            return Ok(Err(format!(
                "it was stopped after {} s, as it was to take about {} s",
                limit.as_secs(),
                expected.as_secs()
            )));
        }
        thread::sleep(LOOK_EVERY);
    };
    Ok(if status.success() {
        Ok(())
    } else {
        Err(last_word(&mut errors, status))
    })
}

/// Has a command stop its servers and end; kills it if it does not.
fn stop(child: &mut Child) -> std::io::Result<()> {
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    let asked = Instant::now();
    while child.try_wait()?.is_none() {
        if asked.elapsed() > STOPPING {
            child.kill()?;
            child.wait()?;
            break;
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// The command of these words; `evenkeel` among them is this program.
fn command(evenkeel: &Path, words: &[String]) -> Command {
    let named = |word: &String| match word.as_str() {
        "evenkeel" => evenkeel.as_os_str().to_owned(),
        other => other.into(),
    };
    let mut words = words.iter().map(named);
    let mut command = Command::new(words.next().unwrap_or_default());
    // A separate process group: Ctrl-C is for this process, which stops the command once. Two signals would end it
    // before its servers.
    command.args(words).process_group(0);
    // SAFETY: one system call, which neither allocates nor locks. If this process is killed, the command stops, too.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?));
    }
    command
}

fn last_word(errors: &mut File, status: ExitStatus) -> String {
    let mut text = Vec::new();
    let read = errors
        .rewind()
        .and_then(|()| errors.read_to_end(&mut text).map(|_| ()));
    let text = String::from_utf8_lossy(&text);
    let line = text
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty())
        .unwrap_or_default();
    match read {
        Ok(()) if !line.is_empty() => line.to_owned(),
        _ => format!("it ended with {status}"),
    }
}

fn json(file: &mut File) -> Answer {
    let mut text = String::new();
    file.rewind()
        .and_then(|()| file.read_to_string(&mut text).map(|_| ()))
        .map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| format!("it printed no JSON: {error}"))
}

/// A file without a name.
fn file() -> Result<File, Error> {
    tempfile::tempfile().map_err(io)
}

fn io(source: std::io::Error) -> Error {
    Error::Command(source)
}

/// A command line's words: separated by spaces, except within single quotes.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('\'').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// The command line of these words, to be read by [`words`] and by a shell.
pub(crate) fn line(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let plain = |c: char| c.is_alphanumeric() || "-_./:=,%@+".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{word}'")
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Effort;
    use std::sync::atomic::AtomicBool;

    fn answer(line: &str) -> Answer {
        let context = Context {
            effort: Effort::Quick,
            threads: 1,
            evenkeel: Path::new("/bin/sh"),
            interrupted: &AtomicBool::new(false),
            earlier: &[],
            progress: &|part| assert!((0.0..1.0).contains(&part)),
        };
        printed(&context, &words(line), Duration::from_millis(1)).unwrap()
    }

    #[test]
    fn quotes_keep_words_together() {
        let expected = ["bench", "--with", "--schedule fifo", "", "tpcc"];
        let read = words("bench  --with '--schedule fifo' '' tpcc");
        assert_eq!(read, expected);
        assert_eq!(line(&read), "bench --with '--schedule fifo' '' tpcc");
    }

    #[test]
    fn a_command_answers_or_says_why_not() {
        let good = answer("evenkeel -c 'sleep 0.3; echo [1, 2]'");
        assert_eq!(good.unwrap()[1], 2);
        let bad = answer("evenkeel -c 'echo first >&2; echo no server >&2; exit 3'");
        assert_eq!(bad.unwrap_err(), "no server");
        let silent = answer("evenkeel -c 'exit 3'").unwrap_err();
        assert!(silent.contains('3'), "{silent}");
        let wrong = answer("evenkeel -c 'echo what'").unwrap_err();
        assert!(wrong.contains("no JSON"), "{wrong}");
    }

    /// It is asked to stop once, and has time to stop its children.
    #[test]
    fn a_stopped_command_has_no_result() {
        let folder = tempfile::tempdir().unwrap();
        let [ready, stopped] = ["ready", "stopped"].map(|name| folder.path().join(name));
        let line = format!(
            "evenkeel -c 'trap \"sleep 0.2; echo yes >>{}; exit 0\" TERM; echo >{}; while :; do sleep 0.02; done'",
            stopped.display(),
            ready.display()
        );
        let interrupted = AtomicBool::new(false);
        let context = Context {
            effort: Effort::Quick,
            threads: 1,
            evenkeel: Path::new("/bin/sh"),
            interrupted: &interrupted,
            earlier: &[],
            progress: &|_| interrupted.store(ready.exists(), Ordering::Relaxed),
        };
        let answer = printed(&context, &words(&line), Duration::from_secs(600));
        assert!(matches!(answer, Err(Error::Stopped)), "{answer:?}");
        assert_eq!(std::fs::read_to_string(stopped).unwrap(), "yes\n");
    }
}
