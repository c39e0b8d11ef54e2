//! Analytical queries beside transactions: figures 4.21 and 4.22.

use super::{Factor, Said, compared};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};

const FIRST: &str = "evenkeel bench compare --with '--schedule fifo' --with '--schedule hldsf' htap --load 85% --clients 32 --round-trip 500us";
/// The load at which a queue grows. An analytical query occupies a client for a long time, so the saturation of a
/// short closed loop is not sustained.
const NEXT: [&str; 2] = [
    "evenkeel bench compare --with '--schedule fifo' --with '--schedule hldsf' htap --load 60% --clients 32 --round-trip 500us",
    "evenkeel bench compare --with '--schedule fifo' --with '--schedule hldsf' htap --load 40% --clients 32 --round-trip 500us",
];

/// Figures 4.21 and 4.22.
pub const IN_AN_ENGINE: Experiment = Experiment {
    id: "figure-4.21",
    item: "Figures 4.21 and 4.22, latency of hLDSF and FIFO in MySQL",
    says: "hLDSF fails to improve on FIFO reliably, in the mean and in the 99th percentile.",
    method: "The hybrid load on the embedded store, open loop at 85 % of saturation, or at the first of 60 and 40 % at which neither's queue grows. In the simulator it is figure 4.23.",
    command: FIRST,
    takes: |effort| super::takes(effort, &[FIRST]),
    run,
};

fn run(context: &Context) -> Result<Finding, Error> {
    let said = [Said {
        configuration: 1,
        what: "FIFO over hLDSF",
        factors: [Some(Factor::Of(1.0)), None, Some(Factor::Of(1.0))],
    }];
    let mut tried = Vec::new();
    let mut finding = compared(context, &[(FIRST, &said)])?;
    for command in NEXT {
        if !finding.claims.is_empty() {
            break;
        }
        tried.append(&mut finding.commands);
        let why = std::mem::take(&mut finding.why);
        finding = compared(context, &[(command, &said)])?;
        finding.why = format!("{why} At a lower load: {}", finding.why);
    }
    finding.commands.splice(0..0, tried);
    Ok(finding)
}
