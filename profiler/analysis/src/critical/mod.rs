//! Critical paths across threads, tasks and processes (`variance.md` sections 1, 2 and 6; dissertation 2.3.1 to 2.3.3).
//!
//! When an interval has ended, a [`walk`] reads the records kept by [`crate::intervals::assembler`] backwards and
//! computes the interval's vector. The walk also records the [`path`], which has two uses. [`blocking`] sums the waits
//! of the whole run, and [`exemplars`] keeps some intervals piece by piece, shown as [`crate::profile::Timeline`].
//!
//! # Idle by design, and blocked
//! [`crate::critical::breakdown`] has the rule that tells one from the other.

pub mod blocking;
pub(crate) mod breakdown;
pub mod cursor;
pub mod exemplars;
pub mod path;
pub mod slowest;
pub(crate) mod states;
pub(crate) mod timelines;
pub(crate) mod waits;
pub mod walk;
