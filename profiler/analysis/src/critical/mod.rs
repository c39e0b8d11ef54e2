//! Critical paths across threads, tasks and processes (`variance.md` sections 1, 2 and 6; dissertation 2.3.1 to 2.3.3).
//!
//! When an interval has ended, a [`walk`] through what [`crate::intervals::assembler`] kept makes its vector, and on the way notes its [`path`]:
//! the waits of the whole run ([`blocking`]) and some intervals piece by piece ([`exemplars`], drawn from [`crate::profile::Timeline`]).
//!
//! # Idle by design, and blocked
//! [`crate::critical::breakdown`] has the rule by which time is one or the other.

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
