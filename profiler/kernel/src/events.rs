//! Opening the events, and reading them in order of time.

use std::fs;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use perf_event_open_sys::bindings::{self, perf_event_attr};

use crate::clock::Reading;
use crate::record::{Event, WakingFormat, What, parse};
use crate::ring::Ring;

/// How long the kernel may take between an event's time and its record.
const LATE_NS: u64 = 1_000_000;

/// Why there are no events of the kernel.
#[derive(Debug, thiserror::Error)]
#[error(
    "the kernel does not tell of context switches ({0}); allow perf events (sysctl kernel.perf_event_paranoid=2, or a container's seccomp profile) to tell waiting from preemption"
)]
pub struct Unavailable(#[from] io::Error);

/// The events of everything that this process starts.
#[derive(Debug)]
pub struct KernelEvents {
    switches: Vec<Ring>,
    wakings: Vec<Ring>,
    waking: Option<WakingFormat>,
    /// Read but not handed on: others may still come that are older.
    pending: Vec<Event>,
    last: Reading,
    /// Records that the kernel had no room for.
    pub lost: u64,
}

impl KernelEvents {
    /// Begins to watch what the calling process, one thread of it, starts from now on.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn watch_children() -> Result<KernelEvents, Unavailable> {
        let switches = each_processor(|processor| open(&mut switch_event(), processor))?;
        let format = waking_format();
        let wakings = format
            .and_then(|format| {
                each_processor(|processor| open(&mut waking_event(format.id), processor)).ok()
            })
            .unwrap_or_default();
        Ok(KernelEvents {
            switches,
            waking: format.filter(|_| !wakings.is_empty()),
            wakings,
            pending: Vec::new(),
            last: Reading::now(),
            lost: 0,
        })
    }

    /// Whether [`What::Woken`] is among the events.
    pub fn sees_wakers(&self) -> bool {
        self.waking.is_some()
    }

    /// Hands on the events up to about a millisecond ago, in order of time, times in ticks.
    pub fn drain(&mut self, sink: &mut impl FnMut(Event)) {
        let now = Reading::now();
        for ring in self.switches.iter_mut().chain(&mut self.wakings) {
            ring.read(
                |kind, misc, body| match parse(kind, misc, body, self.waking) {
                    Some(Event {
                        what: What::Lost(lost),
                        ..
                    }) => self.lost += lost,
                    Some(event) => self.pending.push(event),
                    None => {}
                },
            );
        }
        self.pending.sort_by_key(|event| event.time);
        let ripe = self
            .pending
            .partition_point(|event| event.time + LATE_NS <= now.time_ns);
        for event in self.pending.drain(..ripe) {
            let time = self.last.ticks_at(now, event.time);
            sink(Event { time, ..event });
        }
        self.last = now;
    }
}

fn each_processor(mut open: impl FnMut(i32) -> io::Result<Ring>) -> io::Result<Vec<Ring>> {
    // SAFETY: no arguments that matter.
    let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) } as i32;
    let mut rings = Vec::new();
    for processor in 0..processors {
        match open(processor) {
            Ok(ring) => rings.push(ring),
            // It is off line.
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(rings)
}

/// What both kinds of events have in common.
fn event() -> perf_event_attr {
    let mut attributes = perf_event_attr::default();
    attributes.size = size_of::<perf_event_attr>() as u32;
    attributes.sample_type = bindings::PERF_SAMPLE_TID as u64 | bindings::PERF_SAMPLE_TIME as u64;
    attributes.clockid = libc::CLOCK_MONOTONIC_RAW;
    attributes.set_use_clockid(1);
    attributes.set_sample_id_all(1);
    attributes.set_inherit(1);
    attributes
}

/// Context switches: told of by an event that counts nothing.
fn switch_event() -> perf_event_attr {
    let mut attributes = event();
    attributes.type_ = bindings::PERF_TYPE_SOFTWARE;
    attributes.config = bindings::PERF_COUNT_SW_DUMMY as u64;
    attributes.set_context_switch(1);
    // What an unprivileged user must say.
    attributes.set_exclude_kernel(1);
    attributes
}

fn waking_event(id: u64) -> perf_event_attr {
    let mut attributes = event();
    attributes.type_ = bindings::PERF_TYPE_TRACEPOINT;
    attributes.config = id;
    attributes.__bindgen_anon_1.sample_period = 1;
    attributes.sample_type |= bindings::PERF_SAMPLE_RAW as u64;
    attributes
}

/// Opens an event on one processor, of this process and all its future children.
fn open(attributes: &mut perf_event_attr, processor: i32) -> io::Result<Ring> {
    let flags = bindings::PERF_FLAG_FD_CLOEXEC as _;
    // SAFETY: a valid description; the answer is a new descriptor or an error.
    let event = unsafe {
        let fd = perf_event_open_sys::perf_event_open(attributes, 0, processor, -1, flags);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    Ring::map(event)
}

/// Where the tracepoint is described, if we may read it.
fn waking_format() -> Option<WakingFormat> {
    let folders = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    folders.iter().find_map(|folder| {
        let text = fs::read_to_string(format!("{folder}/events/sched/sched_waking/format")).ok()?;
        parse_format(&text)
    })
}

/// Out of a `format` file: `ID: 375`, and a line a field that ends in its name, then `offset:24;`.
fn parse_format(text: &str) -> Option<WakingFormat> {
    let id = text.lines().find_map(|line| line.strip_prefix("ID: "))?;
    let offset = |name: &str| {
        let line = text.lines().find(|line| {
            line.trim().starts_with("field:") && line.contains(&format!(" {name};"))
        })?;
        let offset = line.split("offset:").nth(1)?.split(';').next()?;
        offset.parse().ok()
    };
    Some(WakingFormat {
        id: id.trim().parse().ok()?,
        tid_at: offset("pid")?,
        flags_at: offset("common_flags")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_read() {
        let text = "name: sched_waking\nID: 375\nformat:\n\
            \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
            \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
            \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
            \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
            \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n";
        let format = parse_format(text).unwrap();
        assert_eq!((format.id, format.tid_at, format.flags_at), (375, 24, 2));
        assert!(parse_format("name: x\n").is_none());
    }
}
