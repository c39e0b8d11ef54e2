//! Progress of reading recordings, and files of spans.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use evenkeel_recording::Progress;

use super::Line;

/// Progress of reading.
const READING: &str = "{prefix}reading {wide_bar} {bytes} of {total_bytes}, {eta} left";
/// The line is drawn after this many bytes, some twenty times a second. Smaller files are read before a person could
/// look.
const DRAWN_EACH: u64 = 4 << 20;

/// Shows the progress of reading until it is dropped.
pub struct Reading(Arc<Shared>);

struct Shared {
    line: Line,
    /// Bytes read when the line was last drawn.
    drawn: AtomicU64,
}

impl Shared {
    fn draw(&self, read: u64, of: u64) {
        let Shared { line, drawn } = self;
        if read.saturating_sub(drawn.load(Relaxed)) < DRAWN_EACH {
            return;
        }
        drawn.store(read, Relaxed);
        line.bar.set_length(of);
        line.shape(READING);
        line.bar.set_position(read);
        // However short ago it was drawn: what is seen depends on what was read, not on the machine.
        line.bar.force_draw();
    }
}

impl Reading {
    /// Progress of reading these files.
    pub fn of(paths: &[PathBuf]) -> Reading {
        let name = match paths {
            [path] => file_name(path),
            paths => format!("{} recordings", paths.len()),
        };
        Reading::named(&name)
    }

    /// Progress of reading a file of spans.
    pub fn of_spans(path: &Path) -> Reading {
        Reading::named(&file_name(path))
    }

    fn named(name: &str) -> Reading {
        let line = Line::new();
        line.bar.set_prefix(format!("{name}: "));
        Reading(Arc::new(Shared {
            line,
            drawn: AtomicU64::new(0),
        }))
    }

    /// Counts what is read of recordings.
    pub fn progress(&self) -> Progress {
        let shared = Arc::clone(&self.0);
        Progress::reported_to(move |read, of| shared.draw(read, of))
    }

    /// Draws `read` bytes of `of`.
    pub fn draw(&self, read: u64, of: u64) {
        self.0.draw(read, of);
    }

    /// Everything has been read; this is the next step.
    pub fn then(&self, what: &str) {
        if self.0.drawn.load(Relaxed) > 0 {
            self.0.line.show(what);
        }
    }

    /// Prints a line that stays.
    pub fn say(&self, text: &str) {
        self.0.line.print(text);
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.line.clear();
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
