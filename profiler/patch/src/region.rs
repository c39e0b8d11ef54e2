//! Memory for trampolines, near enough to a module that every one of its calls reaches it.
//!
//! ```text
//! base   5/7   trampolines that know where they return to
//!        1/7   trampolines that keep the return address in their frame
//!        1/7   displaced entries: no frames of their own, nothing to unwind
//! ```
//! Address space is reserved whole and backed as it is used. It is never given back: a thread may be inside. It is no
//! larger than the module's code can need, because jump pads for other modules must find places, too.

use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::arch::REACH_BYTES;
use crate::arch::jump::{PAD_BYTES, Targets, redirect};
use crate::arch::unwind::FrameInfo;
use crate::{code, writing};

/// Bytes of trampolines for a byte of code: some 400 bytes for each call, which come every 28 bytes.
const GROWTH: u64 = 16;
/// A seventh of a region: for the largest server measured, and for a module of a few functions.
const SEVENTH_MAX: u64 = 16 << 20;
const SEVENTH_MIN: u64 = 1 << 20;
const STEP_BYTES: u64 = 64 << 10;
/// See [`away`].
static AWAY: AtomicUsize = AtomicUsize::new(AWAY_LOW);
const AWAY_LOW: usize = 0x1000_0000_0000;

/// Where a large table of this size is mapped if the space is free, another place each time (the kernel moves an
/// overlapping table next to libraries). Address space near modules is for trampolines and jump pads.
pub fn away(bytes: usize) -> usize {
    let next = |at: usize| (at != 0).then(|| at + bytes.next_multiple_of(PAGE as usize));
    AWAY.fetch_update(Relaxed, Relaxed, next).unwrap_or(0)
}

/// The addresses that [`away`] has given out.
pub fn tables() -> Range<u64> {
    AWAY_LOW as u64..AWAY.load(Relaxed) as u64
}

/// Large tables go wherever the kernel puts them: sanitizers' runtimes have plans for all the rest.
pub fn stay_with_libraries() {
    AWAY.store(0, Relaxed);
}
const PADS_MAX: usize = 1024;
const PAGE: u64 = 4096;

/// A span that is filled from its beginning.
#[derive(Clone, Copy, Debug)]
struct Span {
    next: u64,
    end: u64,
    /// Writable up to here; executable only below `sealed`.
    writable: u64,
    sealed: u64,
    /// Memory below the seal that was made writable again, from and to.
    unsealed: (u64, u64),
}

/// Which part of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Trampolines that know where they return to.
    Constant = 0,
    /// Trampolines that keep the return address in their frame.
    Moving = 1,
    /// Displaced entries.
    Loose = 2,
}

/// Memory near one module.
pub struct Region {
    /// The module's code: `low .. high`.
    pub low: u64,
    /// See `low`.
    pub high: u64,
    spans: [Span; 3],
    pads: [Pads; PADS_MAX],
    pads_len: usize,
    frame_info: [FrameInfo; 2],
}

/// A page of jump pads.
#[derive(Clone, Copy)]
struct Pads {
    page: u64,
    next: u64,
}

impl Region {
    /// Reserves memory for the module whose code is `low .. high`; null if none is near.
    pub fn create(low: u64, high: u64) -> *mut Region {
        let seventh = ((high - low) / 5)
            .saturating_mul(GROWTH)
            .clamp(SEVENTH_MIN, SEVENTH_MAX)
            & !(SEVENTH_MIN - 1);
        let Some(base) = reserve(low, high, 7 * seventh) else {
            return ptr::null_mut();
        };
        // SAFETY: a fresh zeroed mapping; zero is a valid `Region`.
        unsafe {
            let memory = map(
                0,
                size_of::<Region>() as u64,
                libc::PROT_READ | libc::PROT_WRITE,
                0,
            );
            let Some(address) = memory else {
                return ptr::null_mut();
            };
            let region = address as *mut Region;
            (*region).low = low;
            (*region).high = high;
            let mut start = base;
            for (span, bytes) in (*region)
                .spans
                .iter_mut()
                .zip([5 * seventh, seventh, seventh])
            {
                *span = Span {
                    next: start,
                    end: start + bytes,
                    writable: start,
                    sealed: start,
                    unsealed: (0, 0),
                };
                start += bytes;
            }
            let constant_end = base + 5 * seventh;
            (*region).frame_info[0].register(base, constant_end, false);
            (*region).frame_info[1].register(constant_end, constant_end + seventh, true);
            region
        }
    }

    /// Writable memory of `bytes`, aligned to 16; `None` when the part is full or the kernel refuses.
    pub fn take(&mut self, part: Part, bytes: usize) -> Option<*mut u8> {
        let span = &mut self.spans[part as usize];
        let mut start = span.next.next_multiple_of(16);
        let mut rights = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        if writing::is_in_place() {
            // Pages that may be executed are not made writable again.
            start = start.max(span.sealed);
            rights = libc::PROT_READ | libc::PROT_WRITE;
            writing::begin().then_some(())?;
        }
        let end = start + bytes as u64;
        if end > span.end {
            return None;
        }
        if end > span.writable || span.sealed > start & !(PAGE - 1) {
            let from = start & !(PAGE - 1);
            let to = end.next_multiple_of(STEP_BYTES).min(span.end);
            protect(from, to, rights).then_some(())?;
            span.sealed = span.sealed.min(from);
            span.writable = to;
        }
        span.next = end;
        Some(start as *mut u8)
    }

