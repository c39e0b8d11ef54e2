//! Messages about a Java virtual machine.

use evenkeel_analysis::findings::warnings::Warning;

use crate::units::{count, duration};

/// A warning about a Java virtual machine in words.
pub(super) fn said(warning: &Warning) -> String {
    match warning {
        Warning::JavaStopped {
            times,
            longest_ns,
            total_ns,
        } => format!(
            "the Java virtual machine stood still {times} times so that probes could be planted or removed: {} in all at most, {} at a time. \
             Native functions below Java methods are not timed by themselves: their time counts as their Java callers'. \
             Stacks of about a second chose the methods to time at each step: what only rare intervals call may be in their callers",
            duration(*total_ns as f64),
            duration(*longest_ns as f64)
        ),
        Warning::JavaCompiled {
            time_ns,
            rate,
            rate_later,
        } => format!(
            "probes made the Java virtual machine compile its code again, which took {}. In this time {} intervals a second ended, later {}. The report is \
             of the later ones. It compiles again after the end, when probes are removed. A JVM that is started with the agent (-agentpath) throws less \
             code away",
            duration(*time_ns as f64),
            count(rate.round() as u64),
            count(rate_later.round() as u64)
        ),
        Warning::VirtualThreads(intervals) => format!(
            "{} intervals began on virtual threads, which are not followed, and are missing here: name a method that runs on platform threads",
            count(*intervals)
        ),
        Warning::JavaPauseLimit {
            methods,
            first,
            pause_ns,
            limit_ns,
        } => format!(
            "the calls of {methods} methods, of which {first} takes most time, were not timed: the Java virtual machine stood still for {} the \
             last time, and --max-pause allows {}. A larger --max-pause would show what they call",
            duration(*pause_ns as f64),
            duration(*limit_ns as f64)
        ),
        Warning::JavaNotOpened { classes, why } => format!(
            "the calls of methods in {classes} classes were not timed, because {why}; their time is their callers'. Please report this"
        ),
        other => unreachable!("{other:?} is said elsewhere"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_methods_are_reported_with_a_remedy() {
        let virtual_threads = said(&Warning::VirtualThreads(3));
        assert!(
            virtual_threads.contains("name a method"),
            "{virtual_threads}"
        );
        let limit = said(&Warning::JavaPauseLimit {
            methods: 2,
            first: "a.B.c".to_owned(),
            pause_ns: 30_000_000,
            limit_ns: 20_000_000,
        });
        assert!(
            limit.contains("a.B.c") && limit.contains("--max-pause"),
            "{limit}"
        );
    }
}
