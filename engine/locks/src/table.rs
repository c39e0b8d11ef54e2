//! The sharded table of locked objects.
//!
//! An object is in the table only while somebody holds or waits for a lock on it. While nobody waits, its entry is the
//! granted set, and only its shard is locked to change it. As soon as somebody has to wait, the grants move into the
//! wait-for graph and the entry points there, until nobody waits any more.

use std::hash::{BuildHasher, Hash};

use hashbrown::hash_table::{Entry as Slot, HashTable};

use crate::granted::GrantedSet;
use crate::graph::QueueIndex;
use crate::modes::Mode;
use crate::owner::Owner;
use crate::sync::{Mutex, MutexGuard};

/// Objects a shard keeps memory for, locked or not.
const SPARE_OBJECTS_MAX: usize = 64;
/// A shard shrinks when less than this part of its room is used, so that growing again is paid for by many locks.
const SHRINK_BELOW: usize = 8;

/// One locked object.
pub(crate) struct Object<K> {
    key: K,
    hash: u64,
    pub(crate) locks: Locks,
}

/// Where the locks of an object are.
pub(crate) enum Locks {
    /// Nobody waits.
    Free(GrantedSet<Owner>),
    /// Somebody waits, or did a moment ago.
    Contended(QueueIndex),
}

/// A request for one object.
pub(crate) struct Request<'k, K> {
    pub(crate) key: &'k K,
    pub(crate) hash: u64,
    /// The mode that the transaction holds there.
    pub(crate) held: Option<Mode>,
    /// The mode that it will hold.
    pub(crate) target: Mode,
}

/// Result of the table's fast path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quick {
    /// The lock is granted, or released.
    Done,
    /// A granted lock is in the way.
    Conflict,
    /// The object is in the wait-for graph.
    Contended,
}

/// One part of the table; aligned so that two shards never share a cache line (pairs are prefetched).
#[repr(align(128))]
struct Shard<K> {
    objects: Mutex<Objects<K>>,
}

/// The objects of one shard.
pub(crate) struct Objects<K> {
    table: HashTable<Object<K>>,
    grants: u64,
}

/// All locked objects.
pub(crate) struct Table<K> {
    shards: Box<[Shard<K>]>,
    hasher: foldhash::fast::FixedState,
}

impl<K: Hash + Eq + Clone> Table<K> {
    /// A table of `shards` shards, rounded up to a power of two.
    pub(crate) fn new(shards: usize) -> Table<K> {
        let shard = || Shard {
            objects: Mutex::new(Objects {
                table: HashTable::new(),
                grants: 0,
            }),
        };
        Table {
            shards: std::iter::repeat_with(shard)
                .take(shards.max(1).next_power_of_two())
                .collect(),
            hasher: foldhash::fast::FixedState::default(),
        }
    }

    pub(crate) fn hash(&self, key: &K) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Locks the shard of `hash`. The bits next to those the hash table itself uses choose it.
    pub(crate) fn shard(&self, hash: u64) -> MutexGuard<'_, Objects<K>> {
        let at = (hash >> 40) as usize & (self.shards.len() - 1);
        self.shards[at].objects.lock()
    }

    /// Locks granted without touching the wait-for graph.
    pub(crate) fn grants(&self) -> u64 {
        self.shards
            .iter()
            .map(|shard| shard.objects.lock().grants)
            .sum()
    }

    /// Objects locked now.
    pub(crate) fn len(&self) -> usize {
        self.shards
            .iter()
            .map(|shard| shard.objects.lock().table.len())
            .sum()
    }
}

impl<K: Eq + Clone> Objects<K> {
    /// Grants the request of `owner` if nobody is in the way.
    pub(crate) fn grant(&mut self, request: &Request<'_, K>, owner: &Owner) -> Quick {
        let Request { hash, target, .. } = *request;
        match self.table.entry(
            hash,
            |object| object.key == *request.key,
            |object| object.hash,
        ) {
            Slot::Vacant(slot) => {
                slot.insert(Object {
                    key: request.key.clone(),
                    hash,
                    locks: Locks::Free(GrantedSet::sole(owner.clone(), target)),
                });
            }
            Slot::Occupied(mut slot) => match &mut slot.get_mut().locks {
                Locks::Contended(_) => return Quick::Contended,
                Locks::Free(granted) => match request.held {
                    None if granted.admits(target) => granted.insert(owner.clone(), target),
                    Some(held) if granted.admits_upgrade(held, target) => {
                        granted.upgrade(owner, target)
                    }
                    _ => return Quick::Conflict,
                },
            },
        }
        self.grants += 1;
        Quick::Done
    }

    /// Takes the lock of `owner` back if nobody waits for the object.
    pub(crate) fn release(&mut self, key: &K, hash: u64, owner: &Owner) -> Quick {
        let Ok(mut slot) = self.table.find_entry(hash, |object| object.key == *key) else {
            return Quick::Done;
        };
        let Locks::Free(granted) = &mut slot.get_mut().locks else {
            return Quick::Contended;
        };
        if granted.is_solely_of(owner) {
            slot.remove();
            self.shrink();
        } else {
            granted.remove(owner);
        }
        Quick::Done
    }

    /// Gives the memory of a burst of locks back once most of them are gone.
    fn shrink(&mut self) {
        let (locked, room) = (self.table.len(), self.table.capacity());
        if room > SPARE_OBJECTS_MAX && locked * SHRINK_BELOW < room {
            self.table.shrink_to(2 * locked, |object| object.hash);
        }
    }

    /// The locks of an object that is in the table.
    pub(crate) fn locks_mut(&mut self, key: &K, hash: u64) -> Option<&mut Locks> {
        self.table
            .find_mut(hash, |object| object.key == *key)
            .map(|object| &mut object.locks)
    }

    /// Puts the grants of an object nobody waits for any more back.
    pub(crate) fn free(&mut self, key: &K, hash: u64, granted: GrantedSet<Owner>) {
        let slot = self.table.find_entry(hash, |object| object.key == *key);
        let mut slot = slot.ok().expect("a contended object is in the table");
        if granted.is_empty() {
            slot.remove();
            self.shrink();
        } else {
            slot.get_mut().locks = Locks::Free(granted);
        }
    }
}
