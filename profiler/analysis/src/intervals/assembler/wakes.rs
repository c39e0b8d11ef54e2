//! Releases with their threads and times: who woke a thread, or created it (*woken-by*, *created-by*).

use std::cell::RefCell;

use evenkeel_wire::{Object, ObjectKind};
use rustc_hash::FxHashMap;

/// Releases kept, at most; beyond that the oldest go and are counted.
pub(crate) const RELEASES_MAX: usize = 1 << 20;
/// Releases looked at for one wait, at most.
const LOOKED_AT_MAX: usize = 64;

/// A wake or an enqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// When, ticks.
    pub time: u64,
    /// By which thread.
    pub thread: u64,
    /// Number of the mark in the thread's timeline.
    pub mark: u64,
    /// The released object's kind.
    pub kind: ObjectKind,
}

/// Releases of one key. They arrive thread by thread, so they are put in order of time when first asked for.
#[derive(Debug, Default)]
struct Releases {
    list: Vec<Release>,
    sorted: bool,
}

/// Releases by key.
#[derive(Debug, Default)]
pub struct ReleaseIndex {
    by_key: FxHashMap<u64, RefCell<Releases>>,
    len: usize,
    /// Length at which to look for what may be forgotten.
    prune_at: usize,
}

impl ReleaseIndex {
    /// Adds a release.
    pub fn add(&mut self, key: u64, release: Release) {
        let releases = self.by_key.entry(key).or_default().get_mut();
        releases.sorted &= releases
            .list
            .last()
            .is_none_or(|last| last.time <= release.time);
        releases.sorted |= releases.list.is_empty();
        releases.list.push(release);
        self.len += 1;
    }

    /// The last release of `object` by another thread than `thread`, not before `from` and not after `to`, both in
    /// ticks.
    pub fn last(&self, object: Object, thread: u64, from: u64, to: u64) -> Option<Release> {
        let mut releases = self.by_key.get(&object.key)?.borrow_mut();
        if !releases.sorted {
            // Each thread's are in order already: this merges runs. Stable, so that replay gives the same.
            releases.list.sort_by_key(|release| release.time);
            releases.sorted = true;
        }
        let end = releases.list.partition_point(|release| release.time <= to);
        let possible = releases.list[..end].iter().rev().take(LOOKED_AT_MAX);
        let mut possible = possible.take_while(|release| release.time >= from);
        possible
            .find(|release| release.thread != thread && object.kind.woken_by(release.kind))
            .copied()
    }

    /// The last release of `object` by anybody, not after `to`.
    pub(crate) fn last_of_any(&self, object: Object, to: u64) -> Option<Release> {
        // No thread has this key.
        self.last(object, u64::MAX, 0, to)
    }

    /// Forgets releases before `horizon`, now and then. Returns how many had to go although they were later.
    pub(crate) fn forget_before(&mut self, horizon: u64) -> u64 {
        if self.len <= self.prune_at {
            return 0;
        }
        self.retain(|release| release.time >= horizon);
        let mut lost = 0;
        while self.len > RELEASES_MAX {
            let before = self.len;
            // Half of each key's: the newest of every object stay.
            for releases in self.by_key.values_mut() {
                let list = &mut releases.get_mut().list;
                list.drain(..list.len().div_ceil(2));
            }
            self.retain(|_| true);
            lost += (before - self.len) as u64;
        }
        self.prune_at = (2 * self.len).clamp(1 << 12, RELEASES_MAX);
        lost
    }

    fn retain(&mut self, keep: impl Fn(&Release) -> bool) {
        self.len = 0;
        self.by_key.retain(|_, releases| {
            let list = &mut releases.get_mut().list;
            list.retain(&keep);
            self.len += list.len();
            !list.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(time: u64, thread: u64, kind: ObjectKind) -> Release {
        Release {
            time,
            thread,
            mark: 0,
            kind,
        }
    }

    #[test]
    fn the_last_matching_release_of_another_thread() {
        let mut index = ReleaseIndex::default();
        // Thread 2's are read first, thread 1's second.
        for (time, thread) in [(20, 2), (40, 2), (10, 1), (30, 1), (50, 1)] {
            index.add(7, release(time, thread, ObjectKind::Mutex));
        }
        let mutex = Object {
            key: 7,
            kind: ObjectKind::Mutex,
        };
        let time = |thread, from, to| index.last(mutex, thread, from, to).map(|r| r.time);
        assert_eq!(time(3, 0, 45), Some(40));
        assert_eq!(time(2, 0, 45), Some(30), "not its own");
        assert_eq!(time(2, 31, 45), None, "the wait began later");
        assert_eq!(time(3, 0, 5), None);
        let other = Object {
            key: 7,
            kind: ObjectKind::Semaphore,
        };
        assert_eq!(index.last(other, 3, 0, 99), None, "of another kind");
    }

    #[test]
    fn bounded() {
        let mut index = ReleaseIndex::default();
        let many = RELEASES_MAX as u64 + 1000;
        (0..many).for_each(|at| index.add(at % 1000, release(at, 1, ObjectKind::Mutex)));
        let lost = index.forget_before(0);
        assert!(lost > 0 && index.len <= RELEASES_MAX);
        assert_eq!(index.len as u64 + lost, many);
        (0..5000).for_each(|at| index.add(at, release(at, 1, ObjectKind::Mutex)));
        index.prune_at = 0;
        assert_eq!(index.forget_before(u64::MAX), 0);
        assert_eq!((index.len, index.by_key.len()), (0, 0));
    }
}
