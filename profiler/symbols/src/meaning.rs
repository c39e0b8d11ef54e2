//! Meanings of relocations, whatever the processor.

/// The value that the loader stores for a relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The address of a symbol, in a slot of the global offset table.
    Slot,
    /// The address of a symbol, elsewhere.
    Address,
    /// The result of the resolver that the addend names.
    Resolver,
    /// The addend, moved with the module.
    Relative,
}
