//! Which probe a breakpoint belongs to: a table of addresses that handlers of signals read while it is written.

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering::*};

use evenkeel_wire::PROBES_MAX;
use evenkeel_wire::arch::code::JUMP_BYTES;

use crate::table;

/// Slots: a power of two, twice what the largest plan needs.
const SLOTS: usize = 1 << 20;
/// Slots looked at for one address.
const STEPS_MAX: usize = 4096;

const _: () = assert!(PROBES_MAX << 3 < 1 << 31 && SLOTS > 2 * PROBES_MAX);

/// A hash table with linear probing. A slot has a probe's number, and which byte of its site the address is.
pub struct SiteIndex {
    slots: *mut AtomicU32,
}

impl SiteIndex {
    /// Without memory, and so without sites.
    pub const fn new() -> SiteIndex {
        SiteIndex {
            slots: ptr::null_mut(),
        }
    }

    /// Maps it. False if there is no memory.
    pub fn prepare(&mut self) -> bool {
        self.slots = table::map(SLOTS * size_of::<AtomicU32>()).cast();
        !self.slots.is_null()
    }

    /// Forgets all sites.
    pub fn clear(&mut self) {
        // SAFETY: the table that `prepare` made, if it did.
        unsafe { table::clear(self.slots.cast(), SLOTS * size_of::<AtomicU32>()) };
    }

    /// The slot in which an address is looked for at the `step`th.
    fn slot(&self, address: u64, step: usize) -> &AtomicU32 {
        let hash = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44) as usize;
        // SAFETY: below SLOTS; called where there is a table.
        unsafe { &*self.slots.add((hash + step) % SLOTS) }
    }

    /// Makes every boundary of a site findable. False when there is no room, which only a library that was loaded at
    /// thousands of addresses can bring about.
    pub fn insert(&self, id: u32, address: u64, boundaries: u32) -> bool {
        (0..JUMP_BYTES as u64)
            .filter(|offset| boundaries >> offset & 1 == 1)
            .all(|offset| {
                let key = id << 3 | offset as u32 | 1 << 31;
                (0..STEPS_MAX).any(|step| {
                    let entry = self.slot(address + offset, step);
                    let present = entry.load(Relaxed);
                    if present == 0 {
                        entry.store(key, Release);
                    }
                    present == 0 || present == key
                })
            })
    }

    /// The probe with a boundary at `address`, if there is one; `site` is where a probe's site now lies.
    pub fn find(&self, address: u64, site: impl Fn(u32) -> u64) -> Option<u32> {
        if self.slots.is_null() {
            return None;
        }
        for step in 0..STEPS_MAX {
            let present = self.slot(address, step).load(Acquire);
            if present == 0 {
                return None;
            }
            let id = (present & 0x7fff_ffff) >> 3;
            if site(id) + (present & 7) as u64 == address {
                return Some(id);
            }
        }
        None
    }
}
