//! Findings as values of a label. Each value is a series in a metrics server, so the number of values in a session is
//! bounded.

use std::collections::BTreeSet;

/// Findings beyond those that have a series of their own.
pub const OTHERS: &str = "other findings";
/// Time that no finding has.
pub const UNATTRIBUTED: &str = "unattributed";
/// Values in a session for each finding that may have a series at a time.
const SERIES_EACH: usize = 4;
/// Characters of a value.
const LENGTH_MAX: usize = 120;

/// The values that were given so far.
#[derive(Debug)]
pub struct Names {
    given: BTreeSet<String>,
    given_max: usize,
}

impl Names {
    /// For this many findings at a time.
    pub fn new(top: usize) -> Names {
        Names {
            given: BTreeSet::new(),
            given_max: top * SERIES_EACH,
        }
    }

    /// The value of a finding; that of the others where all have been given.
    pub fn of(&mut self, headline: &str) -> String {
        let name = match headline.char_indices().nth(LENGTH_MAX) {
            Some((end, _)) => format!("{}..", &headline[..end]),
            None => headline.to_owned(),
        };
        if !self.given.contains(&name) {
            if self.given.len() >= self.given_max {
                return OTHERS.to_owned();
            }
            self.given.insert(name.clone());
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_and_there_are_only_so_many() {
        let mut names = Names::new(1);
        assert_eq!(names.of("a"), "a");
        assert_eq!(names.of(&"ü".repeat(500)).chars().count(), 122);
        assert_eq!((names.of("c"), names.of("d")), ("c".into(), "d".into()));
        assert_eq!(names.of("e"), OTHERS);
        assert_eq!(names.of("a"), "a");
    }
}
