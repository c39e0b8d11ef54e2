//! Worker threads that execute queued transactions: figure 3.1.

use super::{Said, compared, numbers};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};

const COMMAND: &str = "evenkeel bench compare --with '--set workers=2' --with '--set workers=8' --with '--set workers=16' tpcc --scale 8 --clients 64";

/// Figure 3.1.
pub const EXPERIMENT: Experiment = Experiment {
    id: "figure-3.1",
    item: "Figure 3.1 (figure 7 of SIGMOD 2017), worker threads of VoltDB",
    says: "99.9 % of the variance is waiting in queues. The right number of workers has 2.6 times less variance, 1.4 times less p99 and 5.7 times less mean than VoltDB's two.",
    method: "Workers of the embedded store instead of VoltDB's: two, which is VoltDB's default, against eight and sixteen. TPC-C with eight warehouses and 64 clients in a closed loop. VoltDB itself is figure-3.1-voltdb.",
    command: COMMAND,
    takes: |effort| super::takes(effort, &[COMMAND]),
    run,
};

fn run(context: &Context) -> Result<Finding, Error> {
    let said = |configuration, what| Said {
        configuration,
        what,
        factors: numbers(5.7, 2.6, 1.4),
    };
    let said = [said(1, "2 workers over 8"), said(2, "2 workers over 16")];
    compared(context, &[(COMMAND, &said)])
}
