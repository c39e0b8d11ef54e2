//! Pure functions from records to a variance profile: no I/O, no clock, no symbols, no threads.
//!
//! The way of a record (`../../../ARCHITECTURE.md` draws it whole): a thread's records become intervals ([`intervals`]),
//! an interval becomes a vector over call paths ([`vectors`], [`paths`]), vectors are summed in exact, mergeable sums
//! ([`sums`], in time-ordered [`blocks`]; [`histogram`], [`classes`], [`self_cost`]), one set for each round of
//! refinement ([`rounds`]). The sums become a [`profile::Profile`]: variance tree and shares ([`parts`], [`shares`]), factors
//! ([`factors`]), classes ([`summary`]), [`attributes`], errors ([`jackknife`]), and what to know before trusting them ([`warnings`]).
//!
//! Where intervals are followed across threads, [`critical`] takes the place of [`intervals`]: it makes the same vectors, with
//! [`states`] beside the calls; [`waits`], [`timelines`] and [`doing`] show what only it knows.
//!
//! ```
//! use evenkeel_analysis::{Analysis, Options, ProbeCost, sites::SiteTable};
//! use evenkeel_wire::{Marker, Record};
//!
//! let mut analysis = Analysis::new(ProbeCost::default());
//! analysis.begin_round(1, 1);
//! let generation_and_probed = 1 << 1 | 1;
//! analysis.push(7, &[
//!     Record::marker(Marker::Begin, 100, generation_and_probed),
//!     Record::new(110, 50, 0),
//!     Record::marker(Marker::End, 180, generation_and_probed),
//! ]);
//! let profile = analysis.profile(&SiteTable::default(), &Options::default());
//! assert_eq!((profile.intervals, profile.mean_ns), (1, 80.0));
//! ```

pub mod accumulate;
pub mod analysis;
pub mod attributes;
pub mod blocks;
pub mod classes;
pub mod critical;
pub mod doing;
pub mod factors;
pub mod histogram;
pub mod intervals;
pub mod jackknife;
pub mod labels;
pub mod parts;
pub mod paths;
pub mod profile;
pub mod rounds;
pub mod self_cost;
pub mod shares;
pub mod sites;
pub mod sql;
pub mod states;
pub mod summary;
pub mod sums;
pub mod timelines;
pub mod vectors;
pub mod waits;
pub mod warnings;

#[cfg(test)]
mod tests;

pub use analysis::Analysis;
pub use summary::Options;
pub use timelines::Pick;
pub use vectors::ProbeCost;
