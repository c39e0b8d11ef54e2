//! Delay factors of bLDSF: figure 4.17.

use evenkeel_locks::{DelayFactor, ScheduleKind};
use evenkeel_simulate::workload::LockOrder;

use super::{Simulated, mean_ms, micro};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};

/// Figure 4.17.
pub const EXPERIMENT: Experiment = Experiment {
    id: "figure-4.17",
    item: "Figure 4.17, the impact of the delay factor on average latency",
    says: "Sub-linear factors (f2, f3, f4) are alike and better than f1 = 1 and than the linear f5 and f6.",
    method: "The simulator's microbenchmark with 20 % exclusive and 300 clients in a closed loop, in random and hashed order. The paper prints no numbers. A factor of 1.2 is taken for `better`, and 1 for `alike`.",
    command: "evenkeel simulate --exclusive 0.2 --clients 300 --schedule bldsf:f1,bldsf:f2,bldsf:f3,bldsf:f4,bldsf:f5,bldsf:f6 --seeds 5",
    takes: |effort| effort.seconds(10, 300),
    run,
};

fn run(context: &Context) -> Result<Finding, Error> {
    let all = DelayFactor::ALL.map(ScheduleKind::Bldsf);
    let [f1, f2, f3, f4, _, f6] = all;
    let mut finding = Finding::default();
    for (name, order) in [("random", LockOrder::Random), ("hashed", LockOrder::Hashed)] {
        let mut config = micro(order);
        config.drawn_mut()?.classes[0].exclusive = 0.2;
        let simulated = Simulated::each(context, &config, &all, "clients=100,300")?;
        for (what, paper, schedules) in [
            ("f1 over f3", 1.2, [f1, f3]),
            ("f6 over f3", 1.2, [f6, f3]),
            ("f2 over f3", 1.0, [f2, f3]),
            ("f4 over f3", 1.0, [f4, f3]),
        ] {
            let what = format!("{what}, {name} order");
            let claim = simulated.factor((&what, paper), schedules, 300.0, mean_ms)?;
            finding.claims.push(claim);
        }
        if order == LockOrder::Random {
            finding.figure =
                Some(simulated.figure("clients", "mean latency in ms, random order", mean_ms));
        }
    }
    Ok(finding)
}
