//! Opening the events, and reading them in order of time.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use perf_event_open_sys::bindings::{self, perf_event_attr};
use perf_event_open_sys::ioctls;

use crate::clock::Reading;
use crate::record::{Event, Samples, What, parse};
use crate::ring::{PAGES_MIN, Ring};
use crate::tracepoints::Tracepoints;

/// Longest time between an event and its record.
const LATE_NS: u64 = 1_000_000;
/// Pages of all buffers together, where the system allows as many: 32 MB.
const PAGES_TOGETHER: usize = 8192;
/// Largest number of pages of one buffer. A server with ten thousand transactions a second makes 5 MB of records a
/// second, and the reader may have to wait for a CPU.
const PAGES_MAX: usize = 1024;
/// Selects the switches of threads in `TASK_UNINTERRUPTIBLE`: the kernel writes no record of the others.
const UNINTERRUPTIBLE: &CStr = c"prev_state == 2";

/// Why there are no events of the kernel.
#[derive(Debug, thiserror::Error)]
#[error(
    "the kernel does not report context switches ({0}); allow perf events (sysctl kernel.perf_event_paranoid=2, or a container's seccomp profile) to tell waiting from preemption"
)]
pub struct Unavailable(#[from] io::Error);

/// The threads whose events are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Processes that the calling process, with one thread, starts from now on.
    Children,
    /// Every thread of the machine, including running processes. The system shows them to root.
    Everybody,
}

/// The events of what is watched.
#[derive(Debug)]
pub struct KernelEvents {
    /// Context switches and major page faults, a buffer a processor.
    switches: Vec<Ring>,
    /// Tracepoints, a buffer a processor; none where they may not be read.
    traces: Vec<Ring>,
    tracepoints: Option<Tracepoints>,
    /// Read but not handed on: others may still come that are older.
    pending: Vec<Event>,
    last: Reading,
    is_paused: bool,
    /// Records that the kernel had no room for.
    pub lost: u64,
    /// Records that it wrote.
    pub read: u64,
}

impl KernelEvents {
    /// Begins to watch.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn watch(whom: Watched) -> Result<KernelEvents, Unavailable> {
        let switches = each_processor(|processor| {
            let mut ring = Ring::map(open(&mut switch_event(), whom, processor)?, pages())?;
            ring.admit(open_faults(whom, processor)?)?;
            Ok(ring)
        })?;
        let tracepoints = Tracepoints::find();
        let traces = tracepoints
            .and_then(|known| each_processor(|processor| trace(known, whom, processor)).ok())
            .unwrap_or_default();
        Ok(KernelEvents {
            switches,
            tracepoints: tracepoints.filter(|_| !traces.is_empty()),
            traces,
            pending: Vec::new(),
            last: Reading::now(),
            is_paused: false,
            lost: 0,
            read: 0,
        })
    }

    /// Whether [`What::Woken`] and [`What::Uninterruptible`] are among the events.
    pub fn sees_wakers(&self) -> bool {
        self.tracepoints.is_some()
    }

    /// Ceases to watch until [`KernelEvents::resume`]: each switch and each wake-up costs who makes it about a microsecond, which nobody
    /// has to pay while nothing is recorded.
    pub fn pause(&mut self) {
        if !self.is_paused {
            self.is_paused = self.set_watching(false).is_ok();
            if !self.is_paused {
                // Where the system refuses, all is watched on.
                let _ = self.set_watching(true);
            }
        }
    }

    /// Watches again. The first event handed on is [`What::Resumed`].
    pub fn resume(&mut self) {
        if self.is_paused {
            let time = Reading::now().time_ns;
            self.is_paused = self.set_watching(true).is_err();
            self.pending.push(Event {
                pid: 0,
                tid: 0,
                time,
                what: What::Resumed,
            });
        }
    }

    fn set_watching(&self, watching: bool) -> io::Result<()> {
        let mut rings = self.switches.iter().chain(&self.traces);
        rings.try_for_each(|ring| ring.set_watching(watching))
    }

    /// Hands on the events up to about a millisecond ago, in order of time, times in ticks.
    pub fn drain(&mut self, sink: &mut impl FnMut(Event)) {
        let now = Reading::now();
        let KernelEvents {
            pending,
            lost,
            read: records,
            ..
        } = self;
        let mut read = |rings: &mut [Ring], samples| {
            for ring in rings {
                ring.read(|kind, misc, body| {
                    *records += 1;
                    let event = parse(kind, misc, body, samples);
                    if let Some(What::Lost(number)) = event.map(|event| event.what) {
                        *lost += number;
                    }
                    pending.extend(event);
                });
            }
        };
        read(&mut self.switches, Samples::MajorFaults);
        if let Some(tracepoints) = self.tracepoints {
            read(&mut self.traces, Samples::Of(tracepoints));
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

/// Pages of each buffer; each processor has two buffers.
fn pages() -> usize {
    let each = PAGES_TOGETHER / (2 * processors().max(1) as usize);
    // The largest power of two that is not more.
    let each = 1 << each.max(1).ilog2();
    each.clamp(PAGES_MIN, PAGES_MAX)
}

fn processors() -> i32 {
    // SAFETY: no arguments that matter.
    unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) as i32 }
}

