//! What the user sees while a command runs: one line on standard error that moves, where that is a terminal.

mod bench;
mod diverted;
mod live;
mod reading;
mod session;

use std::sync::Mutex;

use evenkeel_session::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub use live::LiveProgress;
pub use reading::Reading;
pub use session::SessionProgress;

/// Shows a session's progress, and messages between.
pub trait Progress: Observer {
    /// Shows a line that stays.
    fn say(&mut self, text: &str);
}

/// A line of text.
const TEXT: &str = "{prefix}{wide_msg}";

/// The line that moves. Without a terminal nothing is shown.
pub struct Line {
    bar: ProgressBar,
    template: Mutex<&'static str>,
}

impl Line {
    /// An empty line.
    pub fn new() -> Line {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(style(TEXT));
        Line {
            bar,
            template: Mutex::new(TEXT),
        }
    }

    /// Shows a text.
    pub fn show(&self, text: impl Into<String>) {
        self.shape(TEXT);
        self.bar.set_message(text.into());
    }

    /// Prints a line that stays, above the moving one.
    pub fn print(&self, text: &str) {
        self.bar.suspend(|| tell!("{text}"));
    }

    /// Takes the line away until something is shown again.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Draws the line by this template of indicatif from now on.
    fn shape(&self, template: &'static str) {
        if self.bar.is_finished() {
            self.bar.reset();
        }
        let mut current = self.template.lock().expect("no panic with the lock held");
        if *current != template {
            *current = template;
            self.bar.set_style(style(template));
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("templates here are well-formed");
    style.progress_chars("━╸ ")
}
