//! Keys: numbers that are equal where the objects are.

use core::sync::atomic::{AtomicI32, AtomicU64, Ordering::*};

use evenkeel_patch::kernel;
use evenkeel_wire::now_ticks;
use evenkeel_wire::waits::SHARED_ID;
use evenkeel_wire::{ObjectKind, Waiters};

use super::memory;
use super::mix::mix;
use super::switch::Table;

/// Distinguishes this process from all others that the session ever saw.
static SALT: AtomicU64 = AtomicU64::new(0);

/// The process of the salt.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// This process is a new one: at the start, and in the child of a `fork`.
pub fn renew_salt() {
    PROCESS.store(kernel::process_id(), Relaxed);
    SALT.store(mix(kernel::process_id() as u64, now_ticks()), Relaxed);
}

/// An object that is waited for.
#[derive(Clone, Copy)]
pub struct Object {
    /// The kind of object.
    pub kind: ObjectKind,
    identity: Identity,
}

/// Identity of an object.
#[derive(Clone, Copy)]
enum Identity {
    /// An address in memory of this process alone.
    Private(u64),
    /// An address that may lie in memory shared with other processes, which may have it at other addresses.
    Shared(u64),
    /// A key.
    Key(u64),
}

impl Object {
    /// An object in memory, which says itself whether it is shared.
    #[inline(always)]
    pub fn at<T>(kind: ObjectKind, address: *const T, shared: bool) -> Object {
        let address = address as u64;
        Object {
            kind,
            identity: if shared {
                Identity::Shared(address)
            } else {
                Identity::Private(address)
            },
        }
    }

    /// An object with a key.
    pub fn of(kind: ObjectKind, key: u64) -> Object {
        Object {
            kind,
            identity: Identity::Key(key),
        }
    }

    /// Where its waiters count themselves. Of shared memory, pages may lie anywhere, but what is in them does not move.
    #[inline(always)]
    pub fn slot(self, table: Table) -> &'static Waiters {
        table.slot(match self.identity {
            Identity::Private(address) => address ^ SALT.load(Relaxed),
            Identity::Shared(address) => address & 4095,
            Identity::Key(key) => key,
        })
    }

    /// Its key.
    pub fn key(self) -> u64 {
        match self.identity {
            Identity::Private(address) => local(address),
            Identity::Shared(address) => memory::key(address).unwrap_or_else(|| local(address)),
            Identity::Key(key) => key,
        }
    }
}

/// The key of something that only this process knows by this number.
pub fn local(number: u64) -> u64 {
    mix(SALT.load(Relaxed), number)
}

/// The key of what the user calls by this number; 0 for none.
pub fn named_by_user(id: u64) -> u64 {
    match id {
        0 => 0,
        shared if shared & SHARED_ID != 0 => mix(SHARED_ID, shared),
        own => local(own),
    }
}

/// The key of signals to this process.
pub fn signal_key() -> u64 {
    signal_key_of(kernel::process_id())
}

/// The key of signals to a process.
pub fn signal_key_of(process: i32) -> u64 {
    mix(ObjectKind::Signal as u64, process as u64)
}

/// Whether the calling process is that of its memory: the child of a `vfork` is not.
pub fn is_own_process() -> bool {
    PROCESS.load(Relaxed) == kernel::process_id()
}

/// The key of a process' end.
pub fn child_key(process: i32) -> u64 {
    mix(ObjectKind::Child as u64, process as u64)
}
