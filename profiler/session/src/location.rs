//! Places in the target's files.

/// An address in a file of the target; a function is named by that of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// Index into the arena's table of modules.
    pub module: usize,
    /// Virtual address in the file.
    pub address: u64,
}

impl Location {
    /// The place `address` of a module.
    pub const fn new(module: usize, address: u64) -> Location {
        Location { module, address }
    }
}
