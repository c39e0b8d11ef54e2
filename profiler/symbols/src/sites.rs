//! Call sites, as the rest of the profiler sees them.

use std::sync::Arc;

use evenkeel_wire::{Form, Operand};

use crate::unpatchable::Unpatchable;

/// The callee of a call site.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    /// The function of this module at this address, or code that belongs to no known function.
    Function(u64),
    /// The function of this name, without version, that the loader finds in some module (possibly this one).
    Import(Arc<str>),
    /// Whatever a pointer holds.
    Pointer,
}

/// A call, or a jump by which the function leaves for another one (a tail call).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Address of the instruction. A prefix that does not change a direct call (`bnd`, `addr32`, `rex.w`) is left out,
    /// so that five bytes of opcode and offset remain.
    pub address: u64,
    /// Bytes from there to the next instruction.
    pub len: u8,
    /// The bytes, then zeros.
    pub bytes: [u8; 16],
    /// The callee.
    pub callee: Callee,
    /// Address the instruction names: the function, or the linker's stub that jumps to an import. 0 if it is indirect.
    pub target: u64,
    /// Where an indirect call takes its target from. Present for the forms `IndirectCall`, `ShortIndirectCall` and `IndirectJump`.
    pub operand: Option<Operand>,
    /// The form of redirecting it, or the reason why it cannot be redirected.
    pub form: Result<Form, Unpatchable>,
}

impl Site {
    /// Why it cannot be redirected; also given for short indirect calls and indirect jumps, which can be discovered.
    pub fn unpatchable(&self) -> Option<Unpatchable> {
        match self.form {
            Ok(Form::ShortIndirectCall) => Some(Unpatchable::ShortIndirectCall),
            Ok(Form::IndirectJump) => Some(Unpatchable::IndirectTailJump),
            Ok(_) => None,
            Err(reason) => Some(reason),
        }
    }
}

/// A caller of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Caller {
    /// Entry of the calling function.
    pub function: u64,
    /// Address of the instruction (without the prefixes that [`Site::address`] leaves out).
    pub site: u64,
}
