//! The code of a hook: a template, copied and filled in.

use core::ptr;

use evenkeel_wire::{Form, Operand, Role};

use super::operand;
use super::stubs::{self, Boundaries};
pub use super::templates::ID_AT;
use super::templates::{self, ID_FIELD_AT, OPERAND_BYTES, RETURN_AT, Template, mark};
use super::tls;
use crate::thread::offsets;

/// Facts that a trampoline needs.
#[derive(Clone, Copy, Debug)]
pub struct Hook {
    /// Probe id.
    pub id: u32,
    /// Which template.
    pub form: Form,
    /// Boundary or inner.
    pub role: Role,
    /// Address of the hooked instruction.
    pub site: u64,
    /// Its length.
    pub len: u8,
    /// Where it goes: the callee, or the displaced instructions of an entry. Unused for indirect calls.
    pub target: u64,
    /// The operand of an indirect call.
    pub operand: Operand,
}

impl Hook {
    pub(super) fn template(&self) -> Template {
        let boundary = self.role != Role::Inner;
        match (self.form, boundary) {
            (Form::Call, false) => templates::inner_call(),
            (Form::Call, true) => templates::boundary_call(),
            (Form::IndirectCall | Form::ShortIndirectCall | Form::IndirectJump, false) => {
                templates::inner_indirect()
            }
            (Form::IndirectCall | Form::ShortIndirectCall | Form::IndirectJump, true) => {
                templates::boundary_indirect()
            }
            (Form::TailJump | Form::Entry, false) => templates::inner_moving(),
            (Form::TailJump | Form::Entry, true) => templates::boundary_moving(),
        }
    }

    /// Whether its frames carry return addresses, so that the unwinder must search the shadow stacks.
    pub fn moving(&self) -> bool {
        self.template().moving
    }

    /// Bytes of the trampoline.
    pub fn code_bytes(&self) -> usize {
        self.template().code.len()
    }

    /// Writes the trampoline. `false`: its target is out of reach, nothing usable was written.
    ///
    /// # Safety
    /// `at .. at + code_bytes()` is writable, and no thread executes it.
    pub unsafe fn write(&self, at: *mut u8, boundaries: &Boundaries) -> bool {
        let template = self.template();
        // SAFETY: the caller's contract.
        let code = unsafe {
            ptr::copy_nonoverlapping(template.code.as_ptr(), at, template.code.len());
            core::slice::from_raw_parts_mut(at, template.code.len())
        };
        if !self.fill_words(code, at as u64, boundaries) {
            return false;
        }
        let return_at = template.after + RETURN_AT;
        code[return_at..return_at + 8]
            .copy_from_slice(&(self.site + self.len as u64).to_le_bytes());
        // SAFETY: as above; nobody executes it yet.
        unsafe {
            self.rename(at, |to, bytes| {
                ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len())
            })
        };
        !template.indirect || self.fill_operands(code, at as u64, &template)
    }

    /// Lets a trampoline that was written for another probe of the same site serve this one. A thread that is inside takes either.
    ///
    /// # Safety
    /// `at` was written by a hook that differs in its probe alone, and `write` can write there.
    pub unsafe fn rename(&self, at: *mut u8, write: impl Fn(*mut u8, &[u8])) {
        let after = self.template().after;
        let (id, field) = (u64::from(self.id), u64::from(self.id << 1));
        // SAFETY: inside the trampoline. Templates are aligned, but the field after `after` is not, so it may be
        // written byte by byte. At worst a record of a call in flight names a wrong probe.
        unsafe {
            write(at.add(after + ID_AT), &id.to_le_bytes());
            write(at.add(after + ID_FIELD_AT), &field.to_le_bytes());
        }
    }

    fn fill_words(&self, code: &mut [u8], at: u64, boundaries: &Boundaries) -> bool {
        let field = |offset: usize| tls::offset() + offset as i32;
        let mut i = 0;
        while i + 8 <= code.len() {
            let word = u32::from_le_bytes([code[i], code[i + 1], code[i + 2], code[i + 3]]);
            let long = u64::from_le_bytes(code[i..i + 8].try_into().expect("eight bytes"));
            if let Some(pointer) = match long {
                mark::ENTER => Some(boundaries.enter as usize),
                mark::LEAVE => Some(boundaries.leave as usize),
                mark::ENTER_SHORT => Some(boundaries.enter_short as usize),
                mark::LEAVE_SHORT => Some(boundaries.leave_short as usize),
                mark::RUST => Some(stubs::evenkeel_call_boundary as *const () as usize),
                _ => None,
            } {
                code[i..i + 8].copy_from_slice(&(pointer as u64).to_le_bytes());
                i += 8;
                continue;
            }
            if !(mark::FIRST..mark::FIRST + mark::COUNT).contains(&word) {
                i += 1;
                continue;
            }
            let value = match word {
                mark::ACTIVE => field(offsets::ACTIVE),
                mark::TOP => field(offsets::TOP),
                mark::LIMIT => field(offsets::LIMIT),
                mark::RING => field(offsets::RING),
                mark::FULL => field(offsets::SHADOW_FULL),
                mark::STALE => field(offsets::ON_STALE),
                mark::MISMATCH => field(offsets::ON_MISMATCH),
                mark::SHADOW => field(offsets::SHADOW),
                _ => {
                    let end = at + i as u64 + 4;
                    match i32::try_from(self.target.wrapping_sub(end) as i64) {
                        Ok(relative) => relative,
                        Err(_) => return false,
                    }
                }
            };
            code[i..i + 4].copy_from_slice(&value.to_le_bytes());
            i += 4;
        }
        true
    }

    /// The call goes to the end of its room, so that the address after it is the template's; the jump to the beginning.
    fn fill_operands(&self, code: &mut [u8], at: u64, template: &Template) -> bool {
        let next_ip = self.site + self.len as u64;
        let mut start = template.after;
        // The length decides where a RIP-relative operand is encoded: six bytes for those.
        if self.operand.base == Operand::RIP {
            start -= 6;
        }
        let Some((call, len)) =
            operand::encode(operand::CALL, &self.operand, at + start as u64, next_ip, 0)
        else {
            return false;
        };
        code[template.after - len..template.after].copy_from_slice(&call[..len]);
        let jump_at = at + template.bypass as u64;
        let Some((jump, len)) = operand::encode(operand::JUMP, &self.operand, jump_at, next_ip, 8)
        else {
            return false;
        };
        debug_assert!(len <= OPERAND_BYTES);
        code[template.bypass..template.bypass + len].copy_from_slice(&jump[..len]);
        true
    }
}

/// The probe whose trampoline's own call returns to `after`.
///
/// # Safety
/// `after` comes from a frame in flight.
pub unsafe fn probe_id(after: u64) -> u32 {
    // SAFETY: trampolines are never unmapped.
    unsafe { ((after as usize + ID_AT) as *const u64).read_unaligned() as u32 }
}
