//! The course of a profile on the whole screen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use evenkeel_live::{Action, Screen, View};
use evenkeel_report::advice;
use evenkeel_session::profile::Planting;
use evenkeel_session::{Event, Observer, Settings, Subject};
use signal_hook::consts::SIGCONT;

use super::diverted::{self, Diverted};
use super::{Progress, session};
use crate::output::{self, Failure};
use crate::signals;

/// Interval between profiles ...
const PERIOD: Duration = Duration::from_secs(1);
/// ... but making them may take at most this fraction of the time.
const PART_MAX: u32 = 20;

/// Draws the session's events and turns keys into requests.
pub struct LiveProgress {
    screen: Option<Screen>,
    diverted: Option<Diverted>,
    view: View,
    interrupted: Arc<AtomicBool>,
    /// Set when this process was stopped and continues (SIGCONT).
    continued: Arc<AtomicBool>,
    /// When the last profile was asked for, and how long it took.
    asked: Option<Instant>,
    took: Duration,
    drawn: Instant,
    opened: Option<usize>,
    closed: Option<u32>,
}

impl LiveProgress {
    /// Takes over the terminal, for a session of these settings that `interrupted` ends.
    ///
    /// # Errors
    /// Standard error is no terminal, or the command would outlive the session and print to the terminal.
    pub fn open(
        settings: &Settings,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<LiveProgress, Failure> {
        let is_dumb = std::env::var_os("TERM").is_none_or(|kind| kind == "dumb");
        if !output::stderr_is_terminal() || is_dumb {
            return Err(Failure::Usage(
                "--live needs a terminal on standard error; omit --live, and read the report of --html"
                    .to_owned(),
            ));
        }
        let is_command = matches!(settings.subject, Subject::Command(_));
        if is_command && settings.keep && diverted::has_output() {
            return Err(Failure::Usage(
                "with --live and --keep the command would lose its output at the end; start it with its output in a file (> server.log 2>&1), and attach to it"
                    .to_owned(),
            ));
        }
        let refused = |error: std::io::Error| {
            Failure::Usage(format!("the terminal cannot be taken over: {error}"))
        };
        let continued = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGCONT, Arc::clone(&continued)).map_err(signals::refused)?;
        let colour = output::style(true, "p99", false, 0).colour;
        let diverted = is_command.then(Diverted::begin).transpose();
        let diverted = diverted.map_err(refused)?;
        let screen = match Screen::open() {
            Ok(screen) => screen,
            Err(error) => {
                diverted.into_iter().for_each(Diverted::end);
                return Err(refused(error));
            }
        };
        let mut live = LiveProgress {
            screen: Some(screen),
            diverted,
            view: View::new(colour, settings.planting == Planting::Manual),
            interrupted: Arc::clone(interrupted),
            continued,
            asked: None,
            took: Duration::ZERO,
            drawn: Instant::now(),
            opened: None,
            closed: None,
        };
        live.draw();
        Ok(live)
    }

    /// Gives the terminal back.
    pub fn done(mut self) {
        self.screen = None;
        self.diverted.into_iter().for_each(Diverted::end);
    }

    fn draw(&mut self) {
        let Some(screen) = &mut self.screen else {
            return;
        };
        self.drawn = Instant::now();
        if screen.draw(&mut self.view).is_err() {
            self.terminal_is_gone();
        }
    }

    /// That ends the run, as it does without --live.
    fn terminal_is_gone(&mut self) {
        self.screen = None;
        self.interrupted.store(true, Ordering::Relaxed);
    }

    fn read_keys(&mut self) {
        let Some(screen) = &mut self.screen else {
            return;
        };
        let is_back = self.continued.swap(false, Ordering::Relaxed);
        if is_back && screen.retake().is_err() {
            return self.terminal_is_gone();
        }
        let Ok((keys, resized)) = screen.keys() else {
            return self.terminal_is_gone();
        };
        for &key in &keys {
            match self.view.key(key) {
                Some(Action::Quit) => self.interrupted.store(true, Ordering::Relaxed),
                Some(Action::Open(index)) => self.opened = Some(index),
                Some(Action::Close(probe)) => self.closed = Some(probe),
                None => {}
            }
        }
        if is_back || resized || !keys.is_empty() || self.drawn.elapsed() >= PERIOD {
            self.draw();
        }
    }
}

impl Progress for LiveProgress {
    fn say(&mut self, text: &str) {
        self.view.say(text);
    }
}

impl Observer for LiveProgress {
    fn event(&mut self, event: &Event<'_>) {
        if let Some(text) = session::message(event) {
            self.view.say(&text);
        }
        match event {
            Event::Now { profile } => {
                self.took = self.asked.map_or(Duration::ZERO, |asked| asked.elapsed());
                let mut profile = (*profile).clone();
                advice::add(&mut profile);
                self.view.update(profile);
                self.draw();
            }
            Event::Ranking { next, .. } => {
                let calls = next.iter().map(|step| step.within.clone());
                self.view.offer(calls.collect());
            }
            Event::Tick {
                intervals,
                probes,
                seconds,
                ..
            } => {
                self.view.set_status(*seconds, *intervals, *probes);
                self.read_keys();
            }
            _ => {}
        }
    }

    fn choice(&mut self) -> Option<Vec<usize>> {
        self.opened.take().map(|index| vec![index])
    }

    fn wants_profile(&mut self) -> bool {
        let rest = PERIOD.max(self.took * PART_MAX);
        let wanted = self.asked.is_none_or(|asked| asked.elapsed() >= rest);
        if wanted {
            self.asked = Some(Instant::now());
        }
        wanted
    }

    fn closing(&mut self) -> Option<u32> {
        self.closed.take()
    }
}
