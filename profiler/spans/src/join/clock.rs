//! The clock of a profiled process beside that of its service's spans.
//!
//! Both usually are of one machine, whose time of day the recording knows from its beginning; drift and steps of that
//! clock add an error. A span and its interval lie one within the other: a library makes the span around the handler,
//! or the handler makes it. Where more than `BROKEN_MIN` of them do not, the recording's times are shifted. The shift
//! is the median of those that centre one in the other (as `crate::clocks` does it between hosts).

use evenkeel_analysis::findings::warnings::SpansWarning;

use super::Work;
use crate::clocks::{BROKEN_MIN, median};
use crate::span::Span;

/// Pairs remembered, at most: the first.
const PAIRS_MAX: usize = 1 << 16;

/// A span and its interval: how much later the interval begins and ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    begin_ns: i64,
    end_ns: i64,
}

impl Pair {
    pub(super) fn of(span: &Span, work: &Work) -> Pair {
        Pair {
            begin_ns: span.start_ns as i64 - work.begin_ns as i64,
            end_ns: span.end_ns as i64 - work.end_ns as i64,
        }
    }

    /// Neither lies within the other.
    fn is_broken(self) -> bool {
        self.begin_ns.signum() * self.end_ns.signum() > 0
    }

    /// The shift that centres the interval in the span.
    fn shift_ns(self) -> i64 {
        self.begin_ns + (self.end_ns - self.begin_ns) / 2
    }
}

/// Knowledge about a process's clock.
#[derive(Debug, Default)]
pub(super) struct Clock {
    pairs: u64,
    broken: u64,
    shifts_ns: Vec<i64>,
    correction_ns: i64,
}

impl Clock {
    /// Adds a span and its interval.
    pub(super) fn observe(&mut self, pair: Pair) {
        self.pairs += 1;
        self.broken += u64::from(pair.is_broken());
        if self.shifts_ns.len() < PAIRS_MAX {
            self.shifts_ns.push(pair.shift_ns());
        }
    }

    /// Decides on a correction.
    pub(super) fn settle(&mut self) {
        let is_broken = self.broken as f64 > BROKEN_MIN * self.pairs as f64;
        self.correction_ns = match is_broken {
            true => median(&mut self.shifts_ns.clone()),
            false => 0,
        };
    }

    /// Correction of its times.
    pub(super) fn correction_ns(&self) -> i64 {
        self.correction_ns
    }

    /// The warning about the correction, if there is one.
    pub(super) fn correction(&self, process: &str) -> Option<SpansWarning> {
        (self.correction_ns != 0).then(|| SpansWarning::ProcessClock {
            process: process.to_owned(),
            correction_ns: self.correction_ns,
            intervals: self.pairs,
            broken: self.broken,
        })
    }
}
