//! Private tables of this process: memory of zeros, which costs only what is written.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering::*};

use crate::region::away;

/// Bytes of the first table of [`Hashed`], at most.
const FIRST_BYTES: usize = 16 << 10;
/// Each further one has this many times the slots of the one before, as a power of two.
const GROWTH_LOG2: usize = 2;
/// Slots looked at for one address in one table.
const STEPS_MAX: usize = 4096;

/// Hash tables of addresses, with linear probing. In one table for the largest plan, which is megabytes long, nearly
/// every site would take a page, and that in each process of a server. So there are several tables. Another one is
/// made when the last is half full. A slot of zeros is free. Tables are never moved, so a signal's handler may read
/// them at any time.
pub struct Hashed<T, const TABLES: usize> {
    tables: [AtomicPtr<T>; TABLES],
    /// The last table, and how many of its slots are taken.
    last: Cell<usize>,
    taken: Cell<usize>,
}

impl<T, const TABLES: usize> Hashed<T, TABLES> {
    /// Without memory.
    pub const fn new() -> Self {
        Hashed {
            tables: [const { AtomicPtr::new(ptr::null_mut()) }; TABLES],
            last: Cell::new(0),
            taken: Cell::new(0),
        }
    }

    /// Slots of a table.
    pub const fn slots(number: usize) -> usize {
        1 << ((FIRST_BYTES / size_of::<T>()).ilog2() as usize + GROWTH_LOG2 * number)
    }

    const fn bytes(number: usize) -> usize {
        Self::slots(number) * size_of::<T>()
    }

    /// Maps a table that is not mapped yet. False without memory.
    pub fn prepare(&self, number: usize) -> bool {
        if self.tables[number].load(Relaxed).is_null() {
            self.tables[number].store(map(Self::bytes(number)).cast(), Release);
        }
        !self.tables[number].load(Relaxed).is_null()
    }

    /// Frees all slots.
    pub fn clear(&mut self) {
        for (number, table) in self.tables.iter().enumerate() {
            // SAFETY: a table that `prepare` mapped, or null.
            unsafe { clear(table.load(Relaxed).cast(), Self::bytes(number)) };
        }
        self.last.set(0);
        self.taken.set(0);
    }

    /// The slots of a table in which an address is looked for, in order; none without the table.
    pub fn places(&self, number: usize, address: u64) -> impl Iterator<Item = *mut T> {
        let table = self.tables[number].load(Acquire);
        let slots = if table.is_null() {
            0
        } else {
            Self::slots(number)
        };
        let hash = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
        // SAFETY: below the number of slots of a table that is there for good.
        (0..STEPS_MAX.min(slots)).map(move |step| unsafe { table.add((hash + step) % slots) })
    }

    /// The table that takes one more address: the last, or a new one. `None` without memory.
    pub fn with_room(&self) -> Option<usize> {
        let (mut number, mut taken) = (self.last.get(), self.taken.get());
        if taken >= Self::slots(number) / 2 && number + 1 < TABLES {
            (number, taken) = (number + 1, 0);
        }
        if !self.prepare(number) {
            return None;
        }
        self.last.set(number);
        self.taken.set(taken + 1);
        Some(number)
    }
}

/// A new table of this many bytes; null without memory.
pub fn map(bytes: usize) -> *mut c_void {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: fresh anonymous memory.
    let table = unsafe { libc::mmap(away(bytes) as *mut _, bytes, protection, flags, -1, 0) };
    if table == libc::MAP_FAILED {
        ptr::null_mut()
    } else {
        table
    }
}

/// Makes a table all zeros again.
///
/// # Safety
/// `table` is null or one of [`map`] with this many bytes.
pub unsafe fn clear(table: *mut c_void, bytes: usize) {
    if !table.is_null() {
        // SAFETY: the table's private anonymous memory reads as zeros afterwards.
        unsafe { libc::madvise(table, bytes, libc::MADV_DONTNEED) };
    }
}
