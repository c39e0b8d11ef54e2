//! `evenkeel snapshot`: what a running session has seen so far.

mod answering;
mod exchange;

pub use answering::Answering;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::output::{self, Failure};
use crate::report::Forms;
use exchange::{Answer, Running, Wanted};

/// Show what a running session has seen so far, without ending it
///
/// The session is one of `evenkeel attach` or `evenkeel profile` on this machine, by the same user; root may ask all sessions. The report
/// is of all intervals since the session began. Its slowest intervals are kept whole: --slowest lists them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  evenkeel snapshot 4711
  sudo evenkeel snapshot --slowest=20
  evenkeel snapshot 4711 --html now.html
  evenkeel snapshot 4711 --json | jq '.slowest[0]'")]
pub struct Arguments {
    /// The process that is profiled, or the session's own; without it, the only session that runs
    #[arg(value_name = "PID")]
    pid: Option<u32>,
    #[command(flatten)]
    forms: Forms,
}

/// How long a session may take to answer. One that reads a full ring or opens a large program first is slow for seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let Arguments { pid, forms } = &arguments;
    forms.check()?;
    let session = chosen(exchange::running(), *pid)?;
    let style = forms.style(output::stdout_is_terminal(), 0);
    let wanted = Wanted {
        tail: forms.tail.clone(),
        width: style.width,
        colour: style.colour,
        by_class: style.by_class,
        cohorts: style.cohorts,
        slowest: style.slowest,
        html: forms.html.is_some(),
        json: forms.json.json.is_some(),
    };
    let asked = exchange::ask(&session, &wanted, PATIENCE);
    let answer = asked.map_err(|why| {
        Failure::Usage(format!(
            "the session of {session} did not answer: {why}; see whether it still runs"
        ))
    })?;
    show(answer.map_err(Failure::Usage)?, forms)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes and prints what was asked for.
fn show(answer: Answer, forms: &Forms) -> Result<(), Failure> {
    if let (Some(path), Some(page)) = (&forms.html, &answer.html) {
        output::write(path, page)?;
    }
    let json = answer.json.unwrap_or_default();
    forms.json.output(|| json, || answer.text)?;
    if let Some(recording) = answer.recording {
        tell!(
            "evenkeel: its recording is {}; a copy made while the session runs is complete up to the last second",
            recording.display()
        );
    }
    Ok(())
}

/// The session of this process, or the only one.
fn chosen(running: Vec<Running>, pid: Option<u32>) -> Result<Running, Failure> {
    let is_meant = |one: &Running| pid.is_none_or(|pid| pid == one.target || pid == one.session);
    let (mut meant, others): (Vec<Running>, Vec<Running>) = running.into_iter().partition(is_meant);
    let listed = |sessions: &[Running]| {
        let lines: Vec<String> = sessions.iter().map(|one| format!("\n  {one}")).collect();
        lines.concat()
    };
    match (pid, meant.len()) {
        (_, 1) => Ok(meant.remove(0)),
        (Some(pid), 0) if !others.is_empty() => Err(Failure::Usage(format!(
            "no session profiles process {pid}; there are sessions of:{}",
            listed(&others)
        ))),
        (_, 0) => Err(Failure::Usage(
            "no session runs here; start one with `evenkeel attach PID` and leave it running (a session in a container has to be asked in there)"
                .to_owned(),
        )),
        _ => Err(Failure::Usage(format!(
            "several sessions run; give the number of a process:{}",
            listed(&meant)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(pairs: &[(u32, u32)]) -> Vec<Running> {
        let one = |&(target, session): &(u32, u32)| Running { target, session };
        pairs.iter().map(one).collect()
    }

    fn refused(pairs: &[(u32, u32)], pid: Option<u32>) -> String {
        chosen(running(pairs), pid)
            .expect_err("refused")
            .to_string()
    }

    #[test]
    fn a_session_is_named_by_either_process_or_by_being_alone() {
        for pid in [None, Some(10), Some(20)] {
            let session = chosen(running(&[(10, 20)]), pid).expect("one");
            assert_eq!((session.target, session.session), (10, 20));
        }
        let second = chosen(running(&[(10, 20), (11, 21)]), Some(21)).expect("one");
        assert_eq!(second.target, 11);
    }

    #[test]
    fn what_cannot_be_chosen_is_refused_with_what_there_is() {
        assert!(refused(&[], None).contains("no session runs here"));
        assert!(refused(&[], Some(7)).contains("no session runs here"));
        assert!(refused(&[(10, 20)], Some(7)).contains("there are sessions of:\n  process 10"));
        let several = refused(&[(10, 20), (11, 21)], None);
        assert!(several.contains("process 10") && several.contains("process 11"));
    }
}
