//! Copies of stacks. They are taken of threads that release something while none of their calls is timed and others
//! wait. They are also taken where an interval begins or ends that is no single call. An agent copies words and
//! unwinds nothing. The session has the tables for that, and finds the functions that were active.

use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Copies that can wait for the session at a time.
pub const STACKS_LEN: usize = 16;
/// Words of a stack that are copied, from the stack pointer upwards.
pub const STACK_WORDS: usize = 2040;

/// State of a [`StackCopy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CopyState {
    /// The copy is free.
    Free = 0,
    /// A thread is writing it.
    Claimed = 1,
    /// It is complete; the session frees it.
    Full = 2,
}

/// Activity of a thread when its stack was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CopiedAt {
    /// It released something.
    Release = 0,
    /// An interval began.
    Begin = 1,
    /// An interval ended.
    End = 2,
}

impl CopiedAt {
    /// The copies that are for this, so that there is room for where an interval ends if there was for where it began.
    pub const fn places(self) -> Range<usize> {
        const PART: usize = STACKS_LEN / 3;
        match self {
            CopiedAt::Begin => 0..PART,
            CopiedAt::End => PART..2 * PART,
            CopiedAt::Release => 2 * PART..STACKS_LEN,
        }
    }
}

/// A copy of a stack.
#[repr(C, align(64))]
pub struct StackCopy {
    /// A [`CopyState`].
    pub state: AtomicU32,
    /// A [`CopiedAt`].
    pub at: AtomicU32,
    /// The process.
    pub pid: AtomicU32,
    /// The thread.
    pub tid: AtomicU32,
    /// Instruction pointer, stack pointer and frame pointer of the thread.
    pub registers: [AtomicU64; 3],
    /// Words that were there to be copied.
    pub len: AtomicU32,
    /// The stack, from the stack pointer upwards.
    pub words: [AtomicU64; STACK_WORDS],
}
