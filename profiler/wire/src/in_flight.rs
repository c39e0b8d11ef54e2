//! Layout of a thread's calls in flight in its process' memory, for the session to read from outside
//! ([`crate::RingHeader::in_flight_at`]).
//!
//! ```text
//! in_flight_at   link (u64) | end: behind the last frame that may keep a return address (u64) | first frame (u64)
//! frame          return address, 0 where the trampoline knows it | address of its slot on the stack, see FREE | start | trampoline's return
//! ```
//!
//! Hooks of entries and tail jumps keep the return address in a frame and nowhere else: without it a stack cannot be followed
//! through them.

/// Words at the address.
pub const HEAD_WORDS: usize = 3;
/// Word of the head with the end of the frames.
pub const END_WORD: usize = 1;
/// Word of the head with the first frame.
pub const FIRST_WORD: usize = 2;
/// Words of a frame.
pub const FRAME_WORDS: usize = 4;
/// Word of a frame with the return address.
pub const RETURN_WORD: usize = 0;
/// Word of a frame with the address of the stack's slot.
pub const SLOT_WORD: usize = 1;
/// What the slot's word holds in a frame that is not in use.
pub const FREE: [u64; 2] = [0, u64::MAX];
/// Word of a frame with the time at which the call began, ticks.
pub const START_WORD: usize = 2;
/// The bits of that word that are the time.
pub const START_MASK: u64 = (1 << 62) - 1;
/// Word of a frame with the address that the trampoline's own call returns to.
pub const AFTER_WORD: usize = 3;