    /// Takes back what [`Region::take`] returned last.
    pub(crate) fn untake(&mut self, part: Part, start: *mut u8) {
        self.spans[part as usize].next = start as u64;
    }

    /// Makes what [`Region::take`] returned before, `bytes` from `start`, writable again until the next [`Region::seal`]. False if the
    /// kernel refuses.
    pub(crate) fn unseal(&mut self, part: Part, start: *mut u8, bytes: usize) -> bool {
        if writing::is_in_place() {
            return writing::begin();
        }
        let span = &mut self.spans[part as usize];
        let from = start as u64 & !(PAGE - 1);
        let to = (start as u64 + bytes as u64).next_multiple_of(PAGE);
        if from >= span.sealed {
            return true;
        }
        let writable = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        if !protect(from, to.min(span.writable), writable) {
            return false;
        }
        span.unsealed = match span.unsealed {
            (0, 0) => (from, to),
            (low, high) => (low.min(from), high.max(to)),
        };
        true
    }

    /// Makes everything written so far executable only.
    pub fn seal(&mut self) {
        for span in &mut self.spans {
            if writing::is_in_place() {
                let end = span.next.next_multiple_of(PAGE);
                // SAFETY: pages that were taken since, and that nobody executes yet.
                if end > span.sealed && unsafe { writing::make_executable(span.sealed, end) } {
                    span.sealed = end;
                }
                continue;
            }
            if span.writable > span.sealed {
                protect(
                    span.sealed,
                    span.writable,
                    libc::PROT_READ | libc::PROT_EXEC,
                );
                span.sealed = span.writable;
            }
            if let (low @ 1.., high) = core::mem::take(&mut span.unsealed) {
                protect(
                    low,
                    high.min(span.writable),
                    libc::PROT_READ | libc::PROT_EXEC,
                );
            }
        }
    }

    /// A jump to `to`, placed where a safe jump at an entry can lead (see [`Targets`]). `None` if no place fits.
    pub fn pad(&mut self, targets: &Targets, to: u64) -> Option<u64> {
        for pads in &mut self.pads[..self.pads_len] {
            if let Some(at) = targets.first_in(pads.next, pads.page + PAGE - PAD_BYTES as u64)
                && to.abs_diff(at) <= REACH_BYTES
            {
                return write_pad(pads, at, to);
            }
        }
        if self.pads_len == PADS_MAX {
            return None;
        }
        for at in targets.candidates() {
            let page = at & !(PAGE - 1);
            if at + PAD_BYTES as u64 > page + PAGE || to.abs_diff(at) > REACH_BYTES {
                continue;
            }
            if map_at(page, PAGE, libc::PROT_READ | libc::PROT_EXEC, 0) {
                let mut pads = Pads { page, next: page };
                let pad = write_pad(&mut pads, at, to);
                self.pads[self.pads_len] = pads;
                self.pads_len += 1;
                return pad;
            }
        }
        None
    }
}

fn write_pad(pads: &mut Pads, at: u64, to: u64) -> Option<u64> {
    let (bytes, len) = redirect(evenkeel_wire::Form::Entry, at, 5, to)?;
    // SAFETY: inside a page of the region, beyond every pad that threads may be executing.
    unsafe {
        code::set_writable((pads.page, pads.page + PAGE), true).then_some(())?;
        writing::write(at as *mut u8, &bytes[..len as usize]);
        code::set_writable((pads.page, pads.page + PAGE), false);
    }
    pads.next = at + PAD_BYTES as u64;
    Some(at)
}

/// Address space of `bytes` from which all of `low .. high` is in reach. Below the module if possible, otherwise as far above as
/// possible: the heap of a program at a fixed address grows up from its end.
fn reserve(low: u64, high: u64, bytes: u64) -> Option<u64> {
    const STEP: u64 = 16 << 20;
    let low = low & !(PAGE - 1);
    let high = high.next_multiple_of(PAGE);
    let steps = (REACH_BYTES.checked_sub((high - low).saturating_add(bytes))? / STEP).max(1);
    let below = (1..steps)
        .map_while(|i| low.checked_sub(bytes + i * STEP))
        .filter(|&at| at >= STEP);
    let above = (1..steps).rev().map(|i| high + i * STEP);
    below
        .chain(above)
        .find(|&at| map_at(at, bytes, libc::PROT_NONE, libc::MAP_NORESERVE))
}

/// Maps fresh memory at `at` if nothing is there.
fn map_at(at: u64, bytes: u64, protection: i32, flags: i32) -> bool {
    // SAFETY: a new mapping where nothing was; kernels before 4.17 take the address for a hint, which is undone.
    unsafe {
        match map(at, bytes, protection, flags | libc::MAP_FIXED_NOREPLACE) {
            Some(address) if address == at => true,
            Some(address) => {
                libc::munmap(address as *mut _, bytes as usize);
                false
            }
            None => false,
        }
    }
}

unsafe fn map(at: u64, bytes: u64, protection: i32, flags: i32) -> Option<u64> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags;
    // SAFETY: the caller asks for fresh memory only.
    let address = unsafe { libc::mmap(at as *mut _, bytes as usize, protection, flags, -1, 0) };
    (address != libc::MAP_FAILED).then_some(address as u64)
}

fn protect(from: u64, to: u64, protection: i32) -> bool {
    // SAFETY: the region's own memory.
    unsafe { libc::mprotect(from as *mut _, (to - from) as usize, protection) == 0 }
}
