//! A session's side: it answers `evenkeel snapshot` from its current profile.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use evenkeel_analysis::profile::Profile;
use evenkeel_report::terminal::{self, Style};
use evenkeel_report::{advice, html, json};
use evenkeel_session::{Event, Observer, Settings, Subject};

use super::exchange::{self, Answer, Running, Wanted};
use crate::progress::Progress;

/// A question that waits for its answer.
struct Asked {
    wanted: Wanted,
    by: UnixStream,
}

/// A session's progress, and answers to `evenkeel snapshot`.
pub struct Answering<'p> {
    progress: &'p mut dyn Progress,
    /// Factors shown.
    k: usize,
    recording: Option<PathBuf>,
    asked: Option<Receiver<Asked>>,
    waiting: Vec<Asked>,
}

impl<'p> Answering<'p> {
    /// Answers questions to a session.
    pub fn new(progress: &'p mut dyn Progress, settings: &Settings) -> Answering<'p> {
        let recording = settings.recording.as_deref();
        let mut answering = Answering {
            progress,
            k: settings.k,
            recording: recording.map(|path| std::path::absolute(path).unwrap_or(path.to_owned())),
            asked: None,
            waiting: Vec::new(),
        };
        if let Subject::Process(pid) = settings.subject {
            answering.listen(pid);
        }
        answering
    }

    fn listen(&mut self, target: i32) {
        let session = Running {
            target: target.unsigned_abs(),
            session: std::process::id(),
        };
        match exchange::listen(&session) {
            Ok(listener) => {
                let (sender, asked) = channel();
                self.asked = Some(asked);
                std::thread::spawn(move || take_questions(&listener, &sender));
            }
            Err(why) => self.progress.say(&format!(
                "`evenkeel snapshot` cannot ask this session: {why}"
            )),
        }
    }

    /// Takes in what was asked in the meantime. Before the first interval there is nothing to answer from.
    fn look(&mut self, intervals: u64) {
        if let Some(asked) = &self.asked {
            self.waiting.extend(asked.try_iter());
        }
        if intervals == 0 {
            for mut asked in self.waiting.drain(..) {
                let none = "the session has seen no complete interval yet; ask again later";
                // Whoever asked may be gone.
                let _ = exchange::answer(&mut asked.by, &Err(none.to_owned()));
            }
        }
    }

    /// Answers in a thread: the session must read its rings in the meantime.
    fn answer(&mut self, profile: &Profile) {
        if self.waiting.is_empty() {
            return;
        }
        let mut profile = profile.clone();
        let waiting = std::mem::take(&mut self.waiting);
        let (k, recording) = (self.k, self.recording.clone());
        std::thread::spawn(move || {
            advice::add(&mut profile);
            for mut asked in waiting {
                let answer = rendered(&profile, &asked.wanted, k, recording.clone());
                let _ = exchange::answer(&mut asked.by, &Ok(answer));
            }
        });
    }
}

/// Reads questions until the session ends.
fn take_questions(listener: &UnixListener, sender: &Sender<Asked>) {
    for stream in listener.incoming() {
        let Ok(mut by) = stream else { continue };
        let Ok(Some(wanted)) = exchange::question(&mut by) else {
            continue;
        };
        if sender.send(Asked { wanted, by }).is_err() {
            return;
        }
    }
}

/// The report in the forms that are wanted.
fn rendered(profile: &Profile, wanted: &Wanted, k: usize, recording: Option<PathBuf>) -> Answer {
    let style = Style {
        width: wanted.width,
        colour: wanted.colour,
        tail: &wanted.tail,
        by_class: wanted.by_class,
        rows: k,
        slowest: wanted.slowest,
        cohorts: wanted.cohorts,
    };
    Answer {
        text: terminal::render(profile, &style),
        html: wanted.html.then(|| html::render(profile)),
        json: wanted.json.then(|| json::profile(profile)),
        recording,
    }
}

impl Progress for Answering<'_> {
    fn say(&mut self, text: &str) {
        self.progress.say(text);
    }
}

impl Observer for Answering<'_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { pid } => self.listen(*pid),
            Event::Tick { intervals, .. } => self.look(*intervals),
            Event::Now { profile } => self.answer(profile),
            _ => {}
        }
        self.progress.event(event);
    }

    fn choice(&mut self) -> Option<Vec<usize>> {
        self.progress.choice()
    }

    fn wants_profile(&mut self) -> bool {
        self.progress.wants_profile() || !self.waiting.is_empty()
    }

    fn wants_minutes(&self) -> bool {
        self.progress.wants_minutes()
    }

    fn closing(&mut self) -> Option<u32> {
        self.progress.closing()
    }
}
