//! Items that this command does not measure, each with the true reason: what cannot be had at all, and what is measured elsewhere in the
//! project, with the command that does.

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
        "An illustration of a semantic interval that other threads work for.",
        "Programs with planted critical paths, whose profiles are known (cli/tests/waits.rs).",
        "make test",
        CannotBeHad,
        "An illustration has no number to compare."
    ),
    absent!(
        "figure-2.3",
        "Figure 2.3, profiling overhead, and number of runs",
        "Overhead below 6 % with up to 100 instrumented children and below 14 % with 500; DTrace's is 10 to 20 times as much. Tens of runs where a naive search needs more than 10^14.",
        "Throughput of PostgreSQL, MariaDB and others with and without `evenkeel profile`, beside bpftrace.",
        "make bench",
        CannotTell,
        "Measured by a benchmark of its own (cli/benches/overhead, results in BENCHMARKS.md), not by this command yet; by number of sites it is not measured at all."
    ),
    absent!(
        "table-2.3",
        "Table 2.3, sources of variance in Apache",
        "(ap_pass_brigade, apr_file_open) 22 %, (ap_pass_brigade, basic_http_header) 15.5 %, apr_bucket_alloc 11.8 %.",
        "A profile of Apache with static files.",
        "evenkeel profile --preset apache -- apache2 -X",
        CannotTell,
        "Not measured by this command yet: it starts no profile."
    ),
    absent!(
        "table-2.4",
        "Table 2.4, manual effort",
        "4 to 9 lines of annotations, 6 to 12 minutes of inspection a run, 45 to 355 modified lines.",
        "Lines of annotation are none where a preset or --interval names the interval.",
        "evenkeel profile --help",
        CannotBeHad,
        "Minutes of a person's inspection are not measured by a program."
    ),
];

/// What a decision of the lock manager costs.
pub const DECISIONS: &[Experiment] = &[
    absent!(
        "figure-4.13",
        "Figure 4.13, scheduling overhead of various algorithms",
        "With 100 clients LDSF's and bLDSF's overhead is much less than FIFO's, whose queues are longer, and more than VATS'.",
        "Time of a decision by length of the queue and schedule.",
        "cargo bench -p evenkeel-locks --bench decisions",
        CannotTell,
        "A benchmark of its own times decisions; it is not part of this command, as timing needs a machine with nothing else to do."
    ),
    absent!(
        "figure-4.18",
        "Figure 4.18, scheduling overhead with and without the batch heuristic",
        "The approximation costs up to 80 times less than the exact choice of a batch.",
        "Time of bLDSF's decision by length of the queue.",
        "cargo bench -p evenkeel-locks --bench decisions",
        CannotBeHad,
        "The exact choice of a batch (exponential in the readers) is not in the lock manager; what the heuristic loses against it is theorem 4.6's experiment."
    ),
];
