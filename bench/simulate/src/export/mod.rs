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

/// Writes results.
pub type Format = fn(&Report<'_>) -> String;

/// Each form by the name of its option of `evenkeel simulate`; the first is what is printed without one.
pub const FORMATS: [(&str, Format); 3] = [("table", table), ("json", json), ("csv", csv)];

/// Results to write.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    rows: Vec<Replicated<'a>>,
    baseline: Option<ScheduleKind>,
}

impl<'a> Report<'a> {
    /// Results of [`crate::cases`] and [`crate::sweep()`] for this many seeds, compared with `baseline`, if given.
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

    /// The comparison of a row with the baseline at the same point; `None` without a baseline, or where it was not
    /// simulated.
    pub fn relative(&self, row: &Replicated<'_>) -> Option<Relative> {
        let of = |schedule: ScheduleKind| {
            self.rows
                .iter()
                .find(|other| other.case.point == row.case.point && other.schedule() == schedule)
        };
        Some(row.relative(of(self.baseline?)?, of(ScheduleKind::Fifo)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Whoever adds a form makes it known here, and so to the command line, whose test asks for an option of each.
    #[test]
    fn no_form_is_forgotten() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/export");
        for entry in std::fs::read_dir(folder).expect("the forms' sources") {
            let path = entry.expect("an entry").path();
            let text = std::fs::read_to_string(&path).expect("a source");
            let name = path.file_stem().and_then(|stem| stem.to_str());
            let name = name.expect("a name");
            if text.contains(&format!("\npub fn {name}(report: &Report<'_>) -> String")) {
                assert!(
                    FORMATS.iter().any(|(known, _)| *known == name),
                    "{name} is not in FORMATS of export/mod.rs"
                );
            }
        }
    }
}
