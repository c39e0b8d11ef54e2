//! Chains of faults: what a store goes through ([`plan`]), what it must hold ([`model`]), going through it ([`run`]), and
//! making a chain that fails as short as it can be ([`shrink`]).

#![allow(dead_code, reason = "the test and the example each use a part")]

pub mod model;
pub mod plan;
pub mod run;
pub mod shrink;

use std::panic::{AssertUnwindSafe, catch_unwind};

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

/// Goes through the plan of each seed; the number of the first that fails, from 1, and a test that fails for the same
/// reason, as short as it can be made.
pub fn search(seeds: impl Iterator<Item = u64>) -> Option<(u64, String)> {
    for (count, seed) in (1..).zip(seeds) {
        let plan = Plan::draw(seed);
        if let Some(what) = failure_of(&plan) {
            let (plan, what) = shrink::shrink(plan, what);
            return Some((count, format!("{what}\n\n{}", plan.as_test())));
        }
    }
    None
}
