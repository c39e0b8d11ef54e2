//! A program or library in memory.

/// A module as this process has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedModule {
    /// Its index in the arena's table.
    pub index: u32,
    /// Difference to addresses of its file.
    pub bias: u64,
    /// Its code: `low .. high`, in this process.
    pub low: u64,
    /// See `low`.
    pub high: u64,
}
