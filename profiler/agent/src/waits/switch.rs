//! Whether waits are recorded, and the table by which releasers learn whether anybody waits.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering::*};

use evenkeel_wire::waiters::{POLLERS, slot_of};
use evenkeel_wire::{Mode, Waiters};

use crate::arena::{self, Arena};

/// The arena's table; null while waits are off.
pub static TABLE: AtomicPtr<Waiters> = AtomicPtr::new(ptr::null_mut());

/// The table of waiters of all processes.
#[derive(Clone, Copy)]
pub struct Table(*const Waiters);

/// The table, while waits are on.
#[inline(always)]
pub fn table() -> Option<Table> {
    let table = TABLE.load(Relaxed);
    (!table.is_null()).then_some(Table(table))
}

impl Table {
    /// The slot of an object, by what [`slot_of`] takes.
    #[inline(always)]
    pub fn slot(self, identity: u64) -> &'static Waiters {
        // SAFETY: `slot_of` stays inside the table, which stays mapped.
        unsafe { &*self.0.add(slot_of(identity)) }
    }

    /// The slot of those who wait for one of several descriptors.
    #[inline(always)]
    pub fn pollers(self) -> &'static Waiters {
        // SAFETY: inside the table.
        unsafe { &*self.0.add(POLLERS) }
    }
}

/// Switches waits on if the session wants them. [`super::follow`] prepares what they need.
pub fn follow(arena: Arena) {
    if arena.control().waits.load(Relaxed) != 0 {
        TABLE.store(arena.waiters().cast_mut(), Release);
    }
}

/// Switches waits off for good. Waits that were announced are still retired.
pub fn off() {
    TABLE.store(ptr::null_mut(), Release);
}

/// The table, unless nothing is written at present: system calls then need not be looked at.
pub fn table_for_writing() -> Option<Table> {
    let table = table()?;
    let mode = arena::get().control().mode.load(Relaxed);
    let silent = mode == Mode::Idle as u32 || mode == Mode::Count as u32;
    (!silent).then_some(table)
}

/// Whether calls outside of intervals are recorded.
pub fn recording() -> bool {
    table().is_some() && arena::get().control().mode.load(Relaxed) == Mode::Record as u32
}
