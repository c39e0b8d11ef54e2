//! The records of the kernel's buffer.

use perf_event_open_sys::bindings;

use crate::tracepoints::Tracepoints;

/// Something that happened to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Process.
    pub pid: u32,
    /// Thread, by the number that the session's name space has for it.
    pub tid: u32,
    /// When: nanoseconds of `CLOCK_MONOTONIC_RAW` as read, ticks of the time stamp counter as handed on.
    pub time: u64,
    /// The event.
    pub what: What,
}

/// Events of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The thread left its processor.
    SwitchedOut {
        /// It could have run on: the kernel gave the processor to another. Otherwise it blocked.
        preempted: bool,
    },
    /// The thread got a processor.
    SwitchedIn,
    /// The thread was made ready to run while a thread of the target ran. Wake-ups by others are not reported.
    Woken {
        /// The thread that did it; 0: an interrupt that struck it, that is, a device or a timer.
        by_tid: u32,
    },
    /// The thread is about to leave its processor, and no signal will bring it back: it waits for a device, or for a lock of the
    /// kernel's own.
    Uninterruptible,
    /// A page that the thread touched had to be read from a device, and is there now.
    MajorFault,
    /// This many records were lost: the buffer was full.
    Lost(u64),
    /// Belongs to no thread: earlier events were not watched ([`crate::KernelEvents::pause`]), later ones are.
    Resumed,
}

/// Bits of a tracepoint's `common_flags`: in a hard or a soft interrupt (`TRACE_FLAG_HARDIRQ`, `TRACE_FLAG_SOFTIRQ`).
const IN_INTERRUPT: u8 = 0x08 | 0x10;

/// Kinds of samples in a buffer.
#[derive(Clone, Copy, Debug)]
pub enum Samples {
    /// Major page faults.
    MajorFaults,
    /// These tracepoints, with their raw data.
    Of(Tracepoints),
}

/// The event that a record is of. `body`: what follows its header. Nothing for records of other kinds.
///
/// A switch has one kind of record where some threads are watched, and another, longer one where all of the machine are.
///
/// All events are opened with `PERF_SAMPLE_TID | PERF_SAMPLE_TIME`, and `sample_id_all`, so that records that are no samples
/// end with those fields, too.
pub fn parse(kind: u32, misc: u16, body: &[u8], samples: Samples) -> Option<Event> {
    let mut fields = Fields(body);
    match kind {
        bindings::PERF_RECORD_SWITCH | bindings::PERF_RECORD_SWITCH_CPU_WIDE => {
            if kind == bindings::PERF_RECORD_SWITCH_CPU_WIDE {
                // Process and thread on the other side of the switch; the kernel writes a separate record about them.
                let _other = fields.u64()?;
            }
            let out = u32::from(misc) & bindings::PERF_RECORD_MISC_SWITCH_OUT != 0;
            let preempted = u32::from(misc) & bindings::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT != 0;
            let what = if out {
                What::SwitchedOut { preempted }
            } else {
                What::SwitchedIn
            };
            event(&mut fields, what)
        }
        bindings::PERF_RECORD_LOST => {
            let _id = fields.u64()?;
            let lost = fields.u64()?;
            event(&mut fields, What::Lost(lost))
        }
        bindings::PERF_RECORD_SAMPLE => {
            let fault = event(&mut fields, What::MajorFault)?;
            match samples {
                Samples::MajorFaults => Some(fault),
                Samples::Of(tracepoints) => tracepoint(fault, fields, tracepoints),
            }
        }
        _ => None,
    }
}

/// A tracepoint's event, which struck `at`; its raw data begins with the tracepoint's number (`common_type`).
fn tracepoint(at: Event, mut fields: Fields<'_>, tracepoints: Tracepoints) -> Option<Event> {
    let len = fields.u32()? as usize;
    let raw = fields.0.get(..len)?;
    let id = u16::from_le_bytes(*raw.first_chunk()?);
    let waking = tracepoints.waking;
    if u64::from(id) == tracepoints.switch_id {
        let what = What::Uninterruptible;
        return Some(Event { what, ..at });
    }
    if u64::from(id) != waking.id {
        return None;
    }
    let tid = raw.get(waking.tid_at..)?.first_chunk()?;
    let interrupt = raw.get(waking.flags_at)? & IN_INTERRUPT != 0;
    let by_tid = if interrupt { 0 } else { at.tid };
    Some(Event {
        pid: 0,
        tid: u32::from_le_bytes(*tid),
        time: at.time,
        what: What::Woken { by_tid },
    })
}

