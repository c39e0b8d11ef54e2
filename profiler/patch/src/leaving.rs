//! Calls that do not return: an exception, `longjmp` or the end of the thread leaves them.
//!
//! Their time counts, from the call to the moment at which control left them (`variance.md`, section 3). So each is
//! recorded with that end, deepest first, as if it had returned then. The moment comes from:
//!
//! - **The unwinder** passes through the frames of trampolines like any other and calls their personality routine on its second
//!   way, after the clean-up code of everything below and before that of everything above ([`Thread::unwound`]). It does so for
//!   C++ exceptions, Rust's panics and cancellation alike, wherever their runtime is.
//! - **`longjmp`** says where it leads, and what lies below is left ([`Thread::left_for`]).
//! - Whatever else sets the stack pointer back says nothing: such a frame is found stale at the next timed call, or when a call
//!   below it returns. It then ends at that moment, and is counted ([`Thread::left_unseen`]).
//!
//! An interval whose own call is left in one of the first two ways ends at that moment, too ([`Thread::on_left`]).

use core::sync::atomic::Ordering::*;
use evenkeel_wire::arch::order::publish;
use evenkeel_wire::ring::{RECORDS_AT, RING_BYTES, lap_bit};
use evenkeel_wire::{Record, now_ticks};

use crate::arch::{counter, trampoline};
use crate::frame::{Frame, Left};
use crate::thread::Thread;

/// How far above an interval's call `longjmp` may lead to leave it for certain: the function that catches an error is seldom far. A
/// longer way may lead to another stack, and a coroutine's interval continues later.
const ONE_STACK_BYTES: u64 = 64 << 10;

impl Thread {
    /// The unwinder, which runs at `here` on the stack, has left the call of the trampoline whose own call returns to `after`, and
    /// everything it called.
    ///
    /// The frames stay, void: the unwinder has yet to read the return address there, and its own calls may be hooked,
    /// in programs that bring their unwinder. Frames elsewhere belong to another stack.
    pub fn unwound(&mut self, sp: u64, after: u64, here: u64) {
        let frames = self.frames();
        let Some(found) = frames
            .iter()
            .rposition(|frame| frame.sp == sp && frame.after == after)
        else {
            return;
        };
        // Calls that became this one by hooked tail calls have the same slot, and no frame of their own for the unwinder.
        let same_slot = frames[..found].iter().rev();
        let first = found - same_slot.take_while(|frame| frame.sp == sp).count();
        let (len, now) = (frames.len(), now_ticks());
        for at in (first..len).rev() {
            let frame = self.frames()[at];
            if frame.sp <= here || frame.sp > sp {
                continue;
            }
            let is_interval = self.interval_slot() == Some(frame.sp);
            self.record_left(&frame, now);
            // SAFETY: one of the frames in flight.
            unsafe { (*self.frames().as_ptr().cast_mut().add(at)).start = 0 };
            if is_interval {
                self.end_interval(now);
            }
        }
    }

    /// The thread is about to go on with its stack pointer at `sp`: whatever was called below is left.
    pub fn left_for(&mut self, sp: u64) {
        let ends = self
            .interval_slot()
            .is_some_and(|slot| slot < sp && sp - slot < ONE_STACK_BYTES);
        self.drop_frames_below(sp, Left::Seen);
        if ends {
            self.end_interval(now_ticks());
        }
    }

    /// Where the return address of the open interval's call lies, if the interval is one call.
    pub fn interval_slot(&self) -> Option<u64> {
        if !self.interval.is_open() || self.root.is_null() || self.root >= self.top {
            return None;
        }
        // SAFETY: a frame in flight of this thread's shadow stack.
        let frame = unsafe { &*self.root };
        (frame.start & Frame::INTERVAL != 0).then_some(frame.sp)
    }

    /// The open interval's call was left at `now`.
    fn end_interval(&mut self, now: u64) {
        if let Some(end) = self.on_left {
            end(self, now);
        }
    }

    /// Records a call in flight that was left at `now`. Nothing for intervals, void frames, and where nothing is recorded.
    pub(crate) fn record_left(&mut self, frame: &Frame, now: u64) -> bool {
        let is_call = frame.start != 0
            && frame.start & Frame::INTERVAL == 0
            && frame.sp != 0
            && frame.sp != u64::MAX;
        if !is_call || self.active == 0 || self.ring.is_null() {
            return false;
        }
        // SAFETY: rings stay mapped; the slot is the one that this thread reserves. The frame is in flight.
        unsafe {
            let id = trampoline::probe_id(frame.after);
            let record = Record::new(frame.start, now.saturating_sub(frame.start), id);
            let header = &*self.ring;
            if header.position.load(Relaxed) >= header.limit.load(Acquire) {
                header.dropped.fetch_add(1, Relaxed);
                return true;
            }
            let position = counter::add(&header.position, 16);
            let offset = RECORDS_AT + (position as usize & (RING_BYTES - 1));
            let slot = self.ring.cast::<u8>().add(offset).cast::<u64>();
            publish(slot, record.start, record.word | lap_bit(position));
        }
        true
    }
}
