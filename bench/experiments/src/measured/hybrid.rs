//! Analytical queries beside transactions: figures 4.21 and 4.22.

use super::{Factor, Said, compared};
use crate::Error;
use crate::experiment::{Context, Experiment, Finding};

const COMMAND: &str = "evenkeel bench compare --with '--schedule fifo' --with '--schedule hldsf' htap --load 85% --clients 32 --round-trip 500us";

/// Figures 4.21 and 4.22.
pub const IN_AN_ENGINE: Experiment = Experiment {
    id: "figure-4.21",
    item: "Figures 4.21 and 4.22, latency of hLDSF and FIFO in MySQL",
    says: "hLDSF fails to improve on FIFO reliably, in the mean and in the 99th percentile.",
    method: "The hybrid load on the embedded store, open loop at 85 % of saturation. In the simulator it is figure 4.23.",
    command: COMMAND,
    run,
};

fn run(context: &Context) -> Result<Finding, Error> {
    let said = [Said {
        configuration: 1,
        what: "FIFO over hLDSF",
        factors: [Some(Factor::Of(1.0)), None, Some(Factor::Of(1.0))],
    }];
    compared(context, &[(COMMAND, &said)])
}
