//! Recordings before and after a change: what of their latency, and of where it is spent, surely differs.
//!
//! ```text
//! parts      findings and calls that intervals' time is divided into
//! gather     intervals of both sides into series
//! series     a recording in blocks of time
//! block      sums over a block, winsorised
//! figures    means, percentiles, parts of one recording, with errors from its blocks
//! sides      the same on both sides, with what runs differ
//! fieller    a change, its interval, whether it is beyond a bound
//! load       rate, concurrency, mix of classes
//! rows       all figures with verdicts
//! hochberg   many rows at once
//! student    chances
//! bounds     changes that are not to be
//! ```
//!
//! A percentile that users see decides what is worth naming, not a variance that five intervals make.

pub mod block;
pub mod bounds;
pub mod fieller;
pub mod figures;
pub mod gather;
mod hochberg;
pub mod load;
pub mod parts;
pub mod rows;
mod series;
pub mod sides;
mod student;

#[cfg(test)]
mod tests;
