//! hLDSF on a hybrid load: figures 4.21 to 4.23.

use evenkeel_locks::ScheduleKind::{Fifo, Hldsf};
use evenkeel_simulate::{Config, Outcome};

use super::Simulated;
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};

/// Figure 4.23, and with it what the dissertation's own simulator says.
pub const SIMULATOR: Experiment = Experiment {
    id: "figure-4.23",
    item: "Figure 4.23, improvement of hLDSF over FIFO in the simulator",
    says: "Not much on the mean; the 95th percentile improves by up to 20 % (a factor of 1.25).",
    method: "The mix of section 4.7.4 in epochs with known remaining times, and 25 to 150 concurrent transactions. The dissertation gives no numbers for the two classes, so these are our choice.",
    command: "evenkeel simulate --preset htap --sweep clients=25..150:25 --schedule fifo,hldsf --seeds 5",
    takes: |effort| effort.seconds(10, 300),
    run: simulator,
};

fn simulator(context: &Context) -> Result<Finding, Error> {
    let simulated = Simulated::each(
        context,
        &Config::htap(),
        &[Fifo, Hldsf],
        "clients=25,75,150",
    )?;
    let mean = |outcome: &Outcome| outcome.latency.mean;
    let p95 = |outcome: &Outcome| outcome.latency.p95 as f64;
    let of = |what, paper, clients, of| simulated.factor((what, paper), [Fifo, Hldsf], clients, of);
    Ok(Finding {
        claims: vec![
            of("FIFO over hLDSF, p95, 75 concurrent", 1.25, 75.0, p95)?,
            of("FIFO over hLDSF, p95, 150 concurrent", 1.25, 150.0, p95)?,
            of("FIFO over hLDSF, mean, 25 concurrent", 1.0, 25.0, mean)?,
        ],
        figure: Some(simulated.figure("concurrent transactions", "95th percentile in epochs", p95)),
        why: "The classes' sizes decide the size of the effect.".to_owned(),
        ..Finding::default()
    })
}
