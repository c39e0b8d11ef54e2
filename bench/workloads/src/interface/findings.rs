//! Collecting what a consistency check finds.

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::Violation;

/// Violations, at most `Findings::PER_CONDITION` of each condition: a damaged table breaks a condition for
/// every row.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    violations: Vec<Violation>,
    /// Number of violations of each condition.
    seen: BTreeMap<&'static str, usize>,
}

impl Findings {
    /// Most violations kept of one condition.
    pub(crate) const PER_CONDITION: usize = 10;

    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reports a violation unless `left` equals `right`; `place` says where.
    pub fn equal<T: PartialEq + Debug>(
        &mut self,
        condition: &'static str,
        left: T,
        right: T,
        place: impl FnOnce() -> String,
    ) {
        if left != right {
            self.report(condition, || format!("{}: {left:?} and {right:?}", place()));
        }
    }

    /// Reports a violation unless `holds`; `detail` says where, and the numbers.
    pub fn holds(&mut self, condition: &'static str, holds: bool, detail: impl FnOnce() -> String) {
        if !holds {
            self.report(condition, detail);
        }
    }

    fn report(&mut self, condition: &'static str, detail: impl FnOnce() -> String) {
        let seen = self.seen.entry(condition).or_default();
        *seen += 1;
        if *seen <= Self::PER_CONDITION {
            self.violations.push(Violation {
                condition,
                detail: detail(),
            });
        }
    }

    /// All that was kept, in the order reported.
    pub fn finish(self) -> Vec<Violation> {
        self.violations
    }
}
