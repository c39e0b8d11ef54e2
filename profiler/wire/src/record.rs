//! Records in a thread's ring: 16 bytes a completed call, and markers around intervals.
//!
//! ```text
//! word 0 |                     entry time, ticks                      |
//! word 1 | duration, ticks (43 bits)        | probe id (20 bits)  | L |
//! ```
//! `L` is the lap bit: the parity of the number of times the ring's position has passed its capacity. A reader that
//! expects the other parity sees a record that is reserved but not yet written.
//!
//! A call is recorded when it returns, so a thread's records are in order of their end and children come before
//! their parents. Ids from [`MARKER_FIRST`] up are not probes but [`Marker`]s.

/// Bits of word 1 below the duration.
pub const DURATION_SHIFT: u32 = 21;
/// Width of a duration; longer calls wrap, fail the nesting check and cost their interval (an hour at 2.3 GHz).
pub const DURATION_BITS: u32 = 43;
/// Bits of a probe id.
pub const PROBE_ID_BITS: u32 = DURATION_SHIFT - 1;
/// All bits of a probe id.
pub const PROBE_ID_MASK: u32 = (1 << PROBE_ID_BITS) - 1;
/// First id that is a marker.
pub const MARKER_FIRST: u32 = PROBE_ID_MASK - 0x1f;
/// First marker of an interval that stays on its thread; below lie the markers of [`crate::waits`].
const INTERVAL_FIRST: u32 = MARKER_FIRST + 0x10;
/// Bytes of label text a [`Marker::Label`] record carries: eight in word 0, five in the duration field.
pub const LABEL_CHUNK: usize = 13;
/// Bytes of a label that are carried at all.
pub const LABEL_MAX: usize = 20 * LABEL_CHUNK;

/// A record, in a ring and in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Record {
    /// Entry time in ticks of the target's time stamp counter (markers: see [`Marker`]).
    pub start: u64,
    /// Duration, probe id and lap bit.
    pub word: u64,
}

/// Records that are not calls. The payload is what the duration field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Marker {
    /// An interval begins at `start`. Payload: plan generation << 1 | probed (0: its probes are bypassed).
    Begin = INTERVAL_FIRST,
    /// Text of the label of the interval just begun: bytes 0-7 in `start`, 8-12 in the payload, zero-padded.
    Label = INTERVAL_FIRST + 1,
    /// An integer label of the interval just begun, in `start`.
    LabelInteger = INTERVAL_FIRST + 2,
    /// A call entered at `start` is still running when the interval ends; outermost first. Payload: probe id.
    Open = INTERVAL_FIRST + 3,
    /// The interval ended at `start`. Payload: whether its call was left << 41 | [`crate::KeepRate`] << 33 | plan generation << 1 | 1.
    End = INTERVAL_FIRST + 4,
    /// Records were lost here, or a call's entry could not be matched to its return. Payload: how many, if known.
    Gap = INTERVAL_FIRST + 5,
    /// The interval was given up: its thread went on with another stack, and calls of it were lost. Payload unused.
    Abandon = INTERVAL_FIRST + 6,
    /// A call that blocked, written when it returned: began at `start`, payload its duration. [`Marker::Object`] follows,
    /// for a condition variable a second one (see [`crate::event`] for this and all of the following).
    Wait = MARKER_FIRST,
    /// The object of the record before it: its key in `start`. Payload: a [`crate::waits::ObjectKind`].
    Object = MARKER_FIRST + 1,
    /// The thread is about to release or signal something, at `start`. [`Marker::Object`] follows, then the calls
    /// open at that moment as [`Marker::Open`], outermost first. Payload: how many.
    Wake = MARKER_FIRST + 2,
    /// The thread puts a task into a queue or creates a thread, at `start`. As [`Marker::Wake`]; the object is the task.
    Enqueue = MARKER_FIRST + 3,
    /// The thread takes up a task, at `start`. [`Marker::Object`] follows.
    Dequeue = MARKER_FIRST + 4,
    /// From `start` on the thread works on the interval that [`Marker::Object`] names; key 0: on none. Agents also
    /// write it after [`Marker::BeginKeyed`], and with key 0 after the [`Marker::EndKeyed`] of the thread's interval.
    Work = MARKER_FIRST + 5,
    /// An interval with a key begins at `start`; it may end on another thread. Payload as [`Marker::Begin`].
    /// [`Marker::Object`] follows, then its label.
    BeginKeyed = MARKER_FIRST + 6,
    /// The interval that [`Marker::Object`] names ended at `start`. Otherwise as [`Marker::Wake`], but for the payload:
    /// plan generation << 8 | number of [`Marker::Open`].
    EndKeyed = MARKER_FIRST + 7,
    /// The class of the interval that [`Marker::Object`] names; the [`Marker::Label`] records after the object spell
    /// it.
    Class = MARKER_FIRST + 8,
    /// An attribute of the interval that [`Marker::Object`] names: its value in `start`; [`Marker::Label`] records
    /// after the object spell its name.
    Attribute = MARKER_FIRST + 9,
}

