//! The locks one transaction holds.

use hashbrown::HashTable;

use crate::modes::Mode;

/// Up to this many locks are searched one by one; beyond, through an index.
const SEARCHED_MAX: usize = 12;

/// A lock held on `key`, whose hash is kept for the release.
pub(crate) struct HeldLock<K> {
    pub(crate) key: K,
    pub(crate) hash: u64,
    pub(crate) mode: Mode,
}

/// The locks of one transaction, by object.
pub(crate) struct HeldLocks<K> {
    locks: Vec<HeldLock<K>>,
    /// Places in `locks`; empty while there are few.
    index: HashTable<usize>,
}

impl<K: Eq> HeldLocks<K> {
    pub(crate) fn new() -> HeldLocks<K> {
        HeldLocks {
            locks: Vec::new(),
            index: HashTable::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.locks.len()
    }

    pub(crate) fn mode_of(&self, key: &K, hash: u64) -> Option<Mode> {
        self.place_of(key, hash).map(|place| self.locks[place].mode)
    }

    /// Notes that `mode` is held on `key`, instead of what was held there.
    pub(crate) fn set(&mut self, key: K, hash: u64, mode: Mode) {
        match self.place_of(&key, hash) {
            Some(place) => self.locks[place].mode = mode,
            None => self.push(key, hash, mode),
        }
    }

    /// Notes that `mode` is held on `key`, where nothing was held.
    pub(crate) fn push(&mut self, key: K, hash: u64, mode: Mode) {
        if self.locks.capacity() == 0 {
            // One allocation serves most transactions.
            self.locks.reserve_exact(SEARCHED_MAX);
        }
        self.locks.push(HeldLock { key, hash, mode });
        if !self.index.is_empty() {
            // Once there is one it has all of them, even if few are left.
            self.index_from(self.locks.len() - 1);
        } else if self.locks.len() > SEARCHED_MAX {
            self.index_from(0);
        }
    }

    /// Forgets the lock on `key`; whether there was one.
    pub(crate) fn remove(&mut self, key: &K, hash: u64) -> bool {
        let Some(place) = self.place_of(key, hash) else {
            return false;
        };
        let locks = &self.locks;
        if let Ok(entry) = self.index.find_entry(hash, |&at| at == place) {
            entry.remove();
        }
        let last = locks.len() - 1;
        if let Some(moved) = self.index.find_mut(locks[last].hash, |&at| at == last) {
            *moved = place;
        }
        self.locks.swap_remove(place);
        true
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, Mode)> {
        self.locks.iter().map(|lock| (&lock.key, lock.mode))
    }

    /// Takes every lock out.
    pub(crate) fn drain(&mut self) -> std::vec::Drain<'_, HeldLock<K>> {
        self.index.clear();
        self.locks.drain(..)
    }

    #[inline]
    fn place_of(&self, key: &K, hash: u64) -> Option<usize> {
        if self.index.is_empty() {
            return self
                .locks
                .iter()
                .position(|lock| lock.hash == hash && lock.key == *key);
        }
        self.index
            .find(hash, |&place| self.locks[place].key == *key)
            .copied()
    }

    fn index_from(&mut self, first: usize) {
        for place in first..self.locks.len() {
            self.index
                .insert_unique(self.locks[place].hash, place, |&at| self.locks[at].hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Releasing before the end leaves few locks and the index.
    #[test]
    fn locks_taken_after_most_were_released_are_found() {
        let mut held = HeldLocks::new();
        for key in 0..20u64 {
            held.push(key, key, Mode::S);
        }
        for key in 0..18 {
            assert!(held.remove(&key, key));
        }
        for key in 30..60 {
            held.push(key, key, Mode::X);
            assert_eq!(held.mode_of(&key, key), Some(Mode::X), "{key}");
        }
        assert_eq!(held.mode_of(&19, 19), Some(Mode::S));
        assert!(held.remove(&30, 30) && !held.remove(&30, 30));
        assert_eq!(held.len(), 31);
    }

    #[test]
    fn locks_are_found_with_and_without_the_index() {
        let mut held = HeldLocks::new();
        let hash = |key: u64| key % 7; // Collisions on purpose.
        for key in 0..40 {
            held.set(key, hash(key), Mode::S);
        }
        held.set(3, hash(3), Mode::X);
        for key in (0..40).step_by(2) {
            assert!(held.remove(&key, hash(key)));
            assert!(!held.remove(&key, hash(key)));
        }
        for key in 0..40 {
            let expected = (key % 2 == 1).then_some(if key == 3 { Mode::X } else { Mode::S });
            assert_eq!(held.mode_of(&key, hash(key)), expected, "{key}");
        }
        assert!(
            held.iter()
                .all(|(&key, mode)| held.mode_of(&key, hash(key)) == Some(mode))
        );
        assert_eq!(held.iter().count(), 20);
        assert_eq!(held.drain().count(), 20);
        assert_eq!(held.mode_of(&3, hash(3)), None);
    }
}
