//! The frame of a signal: not written on this architecture yet.

use framehop::UnwindRegsNative;

use super::registers::Registers;
use crate::tracer::{Errno, Memory};

/// The code that a handler of the C library's returns to.
pub const RETURN: [u8; 0] = [];

/// What a called function returns to.
pub fn stub(_result_at: i32, _errno: Option<Errno>, _signal: Option<i32>) -> Vec<u8> {
    Vec::new()
}

/// Bytes that a frame takes.
pub fn bytes_max(_vectors: usize) -> u64 {
    0
}

/// The frame.
pub fn frame(
    _registers: &Registers,
    _vectors: &[u8],
    _mask: u64,
    _slot: u64,
    _returns_to: u64,
) -> Vec<u8> {
    Vec::new()
}

/// Not supported on this architecture.
pub fn interrupted_by_handler(_sp: u64, _memory: &Memory) -> Option<(u64, UnwindRegsNative)> {
    None
}
