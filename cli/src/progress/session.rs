//! The course of a profile, and what a person is asked.

use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, channel};

use evenkeel_analysis::profile::Profile;
use evenkeel_report::{names, units, words};
use evenkeel_session::refine::{Candidate, Step};
use evenkeel_session::{Event, Observer};

use super::{Line, Progress};

/// Factors shown during the run.
const SHOWN: usize = 3;

/// Columns of a function's name.
const NAME_WIDTH: usize = 60;

/// Reports on standard error: a line for each ranking, and on a terminal one that moves.
pub struct SessionProgress {
    line: Line,
    answers: Option<Receiver<String>>,
    asked: bool,
    offered: usize,
}

impl SessionProgress {
    /// `manual` reads answers from the terminal, or from standard input without one.
    pub fn new(manual: bool) -> SessionProgress {
        let answers = manual.then(|| {
            let (sender, receiver) = channel();
            std::thread::spawn(move || {
                let lines: Box<dyn BufRead> = match std::fs::File::open("/dev/tty") {
                    Ok(tty) => Box::new(std::io::BufReader::new(tty)),
                    Err(_) => Box::new(std::io::BufReader::new(std::io::stdin())),
                };
                lines
                    .lines()
                    .map_while(Result::ok)
                    .try_for_each(|line| sender.send(line))
            });
            receiver
        });
        SessionProgress {
            line: Line::new(),
            answers,
            asked: false,
            offered: 0,
        }
    }

    /// Removes the moving line.
    pub fn done(&self) {
        self.line.clear();
    }
}

impl Progress for SessionProgress {
    fn say(&mut self, text: &str) {
        self.line.print(&format!("evenkeel: {text}"));
    }
}

impl Observer for SessionProgress {
    fn event(&mut self, event: &Event<'_>) {
        if let Some(text) = message(event) {
            self.say(&text);
        }
        match event {
            Event::Ranking { next, .. } if self.answers.is_some() && !next.is_empty() => {
                self.line.clear();
                for (i, candidate) in next.iter().enumerate() {
                    let share = units::percent(candidate.contribution);
                    tell!("  {:>3}  {:>6}  {}", i + 1, share, describe(candidate));
                }
                tell_part!("Which? Numbers, a for all, nothing to stop here: ");
                let _ = std::io::stderr().flush();
                self.asked = true;
                self.offered = next.len();
            }
            Event::Tick {
                intervals,
                records,
                probes,
                seconds,
            } if !self.asked && *seconds > 0.0 => {
                let (intervals, records) = (units::count(*intervals), units::count(*records));
                self.line.show(format!(
                    "{seconds:5.0} s  {intervals} intervals  {records} records  {probes} probes"
                ));
            }
            _ => {}
        }
    }

    fn choice(&mut self) -> Option<Vec<usize>> {
        let answers = self.answers.as_ref()?;
        let line = match answers.try_recv() {
            Ok(line) => line,
            Err(std::sync::mpsc::TryRecvError::Empty) => return None,
            Err(std::sync::mpsc::TryRecvError::Disconnected) => String::new(),
        };
        self.asked = false;
        if line.trim() == "a" {
            return Some((0..self.offered).collect());
        }
        let words = line.split([' ', ',']).filter(|word| !word.is_empty());
        let numbers: Result<Vec<usize>, _> = words.map(str::parse).collect();
        match numbers {
            Ok(numbers)
                if numbers
                    .iter()
                    .all(|number| (1..=self.offered).contains(number)) =>
            {
                Some(numbers.into_iter().map(|number| number - 1).collect())
            }
            _ => {
                tell_part!("Numbers from 1 to {}, please: ", self.offered);
                let _ = std::io::stderr().flush();
                self.asked = true;
                None
            }
        }
    }
}

/// One line about an event, if it deserves one.
pub fn message(event: &Event<'_>) -> Option<String> {
    Some(match event {
        Event::Attached {
            pid,
            processes,
            stood_still,
        } => {
            let name = evenkeel_attach::process::name(*pid).unwrap_or_default();
            let still_ms = stood_still.as_secs_f64() * 1e3;
            let so_many = match processes {
                1 => String::new(),
                2 => " and another".to_owned(),
                _ => format!(" and {} others", processes - 1),
            };
            let number = evenkeel_attach::namespace::outer(*pid);
            format!(
                "attached to process {number} ({name}){so_many}, one thread of which stood still for {still_ms:.1} ms"
            )
        }
        Event::Awaiting { names, within } => format!(
            "waiting up to {} s until the Java virtual machine has loaded {}",
            within.as_secs(),
            names.join(", ")
        ),
        Event::Reloaded {
            classes,
            batch,
            stood_still,
        } => {
            let still_ms = stood_still.as_secs_f64() * 1e3;
            format!(
                "planted probes in {classes} classes (step {batch}); the Java virtual machine stood still for {still_ms:.1} ms at most, and compiles its code again now"
            )
        }
        Event::LeftOut { why } => (*why).to_owned(),
        Event::Hooked { seconds } => {
            format!("profiling (the first process was ready after {seconds:.1} s)")
        }
        Event::Passing(error) => format!("waiting for a program that has the interval: {error}"),
        Event::Ranking {
            profile,
            next,
            seconds,
        } => {
            let intervals = units::count(profile.intervals);
            let (shown, what) = (ranking(profile), steps(next));
            format!("after {seconds:.1} s, {intervals} intervals: {shown}; {what}")
        }
        Event::Started { .. } | Event::Now { .. } | Event::Minute { .. } | Event::Tick { .. } => {
            return None;
        }
    })
}

/// The first factors.
fn ranking(profile: &Profile) -> String {
    let shown = profile.factors.iter().take(SHOWN).map(|factor| {
        let (functions, separator) = words::functions(&factor.functions, factor.caller.as_ref());
        let functions = names::joined(&functions, separator, NAME_WIDTH);
        // Intervals that took about equally long in different functions: each varies far more than their sum.
        let share = match factor.contribution > 1.0 {
            true => "over 100 %".to_owned(),
            false => units::percent(factor.contribution),
        };
        format!("{functions} {share}")
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() {
        "nothing above the threshold yet".to_owned()
    } else {
        shown.join(", ")
    }
}

/// The first steps that the next round takes.
fn steps(next: &[Candidate]) -> String {
    let first: Vec<String> = next.iter().take(SHOWN).map(describe).collect();
    if first.is_empty() {
        "nothing left to expand".to_owned()
    } else {
        format!("next: {}", first.join(", "))
    }
}

fn describe(candidate: &Candidate) -> String {
    let name = names::shortened(&candidate.name, NAME_WIDTH);
    match candidate.step {
        Step::Open(_) | Step::Follow(_) => format!("open {name}"),
        Step::Discover(_) | Step::DiscoverIn(_) => {
            format!("find whom {name} calls through pointers")
        }
    }
}
