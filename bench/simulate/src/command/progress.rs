//! Progress on a terminal.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::sweep::Progress;

/// Time between two updates of the line of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// One line on the terminal that is written again and again.
pub(super) struct ProgressLine {
    shown: Option<Mutex<Instant>>,
}

impl ProgressLine {
    pub(super) fn new() -> ProgressLine {
        let terminal = std::io::stderr().is_terminal();
        ProgressLine {
            shown: terminal.then(|| Mutex::new(Instant::now())),
        }
    }

    pub(super) fn show(&self, progress: Progress) {
        let Some(shown) = &self.shown else {
            return;
        };
        let mut last = shown.lock().expect("no panic with the lock held");
        if last.elapsed() < PROGRESS_EVERY {
            return;
        }
        *last = Instant::now();
        match progress {
            Progress::Saturating { probes } => {
                eprint!("\r\x1b[Klooking for FIFO's saturation: {probes} simulations")
            }
            Progress::Simulating { done, total } => {
                let percent = 100.0 * done as f64 / total.max(1) as f64;
                eprint!("\r\x1b[Ksimulating: {percent:.0} % of {total} transactions");
            }
        }
    }

    pub(super) fn clear(&self) {
        if self.shown.is_some() {
            eprint!("\r\x1b[K");
        }
    }
}
