//! Everything that knows 64-bit ARM: relocations and frames. Instructions are not decoded yet, so no file is loaded
//! (`LoadError::Architecture`), and what would decode them finds nothing.

pub(crate) mod callsites;
pub(crate) mod confining;
pub(crate) mod elf;
pub(crate) mod frame;
pub(crate) mod members;
pub(crate) mod plt;
pub(crate) mod prologue;
pub(crate) mod scan;
