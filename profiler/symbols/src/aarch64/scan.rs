//! The scan of a module's code: not supported on this architecture.

use std::ops::Range;

use crate::flow::Flow;

/// A displaced entry covers one instruction.
pub(crate) const ENTRY_BYTES_MAX: u64 = 4;

/// Nothing is found.
pub(crate) fn scan(_: &[u8], _: &Range<u64>, _: u32, _: &mut Flow) {}
