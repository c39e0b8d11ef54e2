//! Which file an address belongs to, so that shared memory has one key whatever address each process has it at.
//!
//! The source is `/proc/self/maps`, whose content is kept for a while. Memory that is mapped anew within that time
//! may get the keys of the earlier mapping, which only loses waits.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering::*};

use evenkeel_patch::kernel;
use evenkeel_wire::now_ticks;

use super::mix::mix;
use crate::lines::Lines;
use crate::maps::{self, bounds, hexadecimal};

/// Ranges remembered.
const KNOWN_MAX: usize = 16;
/// Time for which they are valid, in ticks (about a second).
const KNOWN_TICKS: u64 = 1 << 31;
/// Addresses below are numbers: the kernel maps nothing there.
const LOWEST: u64 = 1 << 16;

/// A range of addresses: one mapping, or the hole between two.
#[derive(Clone, Copy)]
struct Range {
    low: u64,
    high: u64,
    /// Identity of the file; 0: memory of this process alone, or none.
    file: u64,
    /// Difference between an address and its offset in the file.
    offset: u64,
    expires_ticks: u64,
}

impl Range {
    fn key(&self, address: u64) -> Option<u64> {
        (self.file != 0).then(|| mix(self.file, address.wrapping_add(self.offset)))
    }
}

struct Known {
    busy: AtomicBool,
    ranges: UnsafeCell<([Range; KNOWN_MAX], usize)>,
}
// SAFETY: only the holder of `busy` touches the ranges.
unsafe impl Sync for Known {}

static KNOWN: Known = Known {
    busy: AtomicBool::new(false),
    ranges: UnsafeCell::new((
        [Range {
            low: 0,
            high: 0,
            file: 0,
            offset: 0,
            expires_ticks: 0,
        }; KNOWN_MAX],
        0,
    )),
};

/// The key of an address in shared memory; `None` for memory of this process alone, and for what is no address.
pub fn key(address: u64) -> Option<u64> {
    if address < LOWEST {
        return None;
    }
    // Another thread, or the code that a signal interrupted, is at it: this one looks for itself.
    if KNOWN.busy.swap(true, Acquire) {
        return read_maps(address)?.key(address);
    }
    let now = now_ticks();
    // SAFETY: `busy` was ours to set.
    let (ranges, next) = unsafe { &mut *KNOWN.ranges.get() };
    let holds =
        |range: &&Range| (range.low..range.high).contains(&address) && now < range.expires_ticks;
    let known = ranges.iter().find(holds).copied();
    let range = known.or_else(|| {
        let mut fresh = read_maps(address)?;
        fresh.expires_ticks = now + KNOWN_TICKS;
        ranges[*next % KNOWN_MAX] = fresh;
        *next = (*next + 1) % KNOWN_MAX;
        Some(fresh)
    });
    KNOWN.busy.store(false, Release);
    range?.key(address)
}

/// In the child of a `fork`: another thread of the parent may have been at it.
pub fn after_fork_in_child() {
    KNOWN.busy.store(false, Release);
}

/// The range that holds `address`. `None` where the system does not let us look.
fn read_maps(address: u64) -> Option<Range> {
    let file = kernel::open(maps::OWN)?;
    let mut lines = Lines::new(file);
    let mut below = 0;
    let found = loop {
        let Some(line) = lines.next() else {
            break hole(below, u64::MAX);
        };
        let Some(range) = parse(line) else { break None };
        if address < range.low {
            break hole(below, range.low);
        }
        if address < range.high {
            break Some(range);
        }
        below = range.high;
    };
    kernel::close(file);
    found
}

fn hole(low: u64, high: u64) -> Option<Range> {
    Some(Range {
        low,
        high,
        file: 0,
        offset: 0,
        expires_ticks: 0,
    })
}

/// `7f00a000-7f00b000 rw-s 00003000 00:01 1044 /dev/zero (deleted)`
fn parse(line: &[u8]) -> Option<Range> {
    let mut fields = line.split(|&byte| byte == b' ');
    let (low, high) = bounds(fields.next()?)?;
    let shared = fields.next()?.get(3) == Some(&b's');
    let offset = hexadecimal(fields.next()?)?;
    let mut device = fields.next()?.split(|&byte| byte == b':');
    let device = (hexadecimal(device.next()?)?, hexadecimal(device.next()?)?);
    let inode = hexadecimal(fields.next()?)?;
    // The inode is decimal; any injective reading of its digits serves.
    let file = mix(device.0 << 32 | device.1, inode);
    Some(Range {
        low,
        high,
        file: if shared { file } else { 0 },
        offset: offset.wrapping_sub(low),
        expires_ticks: 0,
    })
}
