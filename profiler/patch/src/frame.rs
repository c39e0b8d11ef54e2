//! A call in flight, as the shadow stack has it, and how it can end other than by returning.

/// A call in flight.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct Frame {
    /// Where to return to, for hooks that cannot know it beforehand; 0 otherwise.
    pub ret: u64,
    /// Address of the stack slot with the return address; `u64::MAX` in a free frame, 0 in one that another thread claimed.
    pub sp: u64,
    /// Entry time in ticks; 0 if the record is void (the thread forked in between).
    pub start: u64,
    /// Return address of the trampoline's own call: says which hook this is.
    pub after: u64,
}

impl Frame {
    /// Set in `start` where the call is an interval.
    pub const INTERVAL: u64 = 1 << 62;
    /// A free slot.
    pub const FREE: Frame = Frame {
        ret: 0,
        sp: u64::MAX,
        start: 0,
        after: 0,
    };
}

/// Evidence that a call was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The unwinder or `longjmp` reported it.
    Seen,
    /// Its frame was found stale.
    Noticed,
}
