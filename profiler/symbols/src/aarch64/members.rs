//! Members of the structure that a function's first argument points to: not decoded on this architecture.

use crate::variables::MemberUse;

/// Nothing is found.
pub(crate) fn used(_: &[u8], _: u64) -> Vec<MemberUse> {
    Vec::new()
}
