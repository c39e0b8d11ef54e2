//! The papers' tables, figures and theorems, regenerated, each with a verdict.
//!
//! An [`Experiment`](experiment::Experiment) names an item of the papers, quotes the paper, and measures it. Its
//! finding has [claims](verdict::Claim), the paper's numbers beside ours, and the verdict follows from them. What
//! cannot be measured is in the list, too, with the reason.
//!
//! ```text
//! catalogue    all experiments
//!  ├─ profiled    chapter 2: sources of variance in servers, and what profiling costs
//!  ├─ measured    chapters 1 and 3: engines under load, by `evenkeel bench`
//!  │   └─ command     other commands of `evenkeel`, run as they are printed
//!  ├─ simulated   chapter 4, in the simulator: deterministic, intervals over seeds
//!  ├─ theorems    by brute force, where instances are finite
//!  ├─ decisions   what a decision of the lock manager costs, timed
//!  └─ absent      what cannot be had, and why
//! course       runs them one after another; results are written as they come, so that a stopped run can go on
//! result       an experiment's result as a line of JSON
//! document     RESULTS.md
//! page         the same on one HTML page
//!  └─ chart    figures, and the paper's numbers beside ours, drawn
//! ```

mod absent;
mod catalogue;
mod chart;
mod command;
pub mod course;
mod decisions;
pub mod document;
mod effort;
mod error;
pub mod experiment;
mod finding;
mod measured;
pub mod page;
mod profiled;
pub mod result;
mod simulated;
mod theorems;
pub mod verdict;

pub use error::Error;
