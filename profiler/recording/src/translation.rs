//! Translates one recording's numbers to those of several taken together: probe ids, threads' keys, and the speed of
//! the clock.

use evenkeel_analysis::SwitchedOut;
use evenkeel_wire::{Marker, Record, latency_class, latency_class_start};

use crate::starts_at_a_time;

/// Keys of threads are numbers of the system, which several machines share: above these bits stands whose they are.
const KEY_BITS: u32 = 54;

/// Changes of a recording's records. By default none.
#[derive(Clone, Debug, Default)]
pub struct Translation {
    /// By probe id of the recording: its id in all of them.
    pub probes: Vec<u32>,
    /// Ticks of the first recording's clock for 2^32 of this one's; nothing where both are as fast.
    pub clock: Option<u64>,
    /// The ratio for a single value, as exact as possible: sums of squares would show a rounding.
    pub ratio: Option<f64>,
    /// Number of the recording.
    pub recording: u64,
}

/// Ticks of a clock of `ours` ticks a nanosecond for 2^32 of one of `theirs`. Clocks that differ by less than a calibration may be
/// off (one part in ten thousand) are taken for one.
pub fn clock(ours: f64, theirs: f64) -> Option<u64> {
    ratio(ours, theirs).map(|ratio| (ratio * 2f64.powi(32)).round() as u64)
}

/// The ratio to a clock of `theirs`.
pub fn ratio(ours: f64, theirs: f64) -> Option<f64> {
    let ratio = ours / theirs;
    let differ = (ratio - 1.0).abs() > 1e-4 && ratio.is_finite();
    differ.then_some(ratio)
}

impl Translation {
    /// A thread's key.
    pub fn thread(&self, key: u64) -> u64 {
        key ^ self.recording << KEY_BITS
    }

    /// A time. The translation is monotonic, so that nested times stay nested.
    fn moment(&self, ticks: u64) -> u64 {
        match self.clock {
            Some(clock) => ((u128::from(ticks) * u128::from(clock)) >> 32) as u64,
            None => ticks,
        }
    }

    /// Records of a thread.
    pub fn records(&self, records: &mut [Record]) {
        if self.probes.is_empty() && self.clock.is_none() {
            return;
        }
        records
            .iter_mut()
            .for_each(|record| *record = self.record(*record));
    }

    fn record(&self, record: Record) -> Record {
        let probe = |id: u32| self.probes.get(id as usize).copied().unwrap_or(id);
        let lasts = |start: u64| self.moment(record.end()).saturating_sub(start);
        let start =
            match starts_at_a_time(&record) && record.as_marker() != Some(Marker::LabelInteger) {
                true => self.moment(record.start),
                false => record.start,
            };
        match record.as_marker() {
            // Void calls have no time.
            None if record.start == 0 => record,
            None => Record::new(start, lasts(start), probe(record.id())),
            Some(Marker::Wait) => Record::new(start, lasts(start), record.id()),
            Some(Marker::Open) => {
                let open = u32::try_from(record.duration()).map_or(u32::MAX, probe);
                Record::new(start, open.into(), record.id())
            }
            Some(_) => Record::new(start, record.duration(), record.id()),
        }
    }

    /// Latencies by class, and the largest one, as [`evenkeel_wire::latency_class`] has them.
    pub fn latencies(&self, max_ticks: u64, by_class: &mut [(usize, u64)]) -> u64 {
        if self.clock.is_some() {
            for (class, _) in by_class.iter_mut() {
                let (from, to) = (latency_class_start(*class), latency_class_start(*class + 1));
                *class = latency_class(self.moment(from.midpoint(to)));
            }
        }
        self.moment(max_ticks)
    }

    /// When a thread did not run.
    pub fn spans<'a>(&self, spans: &'a mut [SwitchedOut]) -> &'a [SwitchedOut] {
        for span in spans.iter_mut() {
            span.start = self.moment(span.start);
            span.end = self.moment(span.end);
            span.by = span.by.map(|key| self.thread(key));
        }
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock of 2 ticks a nanosecond, as one of 3.
    #[test]
    fn records_are_translated() {
        let translation = Translation {
            probes: vec![5, 4],
            clock: clock(3.0, 2.0),
            ratio: ratio(3.0, 2.0),
            recording: 1,
        };
        let mut records = [
            Record::new(1000, 500, 1),
            Record::marker(Marker::Open, 1000, 0),
            Record::marker(Marker::Begin, 1000, 3),
            Record::marker(Marker::LabelInteger, 1000, 0),
            Record::marker(Marker::Object, 1000, 1),
            Record::marker(Marker::Wait, 1000, 500),
        ];
        translation.records(&mut records);
        let expected = [
            Record::new(1500, 750, 4),
            Record::marker(Marker::Open, 1500, 5),
            Record::marker(Marker::Begin, 1500, 3),
            Record::marker(Marker::LabelInteger, 1000, 0),
            Record::marker(Marker::Object, 1000, 1),
            Record::marker(Marker::Wait, 1500, 750),
        ];
        assert_eq!(records, expected);
        let mut by_class = [(latency_class(1000), 7)];
        assert_eq!(translation.latencies(2000, &mut by_class), 3000);
        assert_eq!(by_class, [(latency_class(1500), 7)]);
        assert_eq!(clock(2.4, 2.400_01), None);
        assert_ne!(translation.thread(7), 7);
    }
}
