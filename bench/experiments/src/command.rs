//! Other commands of `evenkeel`, run as they are printed: what a result says can be repeated by hand.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::Error;
use crate::experiment::Context;

/// How often a command that runs is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A command that takes longer than it was expected to is never done by more than this.
const NEARLY_DONE: f64 = 0.99;

/// What a command gave, or why it gave nothing: a server that is not installed, or that did not start.
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
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(io)? {
            break status;
        }
        let part = begun.elapsed().as_secs_f64() / expected.as_secs_f64().max(1e-3);
        (context.progress)(part.min(NEARLY_DONE));
        if context.interrupted.load(Ordering::Relaxed) {
            // It stops its servers itself.
            let _ = kill_process(Pid::from_child(&child), Signal::TERM);
            break child.wait().map_err(io)?;
        }
        thread::sleep(LOOK_EVERY);
    };
    if context.interrupted.load(Ordering::Relaxed) {
        return Err(Error::Stopped);
    }
    Ok(if status.success() {
        Ok(())
    } else {
        Err(last_word(&mut errors, status))
    })
}

/// The command of these words; `evenkeel` among them is this program.
fn command(evenkeel: &Path, words: &[String]) -> Command {
    let named = |word: &String| match word.as_str() {
        "evenkeel" => evenkeel.as_os_str().to_owned(),
        other => other.into(),
    };
    let mut words = words.iter().map(named);
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
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

/// A command line's words: separated by spaces, but for what stands in single quotes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Effort;
    use std::sync::atomic::AtomicBool;

    fn answer(line: &str, interrupted: bool) -> Result<Answer, Error> {
        let context = Context {
            effort: Effort::Quick,
            threads: 1,
            evenkeel: Path::new("/bin/sh"),
            interrupted: &AtomicBool::new(interrupted),
            earlier: &[],
            progress: &|part| assert!((0.0..1.0).contains(&part)),
        };
        printed(&context, &words(line), Duration::from_millis(1))
    }

    #[test]
    fn quotes_keep_words_together() {
        let expected = ["bench", "--with", "--schedule fifo", "", "tpcc"];
        assert_eq!(words("bench  --with '--schedule fifo' '' tpcc"), expected);
    }

    #[test]
    fn a_command_answers_or_says_why_not() {
        let good = answer("evenkeel -c 'sleep 0.3; echo [1, 2]'", false);
        assert_eq!(good.unwrap().unwrap()[1], 2);
        let bad = answer(
            "evenkeel -c 'echo first >&2; echo no server >&2; exit 3'",
            false,
        );
        assert_eq!(bad.unwrap().unwrap_err(), "no server");
        let silent = answer("evenkeel -c 'exit 3'", false).unwrap().unwrap_err();
        assert!(silent.contains('3'), "{silent}");
        let wrong = answer("evenkeel -c 'echo what'", false)
            .unwrap()
            .unwrap_err();
        assert!(wrong.contains("no JSON"), "{wrong}");
    }

    #[test]
    fn what_the_user_stopped_is_no_result() {
        assert!(matches!(
            answer("evenkeel -c 'echo 1'", true),
            Err(Error::Stopped)
        ));
    }
}
