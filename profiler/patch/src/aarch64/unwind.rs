//! Call frame information for trampolines: there are none on this architecture, so nothing is registered.

/// Call frame information for one region.
pub struct FrameInfo;

impl FrameInfo {
    /// Nothing to describe.
    ///
    /// # Safety
    /// None is needed.
    pub unsafe fn register(&mut self, _: u64, _: u64, _: bool) {}
}
