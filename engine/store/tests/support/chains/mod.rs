//! Chains of faults: the events of a store ([`plan`]), the contents that it must hold ([`model`]), the run ([`run`]),
//! and shortening a chain that fails ([`shrink`]).

#![allow(dead_code, reason = "the test and the example each use a part")]

pub mod model;
pub mod plan;
pub mod run;
pub mod shrink;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use plan::Plan;

/// Goes through a plan; what was wrong, if something was.
pub fn failure_of(plan: &Plan) -> Option<String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| run::run(plan)));
    match outcome {
        Ok(Ok(())) => None,
        Ok(Err(what)) => Some(what),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Some(format!("a panic: {}", text.unwrap_or("without a text")))
        }
    }
}

/// A chain that fails.
pub struct Found {
    /// Its number in the search, from 1.
    pub chain: u64,
    /// The duration of the search.
    pub took: Duration,
    /// The violation, and the shortest test that fails for the same reason.
    pub test: String,
}

/// Goes through the plan of each seed to the first that fails.
pub fn search(seeds: impl Iterator<Item = u64>) -> Option<Found> {
    let begun = Instant::now();
    for (chain, seed) in (1..).zip(seeds) {
        let plan = Plan::draw(seed);
        if let Some(what) = failure_of(&plan) {
            let took = begun.elapsed();
            let (plan, what) = shrink::shrink(plan, what);
            return Some(Found {
                chain,
                took,
                test: format!("{what}\n\n{}", plan.as_test()),
            });
        }
    }
    None
}
