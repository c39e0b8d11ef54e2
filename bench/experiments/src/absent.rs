//! Items that are not measured, each with the reason.

use std::time::Duration;

use crate::Error;
use crate::experiment::{Context, Experiment, Finding};
use crate::verdict::Verdict;

/// An item that is not measured. The function is written out for each, as a constant takes no closure that captures.
macro_rules! absent {
    ($id:literal, $item:literal, $says:literal, $method:literal, $command:literal, $verdict:ident, $why:literal) => {{
        fn run(_: &Context) -> Result<Finding, Error> {
            Ok(Finding::without(Verdict::$verdict, $why))
        }
        Experiment {
            id: $id,
            item: $item,
            says: $says,
            method: $method,
            command: $command,
            takes: |_| Duration::ZERO,
            run,
        }
    }};
}

/// Chapter 1 and 2: profiles of servers.
pub const PROFILES: &[Experiment] = &[
    absent!(
        "figure-2.1",
        "Figure 2.1, a call graph and its variance tree",
        "An illustration of var(A) = sum of variances and covariances.",
        "The sum is exact in every profile: `closure.max_abs_error_ticks` of its JSON is zero.",
        "evenkeel demo",
        CannotBeHad,
        "An illustration has no number to compare. That trees add up exactly is tested in profiler/analysis."
    ),
    absent!(
        "figure-2.2",
        "Figure 2.2, a critical path over threads",
        "An illustration of a semantic interval with work on other threads.",
        "Programs with planted critical paths, whose profiles are known (cli/tests/waits.rs).",
        "make test",
        CannotBeHad,
        "An illustration has no number to compare."
    ),
    absent!(
        "table-2.4",
        "Table 2.4, manual effort",
        "4 to 9 lines of annotations, 6 to 12 minutes of inspection a run, 45 to 355 modified lines.",
        "No annotation is needed where a preset or --interval names the interval.",
        "evenkeel profile --help",
        CannotBeHad,
        "Minutes of a person's inspection are not measured by a program."
    ),
];
