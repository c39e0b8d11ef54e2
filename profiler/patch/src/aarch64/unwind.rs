//! Call frame information for trampolines: this architecture has none, so nothing is registered.

/// Call frame information for one region.
pub struct FrameInfo;

/// Nothing is registered.
pub fn find(_: u64) -> Option<(core::ops::Range<u64>, u64)> {
    None
}

impl FrameInfo {
    /// Nothing to describe.
    ///
    /// # Safety
    /// None is needed.
    pub unsafe fn register(&mut self, _: u64, _: u64, _: bool) {}
}
