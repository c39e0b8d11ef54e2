//! Errors in a class file.

/// A class file is damaged, or is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The first four bytes are not the magic number.
    #[error("not a class file: it does not begin with CA FE BA BE")]
    NotAClassFile,
    /// A structure runs past the bytes that hold it.
    #[error("{what} is cut short at byte {at}")]
    CutShort {
        /// The structure that was read.
        what: &'static str,
        /// Offset in that structure.
        at: usize,
    },
    /// A structure holds a value that it may not hold.
    #[error("{what} is malformed at byte {at}")]
    Malformed {
        /// The structure that was read.
        what: &'static str,
        /// Offset in that structure.
        at: usize,
    },
    /// A constant is absent, or of another kind than its user needs.
    #[error("constant {index} is not {expected}")]
    Constant {
        /// Index in the constant pool.
        index: u16,
        /// The kind of constant that is needed.
        expected: &'static str,
    },
}
