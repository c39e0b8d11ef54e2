//! Changing instructions while other threads may execute them: not supported on this architecture.

/// Longest span that is changed: one instruction.
pub const SPAN_MAX: usize = 8;

/// A change of code bytes.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// Address of the first byte.
    pub address: *mut u8,
    /// Bytes to write.
    pub bytes: [u8; SPAN_MAX],
    /// Number of bytes.
    pub len: u8,
    /// Offsets of original instructions within the span, as a bit set; bit 0 is set.
    pub boundaries: u32,
}

/// Nothing is changed to a breakpoint.
pub fn put_breakpoint(_: &mut [u8; SPAN_MAX]) {}

/// Nothing is changed: the patcher refuses every probe before it comes to this.
///
/// # Safety
/// None is needed.
pub unsafe fn apply(_: &[Change], _: bool) {}

/// The right to have every processor refetch is not asked for.
pub fn register_barrier() -> bool {
    false
}
