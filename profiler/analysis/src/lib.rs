//! Pure functions from records to a variance profile: no I/O, no clock, no symbols, no threads.
//!
//! The way of a record (`../../../ARCHITECTURE.md` draws it whole): threads' records become intervals (`assembler`),
//! an interval becomes a vector over call paths (`vectors`, [`paths`]), vectors are summed in exact, mergeable sums
//! ([`sums`], in time-ordered `blocks`; [`histogram`], [`classes`], [`self_cost`]), one set for each round of
//! refinement (`rounds`, told apart by [`plans`]; `combine` takes those together that have timed the same, on their `common_paths`, `other_rounds` keeps what
//! others found; [`joint`] takes several recordings together, [`minutes`] keeps sums alone, [`observed`] hands
//! intervals on one by one). The sums become a [`profile::Profile`]: variance tree and shares ([`parts`], `shares`), factors
//! ([`factors`]), what of them is one cause ([`findings`]), slow beside fast ([`cohorts`]), classes (`summary`), `attributes`, errors
//! (`jackknife`), and what to know before trusting them ([`warnings`]).
//!
//! Where waits are followed, `critical` makes the vectors out of what all threads did, with `states` beside the calls; `waits`,
//! `timelines` and `breakdown` show what only it knows.
//!
//! ```
//! use evenkeel_analysis::{Analysis, Options, ProbeCost, sites::SiteTable};
//! use evenkeel_wire::{Event, Record, Stamp};
//!
//! let mut analysis = Analysis::new(ProbeCost::default());
//! analysis.begin_round(1, 1);
//! let begin = Event::Begin { at: 100, stamp: Stamp { generation: 1, probed: true } };
//! let end = Event::End { at: 180, generation: 1, open: &[] };
//! let call = Record::new(110, 50, 0);
//! let records: Vec<Record> = begin.records().chain([call]).chain(end.records()).collect();
//! analysis.push(7, &records);
//! let profile = analysis.profile(&SiteTable::default(), &Options::default());
//! assert_eq!((profile.intervals, profile.mean_ns), (1, 80.0));
//! ```

mod accumulate;
pub mod analysis;
mod assembler;
mod attribute_lines;
mod attributes;
mod blocks;
mod breakdown;
pub mod classes;
pub mod cohorts;
mod combine;
mod common_paths;
mod counts;
mod critical;
mod detail;
mod evidence;
pub mod factors;
pub mod findings;
pub mod histogram;
mod inputs;
mod interval;
mod jackknife;
pub mod joint;
mod loud;
pub mod minutes;
mod moments;
pub mod not_opened;
pub mod observed;
mod other_rounds;
pub mod parts;
pub mod paths;
mod pick;
pub mod plans;
pub mod profile;
mod projection;
mod rounds;
pub mod self_cost;
mod shares;
pub mod sites;
mod sql;
mod states;
mod summary;
pub mod sums;
mod switched_out;
mod timelines;
pub mod trace_context;
pub mod unseen;
mod vectors;
mod waits;
pub mod warnings;

#[cfg(test)]
mod tests;

pub use analysis::Analysis;
pub use assembler::spans::{Off, SwitchedOut};
pub use inputs::Options;
pub use pick::Pick;
pub use vectors::ProbeCost;
