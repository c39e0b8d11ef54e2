//! The instruction that replaces the hooked one, and where its target may lie.
//!
//! A call site takes a branch to anywhere in reach. A jump at a function's entry covers several original
//! instructions, and a thread may stand before any of them. So the bytes of the jump at those boundaries must be
//! breakpoints (instruction punning: Chamith et al., "Instruction Punning: Lightweight Instrumentation for x86-64",
//! PLDI 2017). That fixes bytes of the displacement, and so restricts the jump's targets: it leads to a small jump
//! pad at one of them.

use evenkeel_wire::Form;

use super::BREAKPOINT;
use super::flip::SPAN_MAX;

/// Bytes of a pad: one `jmp rel32`, padded.
pub const PAD_BYTES: usize = 8;

/// The bytes that redirect a site of `len` bytes to `to`, and their number. `None` if `to` is out of reach.
pub fn redirect(form: Form, site: u64, len: u8, to: u64) -> Option<([u8; SPAN_MAX], u8)> {
    let mut bytes = [0; SPAN_MAX];
    // One instruction must stay one instruction. All of these prefixes are ignored on a near branch in 64-bit mode: CS
    // override, address size, REX.W.
    let prefixes: &[u8] = match (form, len) {
        (Form::IndirectCall, 6) => &[0x67],
        (Form::IndirectCall, 7) => &[0x2e, 0x67],
        (Form::IndirectCall, 8) => &[0x2e, 0x67, 0x48],
        _ => &[],
    };
    let opcode = match form {
        Form::Call | Form::IndirectCall => 0xe8,
        Form::TailJump | Form::Entry => 0xe9,
        Form::ShortIndirectCall | Form::IndirectJump => return None,
    };
    let end = site + prefixes.len() as u64 + 5;
    let relative = i32::try_from(to.wrapping_sub(end) as i64).ok()?;
    bytes[..prefixes.len()].copy_from_slice(prefixes);
    bytes[prefixes.len()] = opcode;
    bytes[prefixes.len() + 1..][..4].copy_from_slice(&relative.to_le_bytes());
    Some((bytes, prefixes.len() as u8 + 5))
}

/// Addresses that a safe jump at `entry` may lead to, nearest displacement first by its free high byte. An iterator
/// of `(lowest address, mask of free low bits)`; [`Targets`] describes every address `lowest | x`.
#[derive(Clone, Copy, Debug)]
pub struct Targets {
    end: u64,
    fixed: u32,
    mask: u32,
}

impl Targets {
    /// `boundaries`: offsets of original instructions, as in [`evenkeel_wire::Displaced`].
    pub fn of(entry: u64, boundaries: u32) -> Targets {
        let mut fixed = 0;
        let mut mask = 0;
        for byte in 0..4 {
            if boundaries >> (byte + 1) & 1 == 1 {
                fixed |= (BREAKPOINT as u32) << (8 * byte);
                mask |= 0xff << (8 * byte);
            }
        }
        Targets {
            end: entry + 5,
            fixed,
            mask,
        }
    }

    /// Whether a jump may lead to `to`.
    pub fn allow(&self, to: u64) -> bool {
        match i32::try_from(to.wrapping_sub(self.end) as i64) {
            Ok(relative) => relative as u32 & self.mask == self.fixed,
            Err(_) => false,
        }
    }

    /// The lowest allowed address in `from..to`; `None` if none is allowed.
    pub fn first_in(&self, from: u64, to: u64) -> Option<u64> {
        let low = i64::max(from.wrapping_sub(self.end) as i64, i32::MIN as i64);
        let high = i64::min(to.wrapping_sub(self.end) as i64, i32::MAX as i64 + 1);
        let mut relative = low;
        while relative < high {
            let word = relative as i32 as u32;
            // The highest byte that is wrong decides how far to go; everything below starts again from its least.
            let Some(wrong) = (0..4)
                .rev()
                .find(|byte| (word ^ self.fixed) & self.mask & (0xff << (8 * byte)) != 0)
            else {
                return Some(self.end.wrapping_add_signed(relative));
            };
            let shift = 8 * wrong;
            let wanted = (self.fixed >> shift & 0xff) as i64;
            let present = (word >> shift & 0xff) as i64;
            let step = (wanted - present).rem_euclid(256) << shift;
            let floor = relative >> shift << shift;
            relative = floor + step;
        }
        None
    }

    /// Every allowed address that differs in its free high byte, as candidates for a new pad page: all displacements
    /// whose other free bytes are zero.
    pub fn candidates(&self) -> impl Iterator<Item = u64> + use<> {
        let (end, fixed, mask) = (self.end, self.fixed, self.mask);
        let high_free = mask >> 24 == 0;
        let middle_free = mask >> 16 & 0xff == 0;
        let highs = if high_free { 0..256u32 } else { 0..1 };
        highs.flat_map(move |high| {
            let middles = if middle_free { 0..256u32 } else { 0..1 };
            middles
                .step_by(if high_free { 16 } else { 1 })
                .map(move |middle| {
                    let high = if high_free { high << 24 } else { 0 };
                    let middle = if middle_free { middle << 16 } else { 0 };
                    end.wrapping_add_signed((fixed | high | middle) as i32 as i64)
                })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_reaches_its_target() {
        // e8 at 0x1000: displacement from 0x1005.
        let (bytes, len) = redirect(Form::Call, 0x1000, 5, 0x2005).unwrap();
        assert_eq!((&bytes[..5], len), (&[0xe8, 0x00, 0x10, 0, 0][..], 5));
        let (bytes, len) = redirect(Form::IndirectCall, 0x1000, 6, 0x1006).unwrap();
        assert_eq!((&bytes[..6], len), (&[0x67, 0xe8, 0, 0, 0, 0][..], 6));
        assert!(redirect(Form::Call, 0x1000, 5, 1 << 40).is_none());
    }

    #[test]
    fn boundaries_become_breakpoints() {
        // push rbp (1), mov rbp, rsp (3), sub rsp, 16 (4). Boundaries are at 0, 1 and 4; bytes 1 and 4 of the jump
        // are cc.
        let entry = 0x5555_5000_1230;
        let targets = Targets::of(entry, 0b1_0011);
        let to = targets
            .first_in(entry - (1 << 31), entry + (1 << 31))
            .unwrap();
        assert!(targets.allow(to));
        let (bytes, _) = redirect(Form::Entry, entry, 5, to).unwrap();
        assert_eq!((bytes[0], bytes[1], bytes[4]), (0xe9, 0xcc, 0xcc));
    }

    #[test]
    fn the_first_target_is_the_lowest() {
        let entry = 0x7f00_0000_0000;
        for boundaries in [0b1, 0b11, 0b101, 0b1_0001, 0b1_1111, 0b1011] {
            let targets = Targets::of(entry, boundaries);
            let from = entry - 0x3400_0000;
            let slow = (from..from + 0x200_0000).find(|&to| targets.allow(to));
            assert_eq!(
                targets.first_in(from, from + 0x200_0000),
                slow,
                "{boundaries:b}"
            );
        }
    }

    #[test]
    fn candidates_are_allowed() {
        for boundaries in [0b1, 0b11, 0b101, 0b1_0001, 0b1_1111, 0b1011] {
            let targets = Targets::of(0x7f00_0000_0000, boundaries);
            assert!(targets.candidates().all(|to| targets.allow(to)));
        }
    }
}
