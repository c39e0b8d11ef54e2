//! The code of a hook: not supported on this architecture.

use evenkeel_wire::{Form, Operand, Role};

use super::stubs::Boundaries;

/// Facts that a trampoline needs: see the directory of x86-64.
#[derive(Clone, Copy, Debug)]
pub struct Hook {
    /// Probe id.
    pub id: u32,
    /// The kind of the hooked instruction.
    pub form: Form,
    /// Boundary or inner.
    pub role: Role,
    /// Address of the hooked instruction.
    pub site: u64,
    /// Its length.
    pub len: u8,
    /// Where it goes.
    pub target: u64,
    /// The operand of an indirect call.
    pub operand: Operand,
}

impl Hook {
    /// Whether its frames carry return addresses.
    pub fn moving(&self) -> bool {
        matches!(self.form, Form::TailJump | Form::Entry)
    }

    /// Bytes of the trampoline.
    pub fn code_bytes(&self) -> usize {
        0
    }

    /// Nothing usable is written.
    ///
    /// # Safety
    /// `at .. at + code_bytes()` is writable.
    pub unsafe fn write(&self, _: *mut u8, _: &Boundaries) -> bool {
        false
    }

    /// This architecture has no trampoline to rename.
    ///
    /// # Safety
    /// As for [`Hook::write`].
    pub unsafe fn rename(&self, _: *mut u8, _: impl Fn(*mut u8, &[u8])) {}
}

/// The probe whose trampoline's own call returns to `after`.
///
/// # Safety
/// `after` comes from a frame in flight; this architecture has none.
pub unsafe fn probe_id(_: u64) -> u32 {
    u32::MAX
}
