//! Pure functions from records to a variance profile: no I/O, no clock, no symbols.
//!
//! The way of a record (`../../../ARCHITECTURE.md` draws it whole): a thread's records become intervals (`intervals`),
//! an interval becomes a vector over call paths (`vectors`), vectors are summed in mergeable accumulators
//! (`accumulate`), and the sums become a [`profile::Profile`]: variance tree, factors, shares, errors.

pub mod profile;
pub mod sites;
