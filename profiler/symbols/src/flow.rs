//! Calls and jumps, with their targets, as one pass over the code of a module finds them.

/// A direct call, or a jump out of its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// Index of the part that holds the instruction.
    pub(crate) part: u32,
    pub(crate) site: u64,
    pub(crate) target: u64,
    pub(crate) kind: TransferKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransferKind {
    Call,
    Jump,
    ConditionalJump,
}

/// Result of the scan.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    pub(crate) transfers: Vec<Transfer>,
    /// Targets of branches within a part that lie just behind its start.
    pub(crate) near_start: Vec<u64>,
    /// Parts that call through a pointer, ascending, each once.
    pub(crate) call_pointers: Vec<u32>,
    /// Addresses that the code computes, or (at a fixed address) loads as a constant.
    pub(crate) computed: Vec<u64>,
}
