//! What a relocation asks of the loader, whatever the processor.

/// What the loader stores for a relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The address of a symbol, in a slot of the global offset table.
    Slot,
    /// The address of a symbol, elsewhere.
    Address,
    /// What the resolver returns that the addend names.
    Resolver,
    /// The addend, moved with the module.
    Relative,
}
