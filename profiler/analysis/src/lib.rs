//! Pure functions from records to a variance profile: no I/O, no clock, no symbols, no threads.
//!
//! ```text
//! analysis     takes records in, keeps rounds apart, makes profiles
//! facts        what a session knows of its run beside the records
//! intervals    records of threads, assembled into intervals; their classes and attributes
//! critical     the critical path of an interval through threads; states beside calls
//! sums         an interval as a vector over call paths; vectors as exact, mergeable sums
//! rounds       which rounds of refinement a profile rests on
//! slow         stacks of intervals that were slow already
//! summary      sums as a profile: tree, shares, errors, classes, cautions
//! findings     the factors of a profile, and the causes that group them; what was not seen; warnings
//! fleet        several recordings together; sums by minute; intervals one by one
//! comparison   recordings before and after a change: what surely differs
//! ```
//!
//! `ARCHITECTURE.md` draws the way of a record through these directories.
//!
//! ```
//! use evenkeel_analysis::{Analysis, Options, ProbeCost, sites::SiteTable};
//! use evenkeel_wire::{Event, KeepRate, Record, Stamp};
//!
//! let mut analysis = Analysis::new(ProbeCost::default());
//! analysis.begin_round(1, 1);
//! let begin = Event::Begin { at: 100, stamp: Stamp { generation: 1, probed: true } };
//! let end = Event::End { at: 180, keep: KeepRate::ALL, generation: 1, left: false, open: &[] };
//! let call = Record::new(110, 50, 0);
//! let records: Vec<Record> = begin.records().chain([call]).chain(end.records()).collect();
//! analysis.push(7, &records);
//! let profile = analysis.profile(&SiteTable::default(), &Options::default());
//! assert_eq!((profile.intervals, profile.mean_ns), (1, 80.0));
//! ```

pub mod analysis;
pub mod comparison;
mod critical;
pub mod facts;
pub mod findings;
pub mod fleet;
mod inputs;
pub mod intervals;
pub mod profile;
pub mod rounds;
pub mod sites;
pub mod slow;
mod summary;
pub mod sums;

#[cfg(test)]
mod tests;

pub use analysis::Analysis;
pub use critical::slowest::SLOWEST;
pub use facts::RunFacts;
pub use inputs::{Options, Started};
pub use intervals::assembler::reader::Crowded;
pub use intervals::assembler::spans::{Off, SwitchedOut};
pub use intervals::pick::Pick;
pub use intervals::roles::OUTSIDE;
pub use sums::vectors::ProbeCost;
