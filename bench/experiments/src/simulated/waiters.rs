//! Waiters per decision: figure 4.14.

use evenkeel_locks::ScheduleKind::{Fifo, Ldsf, Vats};
use evenkeel_simulate::workload::LockOrder;

use super::throughput::BLDSF;
use super::{Simulated, micro};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};

/// Figure 4.14.
pub const EXPERIMENT: Experiment = Experiment {
    id: "figure-4.14",
    item: "Figure 4.14, average number of transactions waiting in the queue (TPC-C)",
    says: "With 100 clients, 200 to 1000 transactions a second and equal throughput, queues under LDSF and bLDSF are much shorter than under FIFO. VATS' are longer than theirs.",
    method: "The simulator's microbenchmark, random order: FIFO with 100, 300 and 900 clients, the others at its throughput; waiters whenever an object becomes free. The paper prints no numbers: a factor of 2 is taken for `much shorter`.",
    command: "evenkeel simulate --sweep clients=100,300,900 --schedule fifo,vats,ldsf,bldsf --at-throughput-of fifo --seeds 5",
    takes: |effort| effort.seconds(10, 300),
    run,
};

fn run(context: &Context) -> Result<Finding, Error> {
    let simulated = Simulated::at_fifos_throughput(
        context,
        &micro(LockOrder::Random),
        &[Fifo, Vats, Ldsf, BLDSF],
        "clients=100,300,900",
    )?;
    let waiters = |outcome: &evenkeel_simulate::Outcome| outcome.window.queue_mean;
    Ok(Finding {
        claims: vec![
            simulated.factor(
                ("FIFO over LDSF, 100 clients", 2.0),
                [Fifo, Ldsf],
                100.0,
                waiters,
            )?,
            simulated.factor(
                ("FIFO over bLDSF, 100 clients", 2.0),
                [Fifo, BLDSF],
                100.0,
                waiters,
            )?,
        ],
        figure: Some(simulated.figure("clients of FIFO", "waiters per decision", waiters)),
        ..Finding::default()
    })
}
