//! Critical paths across threads, tasks and processes (`variance.md` sections 1, 2 and 6; dissertation 2.3.1 to 2.3.3).
//!
//! When an interval has ended, a [`walk`] through what [`crate::assembler`] kept makes its vector, and on the way notes its [`path`]:
//! the waits of the whole run ([`who`]) and some intervals piece by piece ([`kept`], drawn from [`crate::profile::Timeline`]).
//!
//! # Idle by design, and blocked
//! [`crate::breakdown`] has the rule by which time is one or the other.

pub mod cursor;
pub mod kept;
pub mod path;
pub mod walk;
pub mod who;
