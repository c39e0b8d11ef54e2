//! Writing a recording.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use evenkeel_analysis::SwitchedOut;
use evenkeel_analysis::fleet::minutes::Minute;
use evenkeel_analysis::rounds::plans::PlanChange;
use evenkeel_analysis::sites::Site;
use evenkeel_analysis::slow::SlowStack;
use evenkeel_wire::Record;

use crate::error::Error;
use crate::{MAGIC, Meta, OFFS, SiteEntry, VERSION, WOKEN_BY, starts_at_a_time, varint};

/// A recording being written. Errors are kept until [`Writer::finish`], so that a full disk does not end a run.
pub struct Writer {
    file: BufWriter<File>,
    path: PathBuf,
    body: Vec<u8>,
    failed: Option<io::Error>,
}

impl Writer {
    /// Begins a recording, replacing what is at `path`. Statements and addresses are nobody else's business: only the user may
    /// read a new file; an existing one keeps its mode.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(path: &Path) -> Result<Writer, Error> {
        let named = |source| Error::File {
            path: path.to_owned(),
            source,
        };
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = BufWriter::with_capacity(1 << 16, options.open(path).map_err(named)?);
        let mut head = MAGIC.to_vec();
        head.extend(VERSION.to_le_bytes());
        head.extend([0; 4]);
        file.write_all(&head).map_err(named)?;
        Ok(Writer {
            file,
            path: path.to_owned(),
            body: Vec::new(),
            failed: None,
        })
    }

    /// Facts about the records so far.
    pub fn meta(&mut self, meta: &Meta) {
        self.body = serde_json::to_vec(meta).expect("plain data");
        self.chunk(b'M');
    }

    /// A probe's site.
    pub fn site(&mut self, id: u32, site: &Site) {
        self.body = serde_json::to_vec(&SiteEntry {
            id,
            site: site.clone(),
        })
        .expect("plain data");
        self.chunk(b'S');
    }

    /// The plan changes.
    pub fn plan_changed(&mut self, change: &PlanChange) {
        if change.trapping || change.continues.is_some() {
            let head = [change.trapping.into(), change.continues.unwrap_or(0)];
            let words = head.iter().chain(&change.added);
            self.body = words.flat_map(|word| word.to_le_bytes()).collect();
            self.chunk(b'C');
        }
        if let Some(toggled) = &change.toggled {
            self.body = toggled.iter().flat_map(|id| id.to_le_bytes()).collect();
            self.chunk(b'O');
        }
        self.body = [change.generation, change.probes]
            .map(u32::to_le_bytes)
            .concat();
        self.chunk(b'R');
    }

    /// Records of a thread.
    pub fn records(&mut self, thread: u64, records: &[Record]) {
        self.body.clear();
        self.body.extend(thread.to_le_bytes());
        self.body.extend((records.len() as u32).to_le_bytes());
        let mut previous = 0;
        for record in records {
            varint::put(
                &mut self.body,
                varint::zigzag(record.start.wrapping_sub(previous) as i64),
            );
            varint::put(&mut self.body, record.duration());
            varint::put(&mut self.body, u64::from(record.id()));
            if starts_at_a_time(record) {
                previous = record.start;
            }
        }
        self.chunk(b'D');
    }

    /// Sums of the intervals of a minute.
    pub fn minute(&mut self, minute: &Minute) {
        self.body = minute.began_unix_ns.to_le_bytes().to_vec();
        self.chunk(b'T');
        self.body = minute.bytes();
        self.chunk(b'U');
    }

    /// Intervals that ended and were not recorded: how many of each class of latency, and the largest latency so far, ticks.
    pub fn unrecorded(&mut self, by_class: &[(usize, u64)], max_ticks: u64) {
        self.body.clear();
        varint::put(&mut self.body, max_ticks);
        for &(class, count) in by_class {
            varint::put(&mut self.body, class as u64);
            varint::put(&mut self.body, count);
        }
        self.chunk(b'L');
    }

    /// A stack of an interval that is slow already.
    pub fn slow_stack(&mut self, stack: &SlowStack) {
        self.body.clear();
        for number in [stack.interval, stack.age, stack.unseen] {
            varint::put(&mut self.body, number);
        }
        for function in &stack.functions {
            self.body.extend(function.bytes().filter(|&byte| byte != 0));
            self.body.push(0);
        }
        self.chunk(b'W');
    }

    /// A thread will send nothing more.
    pub fn ended(&mut self, thread: u64) {
        self.body = thread.to_le_bytes().to_vec();
        self.chunk(b'E');
    }

    /// All rings have been read once more.
    pub fn pass_ended(&mut self) {
        self.body.clear();
        self.chunk(b'P');
    }

    /// When a thread did not run.
    pub fn switched_out(&mut self, thread: u64, spans: &[SwitchedOut]) {
        self.body.clear();
        self.body.extend(thread.to_le_bytes());
        self.body.extend((spans.len() as u32).to_le_bytes());
        let mut previous = 0;
        for span in spans {
            let start = varint::zigzag(span.start.wrapping_sub(previous) as i64);
            varint::put(&mut self.body, start);
            varint::put(&mut self.body, span.end.saturating_sub(span.start));
            let off = OFFS
                .iter()
                .position(|&off| off == span.off)
                .expect("all of them") as u64;
            match span.by {
                None => varint::put(&mut self.body, off),
                Some(by) => {
                    varint::put(&mut self.body, off + WOKEN_BY);
                    varint::put(&mut self.body, by);
                }
            }
            previous = span.start;
        }
        self.chunk(b'K');
    }

    /// The name of a thread.
    pub fn thread_name(&mut self, thread: u64, name: &str) {
        self.body.clear();
        self.body.extend(thread.to_le_bytes());
        self.body.extend(name.as_bytes());
        self.chunk(b'N');
    }

    fn chunk(&mut self, tag: u8) {
        let head = chunk_head(tag, &self.body);
        if self.failed.is_none() {
            self.failed = self
                .file
                .write_all(&head)
                .and_then(|()| self.file.write_all(&self.body))
                .err();
        }
    }

    /// Hands what is buffered to the system, so that it survives the end of this process.
    pub fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.file.flush().err();
        }
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// Something could not be written, now or earlier.
    pub fn finish(mut self, meta: &Meta) -> Result<(), Error> {
        self.meta(meta);
        self.flush();
        match self.failed {
            None => Ok(()),
            Some(source) => Err(Error::File {
                path: self.path,
                source,
            }),
        }
    }
}

/// The head of a chunk, before its body.
pub(crate) fn chunk_head(tag: u8, body: &[u8]) -> [u8; 9] {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&[tag]);
    crc.update(body);
    let mut head = [tag; 9];
    head[1..5].copy_from_slice(&(body.len() as u32).to_le_bytes());
    head[5..].copy_from_slice(&crc.finalize().to_le_bytes());
    head
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_the_user_may_read_a_recording() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.keel");
        Writer::create(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{mode:o}");
    }
}
