//! Latency by skew: figure 4.15.

use evenkeel_locks::ScheduleKind::{Fifo, Vats};
use evenkeel_simulate::workload::LockOrder;

use super::throughput::BLDSF;
use super::{Simulated, mean_ms, micro};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};

/// Part of the requests that is exclusive in this figure (section 4.6.6).
const EXCLUSIVE: f64 = 0.6;

/// Figure 4.15.
pub const EXPERIMENT: Experiment = Experiment {
    id: "figure-4.15",
    item: "Figure 4.15, latency by skew (microbenchmark)",
    says: "60 % exclusive, 300 clients of FIFO, the others at its throughput. All are alike without skew. At theta 0.9 bLDSF is 50 times better than FIFO and 38 times better than VATS.",
    method: "The same in the simulator, random order.",
    command: "evenkeel simulate --exclusive 0.6 --sweep theta=0,0.5..0.9:0.1 --schedule fifo,vats,bldsf --at-throughput-of fifo --seeds 5",
    takes: |effort| effort.seconds(10, 300),
    run,
};

fn run(context: &Context) -> Result<Finding, Error> {
    let mut config = micro(LockOrder::Random);
    config.drawn_mut()?.classes[0].exclusive = EXCLUSIVE;
    let simulated = Simulated::at_fifos_throughput(
        context,
        &config,
        &[Fifo, Vats, BLDSF],
        "theta=0,0.5..0.9:0.1",
    )?;
    let of =
        |what, paper, schedules, theta| simulated.factor((what, paper), schedules, theta, mean_ms);
    Ok(Finding {
        claims: vec![
            of("FIFO over bLDSF, no skew", 1.0, [Fifo, BLDSF], 0.0)?,
            of("FIFO over bLDSF, theta 0.9", 50.0, [Fifo, BLDSF], 0.9)?,
            of("VATS over bLDSF, theta 0.9", 38.0, [Vats, BLDSF], 0.9)?,
        ],
        figure: Some(simulated.figure("theta", "mean latency in ms", mean_ms)),
        why: "VATS carries FIFO's throughput without a queue, so that little is left for bLDSF to gain on it.".to_owned(),
        ..Finding::default()
    })
}