fn each_processor(mut open: impl FnMut(i32) -> io::Result<Ring>) -> io::Result<Vec<Ring>> {
    let mut rings = Vec::new();
    for processor in 0..processors() {
        match open(processor) {
            Ok(ring) => rings.push(ring),
            // It is off line.
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(rings)
}

/// Attributes common to all kinds of events.
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

/// Context switches: records of an event that counts nothing.
fn switch_event() -> perf_event_attr {
    let mut attributes = event();
    attributes.type_ = bindings::PERF_TYPE_SOFTWARE;
    attributes.config = bindings::PERF_COUNT_SW_DUMMY as u64;
    attributes.set_context_switch(1);
    // What an unprivileged user must say.
    attributes.set_exclude_kernel(1);
    attributes
}

/// Major page faults; those that strike while the kernel copies from or to the target, too, where that may be read.
fn open_faults(whom: Watched, processor: i32) -> io::Result<OwnedFd> {
    let mut attributes = event();
    attributes.type_ = bindings::PERF_TYPE_SOFTWARE;
    attributes.config = bindings::PERF_COUNT_SW_PAGE_FAULTS_MAJ as u64;
    attributes.__bindgen_anon_1.sample_period = 1;
    open(&mut attributes, whom, processor).or_else(|_| {
        attributes.set_exclude_kernel(1);
        open(&mut attributes, whom, processor)
    })
}

/// Wake-ups and uninterruptible sleeps on one processor, in one buffer.
fn trace(tracepoints: Tracepoints, whom: Watched, processor: i32) -> io::Result<Ring> {
    let waking = open(&mut trace_event(tracepoints.waking.id), whom, processor)?;
    let mut ring = Ring::map(waking, pages())?;
    let switch = open(&mut trace_event(tracepoints.switch_id), whom, processor)?;
    // SAFETY: an event, and a text that outlives the call; the kernel does not write to it.
    if unsafe { ioctls::SET_FILTER(switch.as_raw_fd(), UNINTERRUPTIBLE.as_ptr().cast_mut()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    ring.admit(switch)?;
    Ok(ring)
}

fn trace_event(id: u64) -> perf_event_attr {
    let mut attributes = event();
    attributes.type_ = bindings::PERF_TYPE_TRACEPOINT;
    attributes.config = id;
    attributes.__bindgen_anon_1.sample_period = 1;
    attributes.sample_type |= bindings::PERF_SAMPLE_RAW as u64;
    attributes
}

/// Opens an event on one processor.
fn open(attributes: &mut perf_event_attr, whom: Watched, processor: i32) -> io::Result<OwnedFd> {
    let process = match whom {
        Watched::Children => 0,
        Watched::Everybody => -1,
    };
    open_event(attributes, process, processor)
}

/// Opens an event of a process or thread on a processor, each -1 for all, as perf_event_open(2) says.
pub fn open_event(
    attributes: &mut perf_event_attr,
    process: i32,
    processor: i32,
) -> io::Result<OwnedFd> {
    let flags = bindings::PERF_FLAG_FD_CLOEXEC as _;
    // SAFETY: a valid description; the answer is a new descriptor or an error.
    unsafe {
        let fd = perf_event_open_sys::perf_event_open(attributes, process, processor, -1, flags);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}
