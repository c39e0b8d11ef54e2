//! The instruction that replaces the hooked one: not supported on this architecture.

use evenkeel_wire::Form;

use super::flip::SPAN_MAX;

/// Bytes of a pad: one branch, padded.
pub const PAD_BYTES: usize = 8;

/// No site can be redirected.
pub fn redirect(_: Form, _: u64, _: u8, _: u64) -> Option<([u8; SPAN_MAX], u8)> {
    None
}

/// Addresses that a safe jump at an entry may lead to: none.
#[derive(Clone, Copy, Debug)]
pub struct Targets;

impl Targets {
    /// The targets for an entry.
    pub fn of(_: u64, _: u32) -> Targets {
        Targets
    }

    /// Whether a jump may lead to an address.
    pub fn allow(&self, _: u64) -> bool {
        false
    }

    /// Some allowed address in a range.
    pub fn first_in(&self, _: u64, _: u64) -> Option<u64> {
        None
    }

    /// Candidates for a new page of pads.
    pub fn candidates(&self) -> impl Iterator<Item = u64> + use<> {
        core::iter::empty()
    }
}
