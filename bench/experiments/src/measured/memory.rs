//! Lazy LRU Update, size of the pool, flush policy: figure 3.4.

use super::{Factor, Said, compared, numbers};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};

/// 80,000 records are 124 MB of pages. Commits that do not wait for the disk leave the list's lock something to limit.
const LLU: &str = "evenkeel bench compare --with '--set replacement=lru' --with '--set replacement=llu' ycsb-b -o records=80000 --set pool-mb=41 --set flush=lazy-write --clients 8";
/// A warehouse is 140 MB: a third of it, two thirds, all.
const POOL: &str = "evenkeel bench compare --with '--set pool-mb=46' --with '--set pool-mb=92' --with '--set pool-mb=140' tpcc --clients 16";
const FLUSH: &str = "evenkeel bench compare --with '--set flush=eager-flush' --with '--set flush=lazy-flush' --with '--set flush=lazy-write' tpcc --clients 16";

/// Figure 3.4.
pub const EXPERIMENT: Experiment = Experiment {
    id: "figure-3.4",
    item: "Figure 3.4 (figure 3 of SIGMOD 2017), LLU, size of the pool, flush policy",
    says: "LLU: 1.1, 1.6 and 1.4 times less mean, variance and p99. A larger pool (66 and 100 % of the data beside 33 %) and deferred flushes lower all three.",
    method: "The same settings of the embedded store: LLU under YCSB-B with a pool of a third of the data, pool and flush policy under TPC-C, closed loops. Flush policies other than eager-flush may lose the last commits.",
    command: LLU,
    takes: |effort| super::takes(effort, &[LLU, POOL, FLUSH]),
    run,
};

/// Factors that the paper's figure shows.
const LESS: [Option<Factor>; 3] = [Some(Factor::More); 3];

fn run(context: &Context) -> Result<Finding, Error> {
    let lru = [Said {
        configuration: 1,
        what: "LRU over LLU",
        factors: numbers(1.1, 1.6, 1.4),
    }];
    let less = |configuration, what| Said {
        configuration,
        what,
        factors: LESS,
    };
    let pool = [
        less(1, "pool of 33 % over 66 %"),
        less(2, "pool of 33 % over 100 %"),
    ];
    let flush = [
        less(1, "eager flush over lazy flush"),
        less(2, "eager flush over lazy write"),
    ];
    compared(context, &[(LLU, &lru), (POOL, &pool), (FLUSH, &flush)])
}
