//! Latency by the part of exclusive requests: figure 4.16.

use evenkeel_locks::ScheduleKind::{Fifo, Vats};
use evenkeel_simulate::workload::LockOrder;

use super::throughput::BLDSF;
use super::{Simulated, mean_ms, micro};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};

/// Figure 4.16.
pub const EXPERIMENT: Experiment = Experiment {
    id: "figure-4.16",
    item: "Figure 4.16, latency by the number of exclusive locks (microbenchmark)",
    says: "Theta 0.8, 300 clients of FIFO, the others at its throughput. With 20 % exclusive bLDSF is 20 times better than FIFO and 9 times better than VATS. With all exclusive it is 70 and 25 times better.",
    method: "The same in the simulator, random order.",
    command: "evenkeel simulate --theta 0.8 --sweep exclusive=0.2..1:0.2 --schedule fifo,vats,bldsf --at-throughput-of fifo --seeds 5",
    takes: |effort| effort.seconds(10, 300),
    run,
};

fn run(context: &Context) -> Result<Finding, Error> {
    let simulated = Simulated::at_fifos_throughput(
        context,
        &micro(LockOrder::Random),
        &[Fifo, Vats, BLDSF],
        "exclusive=0.2,0.6,1",
    )?;
    let of = |what, paper, schedules, exclusive| {
        simulated.factor((what, paper), schedules, exclusive, mean_ms)
    };
    Ok(Finding {
        claims: vec![
            of("FIFO over bLDSF, 20 % exclusive", 20.0, [Fifo, BLDSF], 0.2)?,
            of("FIFO over bLDSF, all exclusive", 70.0, [Fifo, BLDSF], 1.0)?,
            of("VATS over bLDSF, 20 % exclusive", 9.0, [Vats, BLDSF], 0.2)?,
            of("VATS over bLDSF, all exclusive", 25.0, [Vats, BLDSF], 1.0)?,
        ],
        figure: Some(simulated.figure("part exclusive", "mean latency in ms", mean_ms)),
        why: "VATS carries FIFO's throughput without a queue, so that little is left for bLDSF to gain on it.".to_owned(),
        ..Finding::default()
    })
}
