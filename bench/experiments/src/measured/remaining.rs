//! A transaction's age and its remaining time: figure 3.2.

use std::time::Duration;

use super::unsuccessful;
use crate::Error;
use crate::command::{line, printed, words};
use crate::experiment::{Context, Effort, Experiment, Finding};
use crate::verdict::{Claim, Verdict};

const COMMAND: &str =
    "evenkeel bench tpcc --schedule fifo --clients 32 --round-trip 500us --grants --json";
/// Correlations below this are weak by convention (Cohen, "Statistical Power Analysis", 1988, section 3.2: 0.1 small, 0.3 medium).
const WEAK: f64 = 0.3;
/// Fewer grants say nothing.
const GRANTS_MIN: u64 = 100;

/// Figure 3.2.
pub const EXPERIMENT: Experiment = Experiment {
    id: "figure-3.2",
    item: "Figure 3.2 (figure 8 of SIGMOD 2017), correlation of age and remaining time",
    says: "Near zero for every type of TPC-C's transactions.",
    method: "Pearson's correlation at each lock wait, by transaction type. On the embedded store under FIFO, with round trips of 500 us. Its size is compared with 0.3, which is called weak.",
    command: COMMAND,
    takes: |effort| taken(length_s(effort)),
    run,
};

fn length_s(effort: Effort) -> u64 {
    effort.pick(10, 60)
}

/// With its warm-up, and what sets it up.
fn taken(length_s: u64) -> Duration {
    Duration::from_secs(length_s * 6 / 5 + 4)
}

fn run(context: &Context) -> Result<Finding, Error> {
    let length_s = length_s(context.effort);
    let mut words = words(COMMAND);
    words.extend(["--for".to_owned(), format!("{length_s}s")]);
    let json = match printed(context, &words, taken(length_s))? {
        Ok(json) => json,
        Err(why) => return Ok(Finding::failed(&unsuccessful(COMMAND, &why))),
    };
    let types = json["grants"].as_object().into_iter().flatten();
    let claims: Vec<Claim> = types
        .filter(|(name, grants)| {
            *name != "all" && grants["count"].as_u64().unwrap_or(0) >= GRANTS_MIN
        })
        .filter_map(|(name, grants)| {
            let size = grants["correlation"].as_f64()?.abs();
            Some(Claim::at_most(format!("size, {name}"), WEAK, size))
        })
        .collect();
    if claims.is_empty() {
        return Ok(Finding::without(
            Verdict::CannotTell,
            "No type of transactions waited for a lock a hundred times.",
        ));
    }
    Ok(Finding {
        claims,
        commands: vec![line(&words)],
        ..Finding::default()
    })
}
