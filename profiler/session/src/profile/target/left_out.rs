//! Processes that could not be attached to, or not be left at once: those for the same reason are one line of the
//! report.

use evenkeel_analysis::findings::warnings::Warning;

/// The part of profiling that a process was left out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOutOf {
    /// Its intervals are not seen.
    NotAttached,
    /// Its hooks stay until its next interval.
    HooksLeft,
}

/// Processes that were left out for the same reason.
#[derive(Clone, Debug)]
struct Group {
    kind: LeftOutOf,
    reason: String,
    /// The text about the first process.
    first: String,
    processes: u64,
}

/// The processes that were left out, by reason.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    groups: Vec<Group>,
}

impl LeftOut {
    /// Adds one process with its text. Returns whether it is the first with this reason.
    pub fn add(&mut self, kind: LeftOutOf, text: String) -> bool {
        let reason = without_numbers(&text);
        let mut groups = self.groups.iter_mut();
        if let Some(group) = groups.find(|group| group.kind == kind && group.reason == reason) {
            group.processes += 1;
            return false;
        }
        self.groups.push(Group {
            kind,
            reason,
            first: text,
            processes: 1,
        });
        true
    }

    /// A warning for each reason.
    pub fn warnings(&self) -> impl Iterator<Item = Warning> {
        self.groups.iter().map(|group| {
            let (processes, first) = (group.processes, group.first.clone());
            match group.kind {
                LeftOutOf::NotAttached => Warning::NotAttached { processes, first },
                LeftOutOf::HooksLeft => Warning::HooksLeft { processes, first },
            }
        })
    }
}

/// A reason without the numbers of processes and threads in it.
fn without_numbers(text: &str) -> String {
    let mut reason = String::new();
    for part in text.split(|character: char| character.is_ascii_digit()) {
        if !(part.is_empty() && reason.ends_with('#')) {
            reason.push_str(part);
            reason.push('#');
        }
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_with_the_same_reason_are_one_line() {
        let mut left_out = LeftOut::default();
        let refused = |pid: u32| {
            format!(
                "process {pid} may not be traced: run evenkeel as root (sudo evenkeel attach {pid} ...)"
            )
        };
        assert!(left_out.add(LeftOutOf::NotAttached, refused(7)));
        for pid in [81, 4711, 100_000] {
            assert!(!left_out.add(LeftOutOf::NotAttached, refused(pid)));
        }
        assert!(left_out.add(LeftOutOf::HooksLeft, refused(9)));
        assert!(left_out.add(
            LeftOutOf::NotAttached,
            "process 7 cannot be attached to".to_owned()
        ));
        let not_attached = |processes, first: String| Warning::NotAttached { processes, first };
        let warnings: Vec<Warning> = left_out.warnings().collect();
        let expected = [
            not_attached(4, refused(7)),
            Warning::HooksLeft {
                processes: 1,
                first: refused(9),
            },
            not_attached(1, "process 7 cannot be attached to".to_owned()),
        ];
        assert_eq!(warnings, expected);
    }
}
