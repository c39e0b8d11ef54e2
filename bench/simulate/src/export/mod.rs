//! Results as JSON lines, CSV and text.

mod csv;
mod json;
pub(crate) mod numbers;
pub(crate) mod table;

pub use csv::csv;
pub use json::json;
pub use table::table;

use evenkeel_locks::ScheduleKind;

use crate::replicated::{Relative, Replicated};
use crate::{Case, Outcome};

/// What is to be written.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    rows: Vec<Replicated<'a>>,
    baseline: Option<ScheduleKind>,
}

impl<'a> Report<'a> {
    /// Of what [`crate::cases`] and [`crate::sweep()`] returned for so many seeds, compared with `baseline`, if given.
    pub fn new(
        cases: &'a [Case],
        outcomes: &'a [Outcome],
        seeds: usize,
        baseline: Option<ScheduleKind>,
    ) -> Report<'a> {
        Report {
            rows: Replicated::group(cases, outcomes, seeds),
            baseline,
        }
    }

    /// A row a schedule and value of the parameter.
    pub fn rows(&self) -> &[Replicated<'a>] {
        &self.rows
    }

    /// The rows of each value of the parameter.
    pub fn blocks(&self) -> impl Iterator<Item = &[Replicated<'a>]> {
        self.rows.chunk_by(|a, b| a.case.point == b.case.point)
    }

    /// How a row compares with the baseline at the same point; none without a baseline, or where it was not simulated.
    pub fn relative(&self, row: &Replicated<'_>) -> Option<Relative> {
        let of = |schedule: ScheduleKind| {
            self.rows
                .iter()
                .find(|other| other.case.point == row.case.point && other.schedule() == schedule)
        };
        Some(row.relative(of(self.baseline?)?, of(ScheduleKind::Fifo)))
    }
}
