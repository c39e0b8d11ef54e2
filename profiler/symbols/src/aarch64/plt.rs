//! The linker's stubs that jump to imports: not supported on this architecture.

/// None are known.
pub(crate) fn stubs(_: &[u8], _: u64) -> Vec<(u64, u64)> {
    Vec::new()
}
