//! The plan, as the patcher reads it.

use evenkeel_wire::arch::code::JUMP_BYTES;
use evenkeel_wire::{Displaced, Form, Probe};

use crate::arch::flip::SPAN_MAX;

/// The plan, as it lies in the arena.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// All probes.
    pub probes: &'a [Probe],
    /// All displaced entries.
    pub displaced: &'a [Displaced],
}

impl Plan<'_> {
    /// The probe of the call that lies under an entry's hook, if it has one.
    pub fn call_under(&self, probe: &Probe) -> Option<u32> {
        if probe.form != Form::Entry as u8 {
            return None;
        }
        let displaced = self.displaced.get(probe.displaced as usize)?;
        displaced.call.checked_sub(1)
    }
}

/// Bytes at a site that are changed.
pub fn span_of(probe: &Probe) -> usize {
    let span = match probe.form == Form::Entry as u8 {
        true => JUMP_BYTES,
        false => probe.len as usize,
    };
    span.min(SPAN_MAX)
}
