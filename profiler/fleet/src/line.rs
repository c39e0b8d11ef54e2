//! The line on a terminal that says how far an answer is.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evenkeel_report::fit;

use crate::progress::Progress;

/// Between two drawings.
const DRAWN_EACH: Duration = Duration::from_millis(100);
/// Columns where the terminal does not say.
const WIDTH: usize = 80;
/// To the line's beginning, and nothing on it.
const ERASE: &str = "\r\x1b[K";

/// Standard error, and whether the line stands there.
#[derive(Default)]
pub struct Screen {
    is_drawn: Mutex<bool>,
}

impl Screen {
    /// Prints a line that stays.
    pub fn print(&self, text: &str) {
        let drawn = self.erased();
        eprintln!("{text}");
        drop(drawn);
    }

    /// Takes the line away; nothing is drawn while the value lives.
    pub fn erased(&self) -> MutexGuard<'_, bool> {
        let mut is_drawn = self.is_drawn.lock().expect("no panic with the lock held");
        if std::mem::take(&mut *is_drawn) {
            write(ERASE);
        }
        is_drawn
    }

    fn draw(&self, text: &str) {
        let mut is_drawn = self.is_drawn.lock().expect("no panic with the lock held");
        let width = terminal_size::terminal_size_of(io::stderr());
        let width = width.map_or(WIDTH, |(width, _)| usize::from(width.0));
        // In its last column, terminals go on in the next line.
        let text = fit::left(&fit::plain(text), width.saturating_sub(1));
        write(&format!("{ERASE}{}", text.trim_end()));
        *is_drawn = true;
    }
}

/// A failed write is ignored: nobody reads the line.
fn write(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Draws the line until it is dropped; nothing where standard error is no terminal.
pub struct Line {
    end: Option<Sender<()>>,
    drawing: Option<JoinHandle<()>>,
}

impl Line {
    /// Begins.
    pub fn of(progress: &Arc<Progress>, screen: &Arc<Screen>) -> Line {
        let (end, ended) = mpsc::channel();
        let (progress, screen) = (Arc::clone(progress), Arc::clone(screen));
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_shown = io::stderr().is_terminal() && !is_dumb;
        let drawing = is_shown.then(|| {
            thread::spawn(move || {
                // The first one before anything was waited for: that it is there does not depend on the machine.
                screen.draw(&progress.text());
                while ended.recv_timeout(DRAWN_EACH) == Err(RecvTimeoutError::Timeout) {
                    screen.draw(&progress.text());
                }
                drop(screen.erased());
            })
        });
        Line {
            end: Some(end),
            drawing,
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(drawing) = self.drawing.take() {
            // A panic of the drawing thread needs no message.
            let _ = drawing.join();
        }
    }
}
