//! The first instructions of a function, put where they run instead.

use evenkeel_wire::{Displaced, PieceFix};

use crate::region::{Part, Region};

/// Bytes of a near jump.
const JUMP_LEN: usize = 5;

/// Puts displaced instructions where they work, followed by the way back. Returns their address. The call with which they end goes by
/// way of the trampoline at `call`, if there is one.
pub fn write_displaced(
    region: &mut Region,
    displaced: &Displaced,
    bias: u64,
    call: Option<u64>,
) -> Option<u64> {
    let pieces = &displaced.pieces[..displaced.count as usize];
    let bytes: usize = pieces.iter().map(|piece| piece.len as usize).sum::<usize>() + JUMP_LEN;
    let at = region.take(Part::Loose, bytes)?;
    // SAFETY: `take` returned that much writable memory.
    let code = unsafe { core::slice::from_raw_parts_mut(at, bytes) };
    let mut offset = 0;
    let relative = |end: usize, target: u64| {
        i32::try_from(target.wrapping_sub(at as u64 + end as u64) as i64).ok()
    };
    for piece in pieces {
        let len = piece.len as usize;
        let end = offset + len;
        code[offset..end].copy_from_slice(&piece.bytes[..len]);
        let target = piece.target.wrapping_add(bias);
        let fixed = match piece.fix {
            fix if fix == PieceFix::Relative as u8 => Some(relative(end, target)?.to_le_bytes()),
            fix if fix == PieceFix::AbsoluteLow as u8 => Some((target as u32).to_le_bytes()),
            fix if fix == PieceFix::AbsoluteHigh as u8 => {
                Some(((target >> 32) as u32).to_le_bytes())
            }
            _ => None,
        };
        if let Some(field) = fixed {
            code[offset + piece.at as usize..][..4].copy_from_slice(&field);
        }
        offset = end;
    }
    if let Some(trampoline) = call {
        let start = offset - pieces.last()?.len as usize;
        if offset - start < JUMP_LEN {
            return None;
        }
        code[start] = 0xe9;
        code[start + 1..start + JUMP_LEN]
            .copy_from_slice(&relative(start + JUMP_LEN, trampoline)?.to_le_bytes());
    }
    if displaced.resume != 0 {
        code[offset] = 0xe9;
        code[offset + 1..]
            .copy_from_slice(&relative(offset + 5, displaced.resume + bias)?.to_le_bytes());
    }
    Some(at as u64)
}