impl Record {
    /// A completed call of `probe`, or a marker with its payload; the lap bit is left clear.
    pub const fn new(start: u64, payload: u64, id: u32) -> Record {
        Record {
            start,
            word: payload << DURATION_SHIFT | (id as u64) << 1,
        }
    }

    /// A marker record.
    pub const fn marker(marker: Marker, start: u64, payload: u64) -> Record {
        Record::new(start, payload, marker as u32)
    }

    /// Probe id, or a number from [`MARKER_FIRST`] up.
    #[inline]
    pub const fn id(self) -> u32 {
        (self.word >> 1) as u32 & PROBE_ID_MASK
    }

    /// Whether it is a completed call.
    #[inline]
    pub const fn is_call(self) -> bool {
        self.id() < MARKER_FIRST
    }

    /// Duration in ticks, or a marker's payload.
    #[inline]
    pub const fn duration(self) -> u64 {
        self.word >> DURATION_SHIFT
    }

    /// End of the call in ticks.
    #[inline]
    pub const fn end(self) -> u64 {
        self.start.wrapping_add(self.duration())
    }

    /// Which marker this is, if any.
    #[inline]
    pub const fn as_marker(self) -> Option<Marker> {
        Some(match self.id().wrapping_sub(MARKER_FIRST) {
            0 => Marker::Wait,
            1 => Marker::Object,
            2 => Marker::Wake,
            3 => Marker::Enqueue,
            4 => Marker::Dequeue,
            5 => Marker::Work,
            6 => Marker::BeginKeyed,
            7 => Marker::EndKeyed,
            8 => Marker::Class,
            9 => Marker::Attribute,
            16 => Marker::Begin,
            17 => Marker::Label,
            18 => Marker::LabelInteger,
            19 => Marker::Open,
            20 => Marker::End,
            21 => Marker::Gap,
            22 => Marker::Abandon,
            _ => return None,
        })
    }

    /// The label bytes of a [`Marker::Label`] record, padding included.
    #[inline]
    pub(crate) const fn label_chunk(self) -> [u8; LABEL_CHUNK] {
        let low = self.start.to_le_bytes();
        let high = self.duration().to_le_bytes();
        let mut chunk = [0; LABEL_CHUNK];
        let mut i = 0;
        while i < LABEL_CHUNK {
            chunk[i] = if i < 8 { low[i] } else { high[i - 8] };
            i += 1;
        }
        chunk
    }

    /// The [`Marker::Label`] record whose text is these words' bytes, lowest first: eight, and [`LABEL_CHUNK`] - 8.
    pub const fn from_label_words(low: u64, high: u64) -> Record {
        Record::marker(Marker::Label, low, high)
    }

    /// The [`Marker::Label`] record that carries the first [`LABEL_CHUNK`] bytes of `text`.
    pub fn from_label_chunk(text: &[u8]) -> Record {
        let mut bytes = [0; 16];
        let taken = text.len().min(LABEL_CHUNK);
        bytes[..taken].copy_from_slice(&text[..taken]);
        let word =
            |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Record::marker(Marker::Label, word(0), word(8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_overlap() {
        let record = Record::new(u64::MAX, (1 << DURATION_BITS) - 1, PROBE_ID_MASK);
        assert_eq!(record.word, u64::MAX - 1, "everything but the lap bit");
        assert_eq!(
            (record.duration(), record.id()),
            ((1 << DURATION_BITS) - 1, PROBE_ID_MASK)
        );
    }

    #[test]
    fn label_chunks_come_back() {
        let record = Record::from_label_chunk(b"SELECT abalance FROM x");
        assert_eq!(record.as_marker(), Some(Marker::Label));
        assert_eq!(&record.label_chunk(), b"SELECT abalan");
        assert_eq!(
            &Record::from_label_chunk(b"END").label_chunk()[..4],
            b"END\0"
        );
    }
}
