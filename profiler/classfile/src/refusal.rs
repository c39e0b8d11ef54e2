//! Why a method is not changed.

use std::fmt;

use crate::constants::Full;
use crate::error::Error;

/// A method that was not rewritten. Its bytes are those of before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Binary name of the class, with slashes.
    pub class: String,
    /// Name of the method.
    pub method: String,
    /// Descriptor of the method.
    pub descriptor: String,
    /// The first source line of the method, where the class has lines.
    pub line: Option<u16>,
    /// The reason.
    pub reason: Reason,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{}{}",
            self.class.replace('/', "."),
            self.method,
            self.descriptor
        )?;
        if let Some(line) = self.line {
            write!(f, " (line {line})")?;
        }
        write!(f, " gets no probes: {}", self.reason)
    }
}

/// Why a method cannot be rewritten. Offsets are those of its original code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// With probes the method would be one that HotSpot only interprets.
    #[error(
        "it would have {bytes} bytes of code, and HotSpot compiles no method of more than {limit}; time its callers or fewer of its calls"
    )]
    NotCompiled {
        /// Bytes of code with the probes.
        bytes: usize,
        /// The most that is compiled.
        limit: usize,
    },
    /// No class file can hold the method with its probes.
    #[error(
        "it would have {bytes} bytes of code, and a method has at most 65,535; time its callers or fewer of its calls"
    )]
    TooLong {
        /// Bytes of code with the probes.
        bytes: usize,
    },
    /// The tables that describe the method's local variables would be out of proportion.
    #[error(
        "its stack map frames would have {types} types, which is more than any compiler writes; time its callers"
    )]
    FramesTooLarge {
        /// Types in all frames together.
        types: usize,
    },
    /// The constant pool is full.
    #[error("the class's constant pool is full; time the method's callers")]
    PoolFull,
    /// The operand stack cannot be one larger, or there are no local variables left.
    #[error(
        "it uses all operand stack or all local variables that a method can have; time its callers"
    )]
    NoRoom,
    /// An attribute of the code that this crate does not know. It may hold offsets in the code.
    #[error(
        "its code has an attribute `{0}`, which may hold offsets that rewriting would make wrong; time the method's callers"
    )]
    UnknownAttribute(String),
    /// A `jsr` or `ret`: subroutines, which compilers wrote before Java 6.
    #[error(
        "it has a subroutine (byte {pc}), which compilers wrote before Java 6; time its callers"
    )]
    Subroutine {
        /// Offset of the instruction.
        pc: usize,
    },
    /// A conditional branch would lead too far, and there is no place for an intermediate jump.
    #[error(
        "a branch (byte {pc}) would lead further than 32,767 bytes, and no jump lies in reach; time the method's callers"
    )]
    FarBranch {
        /// Offset of the branch.
        pc: usize,
    },
    /// The method is abstract or native.
    #[error("it has no code (abstract or native); time the calls of it")]
    NoCode,
    /// The plan names an instruction that calls nothing.
    #[error("no method is called at byte {pc}: the class is another one than was planned for")]
    NoCall {
        /// Offset that the plan named.
        pc: u16,
    },
    /// The code is damaged.
    #[error("{0}")]
    Damaged(#[from] Error),
}

impl From<Full> for Reason {
    fn from(_: Full) -> Self {
        Self::PoolFull
    }
}
