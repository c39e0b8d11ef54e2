//! Approximate sizes of dependency sets: figure 4.19.

use evenkeel_simulate::estimate::Estimate;
use evenkeel_simulate::workload::LockOrder;
use evenkeel_simulate::{Config, Outcome};

use super::throughput::BLDSF;
use super::{Simulated, micro};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};
use crate::verdict::{Claim, Verdict};

/// Part of the sizes that the paper finds within twice the exact ones.
const WITHIN_TWICE: f64 = 0.99;

/// Figure 4.19.
pub const EXPERIMENT: Experiment = Experiment {
    id: "figure-4.19",
    item: "Figure 4.19, relative error of the approximate sizes of dependency sets",
    says: "The error grows with the part of shared locks; even with 80 % shared, 99 % of the sizes are at most twice the exact ones.",
    method: "The simulator's microbenchmark under bLDSF, 300 clients, random and hashed order: approximate and exact size of each waiter at each scheduled grant.",
    command: "evenkeel simulate --schedule bldsf --size-error --sweep exclusive=0.2..1:0.2 --seeds 5 --json",
    takes: |effort| effort.seconds(10, 300),
    run,
};

fn above_2(outcome: &Outcome) -> f64 {
    outcome
        .size_error
        .as_ref()
        .map_or(0.0, |error| error.above_2)
}

fn run(context: &Context) -> Result<Finding, Error> {
    let mut finding = Finding::default();
    for (name, order) in [("random", LockOrder::Random), ("hashed", LockOrder::Hashed)] {
        let config = Config {
            measure_size_error: true,
            ..micro(order)
        };
        let simulated = Simulated::each(context, &config, &[BLDSF], "exclusive=0.2,0.6,1")?;
        let row = simulated.row(BLDSF, 0.2)?;
        let Estimate { mean, half_width } = row.estimate(|outcome| 1.0 - above_2(outcome));
        let (low, high) = (mean - half_width, mean + half_width);
        finding.claims.push(Claim {
            what: format!(
                "part of the sizes within twice the exact ones, 80 % shared, {name} order"
            ),
            paper: WITHIN_TWICE,
            found: mean,
            low,
            high,
            verdict: match (high >= WITHIN_TWICE, low >= 0.9) {
                (true, true) => Verdict::Agrees,
                (true, false) => Verdict::CannotTell,
                (false, _) => Verdict::Differs,
            },
        });
        if order == LockOrder::Random {
            finding.figure = Some(simulated.figure(
                "part exclusive",
                "part of the sizes above twice the exact ones",
                above_2,
            ));
        }
    }
    Ok(finding)
}