fn event(fields: &mut Fields<'_>, what: What) -> Option<Event> {
    Some(Event {
        pid: fields.u32()?,
        tid: fields.u32()?,
        time: fields.u64()?,
        what,
    })
}

/// The unread rest of a record.
pub struct Fields<'a>(pub &'a [u8]);

impl Fields<'_> {
    /// The next 32 bits.
    pub fn u32(&mut self) -> Option<u32> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*field))
    }

    /// The next 64 bits.
    pub fn u64(&mut self) -> Option<u64> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*field))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracepoints::WakingFormat;

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    const TRACEPOINTS: Samples = Samples::Of(Tracepoints {
        waking: WakingFormat {
            id: 1,
            tid_at: 8,
            flags_at: 2,
        },
        switch_id: 2,
    });

    /// As seen on a 6.18 kernel: misc 0x2000 when a thread blocks, 0x6000 when it is preempted.
    #[test]
    fn switches() {
        let body = bytes(&[7, 8, 500, 0]);
        let parse = |misc| parse(14, misc, &body, Samples::MajorFaults).unwrap();
        assert_eq!(parse(0x2000).what, What::SwitchedOut { preempted: false });
        assert_eq!(parse(0x6000).what, What::SwitchedOut { preempted: true });
        let event = parse(0);
        assert_eq!((event.pid, event.tid, event.time), (7, 8, 500));
        assert_eq!(event.what, What::SwitchedIn);
    }

    /// Recorded on the same kernel while every thread was watched: the other thread comes first, 0 for an idle
    /// processor.
    #[test]
    fn switches_of_everybody() {
        let body = bytes(&[0, 0, 7, 8, 500, 0]);
        let parse = |misc| parse(15, misc, &body, Samples::MajorFaults).unwrap();
        let event = parse(0x2000);
        assert_eq!((event.pid, event.tid, event.time), (7, 8, 500));
        assert_eq!(event.what, What::SwitchedOut { preempted: false });
        assert_eq!(parse(0x6000).what, What::SwitchedOut { preempted: true });
        assert_eq!(parse(0).what, What::SwitchedIn);
    }

    /// Thread 8 wakes thread 99; the same from an interrupt that struck while it ran.
    #[test]
    fn wakers() {
        let wake = |flags: u32| {
            let body = bytes(&[7, 8, 500, 0, 12, flags << 16 | 1, 8, 99]);
            parse(9, 0, &body, TRACEPOINTS).unwrap()
        };
        assert_eq!((wake(0).tid, wake(0).what), (99, What::Woken { by_tid: 8 }));
        assert_eq!(wake(0x10).what, What::Woken { by_tid: 0 });
    }

    /// Only switches that no signal ends are sampled; a sample without raw data is a page fault.
    #[test]
    fn sleeps_that_no_signal_ends_and_faults() {
        let sample = |id: u32, samples| {
            let body = bytes(&[7, 8, 500, 0, 8, id, 0]);
            parse(9, 0, &body, samples)
        };
        let of = |what| {
            Some(Event {
                pid: 7,
                tid: 8,
                time: 500,
                what,
            })
        };
        assert_eq!(sample(2, TRACEPOINTS), of(What::Uninterruptible));
        assert_eq!(sample(3, TRACEPOINTS), None, "another tracepoint");
        assert_eq!(sample(0, Samples::MajorFaults), of(What::MajorFault));
    }

    #[test]
    fn short_and_unknown_records_are_nothing() {
        assert_eq!(parse(14, 0, &bytes(&[7, 8, 500]), TRACEPOINTS), None);
        assert_eq!(parse(9, 0, &bytes(&[7, 8, 500, 0, 400]), TRACEPOINTS), None);
        assert_eq!(parse(77, 0, &[], TRACEPOINTS), None);
    }
}
