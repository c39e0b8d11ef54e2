//! The code of one probe: its trampoline, and for an entry what is displaced and the pad that its jump leads to.

use evenkeel_wire::{Displaced, Form, Probe, Refusal, Role};

use crate::arch::displaced::write_displaced;
use crate::arch::jump::Targets;
use crate::arch::stubs::Boundaries;
use crate::arch::trampoline::Hook;
use crate::region::{Part, Region};
use crate::site::{EntryCode, Made, Way};
use crate::writing;

/// A module as this process has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedModule {
    /// Its index in the arena's table.
    pub index: u32,
    /// Difference to addresses of its file.
    pub bias: u64,
    /// Its code: `low .. high`, in this process.
    pub low: u64,
    /// See `low`.
    pub high: u64,
}

/// Facts that the trampoline of a probe needs; `body` is where an entry's displaced instructions run, 0 otherwise.
pub fn hook_of(id: u32, probe: &Probe, bias: u64, body: u64) -> Hook {
    Hook {
        id,
        form: form_of(probe),
        role: Role::of(probe),
        site: probe.address + bias,
        len: probe.len,
        target: if body != 0 {
            body
        } else {
            probe.target.wrapping_add(bias)
        },
        operand: probe.operand,
    }
}

/// Whether calls of this form are timed where they are; others can only be trapped.
pub fn is_timed(form: Form) -> bool {
    !matches!(form, Form::ShortIndirectCall | Form::IndirectJump)
}

/// Makes what a probe needs: its trampoline, and for an entry the displaced instructions, the trampoline of their call and the pad.
pub fn make(
    region: &mut Region,
    boundaries: &Boundaries,
    (id, probe): (u32, &Probe),
    module: &LoadedModule,
    displaced: Option<&Displaced>,
    call: Option<Hook>,
) -> Result<Made, Refusal> {
    let Some(displaced) = displaced else {
        let hook = hook_of(id, probe, module.bias, 0);
        let trampoline = write_trampoline(region, &hook, boundaries)? as u64;
        return Ok(Made::Call(trampoline));
    };
    let call = match call {
        Some(call) => write_trampoline(region, &call, boundaries)? as u64,
        None => 0,
    };
    let timed = (call != 0).then_some(call);
    let body =
        write_displaced(region, displaced, module.bias, timed).ok_or(Refusal::NoNearMemory)?;
    let hook = hook_of(id, probe, module.bias, body);
    let trampoline = write_trampoline(region, &hook, boundaries)? as u64;
    let targets = Targets::of(probe.address + module.bias, displaced.boundaries);
    let way = match region.pad(&targets, trampoline) {
        Some(pad) => Way::Pad(pad),
        // Boundaries of intervals are rare enough to be entered by a breakpoint; other calls are not.
        None if hook.role == Role::Inner => return Err(Refusal::NoSafeJump),
        None => Way::Breakpoint,
    };
    Ok(Made::Entry(EntryCode {
        trampoline,
        body,
        way,
        call,
    }))
}

/// Gives a trampoline of an earlier session to another probe of the same site. False if its memory cannot be written.
pub fn rename(region: &mut Region, hook: &Hook, trampoline: u64) -> bool {
    let at = trampoline as *mut u8;
    let is_writable = region.unseal(part_of(hook), at, hook.code_bytes());
    if is_writable {
        // SAFETY: `old_trampolines` found it for a hook that differs in its probe alone.
        unsafe { hook.rename(at, |to, bytes| writing::write(to, bytes)) };
    }
    is_writable
}

fn part_of(hook: &Hook) -> Part {
    if hook.moving() {
        Part::Moving
    } else {
        Part::Constant
    }
}

fn write_trampoline(
    region: &mut Region,
    hook: &Hook,
    boundaries: &Boundaries,
) -> Result<*mut u8, Refusal> {
    let part = part_of(hook);
    let at = region
        .take(part, hook.code_bytes())
        .ok_or(Refusal::NoNearMemory)?;
    // SAFETY: `take` returned that much writable memory that nobody executes yet.
    if unsafe { hook.write(at, boundaries) } {
        Ok(at)
    } else {
        region.untake(part, at);
        Err(Refusal::NoNearMemory)
    }
}

pub fn form_of(probe: &Probe) -> Form {
    match probe.form {
        0 => Form::Call,
        1 => Form::TailJump,
        2 => Form::IndirectCall,
        3 => Form::ShortIndirectCall,
        4 => Form::Entry,
        _ => Form::IndirectJump,
    }
}
