//! Rewriting the first instructions of a function to run elsewhere: not supported on this architecture.

use evenkeel_wire::Displaced;

use crate::unpatchable::Unpatchable;

/// Facts about a function that moving its first instructions needs.
pub(crate) struct Entry<'m> {
    pub(crate) address: u64,
    /// The bytes from the entry on.
    pub(crate) code: &'m [u8],
    /// Bytes of the function's first part.
    pub(crate) bytes: usize,
    /// Bytes until another function begins.
    pub(crate) free_bytes: usize,
}

impl Entry<'_> {
    /// Refused.
    pub(crate) fn displaced(&self) -> Result<Displaced, Unpatchable> {
        Err(Unpatchable::Architecture)
    }
}
