//! Parallel logging and block size: figure 3.5.

use super::{Factor, Said, compared, numbers};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};

const PARALLEL: &str = "evenkeel bench compare --with '--set log-streams=1' --with '--set log-streams=2 --set log-devices=2' tpcc --scale 8 --set log-device=exponential:2ms --clients 32";
const BLOCKS: &str = "evenkeel bench compare --with '--set log-block-bytes=4096' --with '--set log-block-bytes=16384' tpcc --scale 8 --clients 16";

/// Figure 3.5.
pub const EXPERIMENT: Experiment = Experiment {
    id: "figure-3.5",
    item: "Figure 3.5 (figure 4 of SIGMOD 2017), parallel logging and block size in Postgres",
    says: "Two disks: 2.4, 1.8 and 1.3 times less mean, variance and p99. Larger blocks reduce variance up to a point.",
    method: "The embedded store's log under TPC-C in a closed loop. It is on one or two simulated devices, whose syncs take 2 ms, exponentially distributed. Blocks of 4 and 16 KiB are compared on this machine's disk.",
    command: PARALLEL,
    takes: |effort| super::takes(effort, &[PARALLEL, BLOCKS]),
    run,
};

fn run(context: &Context) -> Result<Finding, Error> {
    let parallel = [Said {
        configuration: 1,
        what: "one log over two",
        factors: numbers(2.4, 1.8, 1.3),
    }];
    let variance = |configuration, what| Said {
        configuration,
        what,
        factors: [None, Some(Factor::More), None],
    };
    let blocks = [variance(1, "blocks of 4 KiB over 16 KiB")];
    compared(context, &[(PARALLEL, &parallel), (BLOCKS, &blocks)])
}
