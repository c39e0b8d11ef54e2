//! When the list is changed: at once (LRU) or when its lock is to be had (Lazy LRU Update, dissertation section
//! 3.4.1).
//!
//! One deviation from the section. If one thread holds the lock for the whole 0.01 ms of another's attempts, the
//! holder has no processor: a move takes well under a microsecond. Until the lock changes hands all others try only
//! once. Where threads outnumber processors they would else burn the processor that the holder waits for.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::hint;
use std::sync::atomic::AtomicU64 as IdSource;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::frame::Frame;
use crate::id::PageId;
use crate::lru::{LruList, OLD, Parts};
use crate::settings::Replacement;
use crate::sync::{AtomicU8, AtomicU64, Mutex, MutexGuard, thread_local};

/// Most moves in a backlog; the oldest is dropped for a further one.
const BACKLOG_MAX: usize = 128;

/// A move that was put off.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Deferred {
    frame: u32,
    page: PageId,
}

/// No hold of the list's lock has this number.
const NO_HOLD: u64 = u64::MAX;

/// Moves that a thread has put off, by pool.
type Backlogs = Vec<(u64, VecDeque<Deferred>)>;

thread_local! {
    #[allow(clippy::missing_const_for_thread_local, reason = "shuttle's macro knows no const")]
    static BACKLOGS: RefCell<Backlogs> = RefCell::new(Vec::new());
}

/// The list, and the policy over it.
pub(crate) struct Replacer {
    /// Tells this pool's backlogs from those of others.
    id: u64,
    list: Mutex<LruList>,
    /// Number of times that the list's lock was taken, which numbers the hold in progress.
    holds: AtomicU64,
    /// The hold during which somebody tried in vain from its beginning to its end.
    stalled: AtomicU64,
    parts: Parts,
    policy: AtomicU8,
    lazy_wait_ns: AtomicU64,
    pub(crate) promoted: AtomicU64,
    pub(crate) deferred: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) promotion_wait_ns: AtomicU64,
    pub(crate) replacement_wait_ns: AtomicU64,
}

impl Replacer {
    pub(crate) fn new(frames: usize, policy: Replacement, lazy_wait: Duration) -> Replacer {
        static NEXT: IdSource = IdSource::new(0);
        let list = LruList::new(frames);
        let replacer = Replacer {
            id: NEXT.fetch_add(1, Relaxed),
            parts: list.parts(),
            list: Mutex::new(list),
            holds: AtomicU64::new(0),
            stalled: AtomicU64::new(NO_HOLD),
            policy: AtomicU8::new(0),
            lazy_wait_ns: AtomicU64::new(0),
            promoted: AtomicU64::new(0),
            deferred: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            promotion_wait_ns: AtomicU64::new(0),
            replacement_wait_ns: AtomicU64::new(0),
        };
        replacer.set_policy(policy);
        replacer.set_lazy_wait(lazy_wait);
        replacer
    }

    pub(crate) fn set_policy(&self, policy: Replacement) {
        self.policy
            .store(u8::from(policy == Replacement::LazyLru), Relaxed);
    }

    pub(crate) fn set_lazy_wait(&self, wait: Duration) {
        self.lazy_wait_ns.store(wait.as_nanos() as u64, Relaxed);
    }

    /// The list, for replacing pages.
    pub(crate) fn lock(&self) -> MutexGuard<'_, LruList> {
        self.lock_timed(&self.replacement_wait_ns)
    }

    /// The page in a pinned frame was used: makes it young if it is old.
    pub(crate) fn used(&self, frames: &[Frame], frame: u32, page: PageId) {
        if self.parts[frame as usize].load(Relaxed) != OLD {
            return;
        }
        if self.policy.load(Relaxed) == 0 {
            let mut list = self.lock_timed(&self.promotion_wait_ns);
            self.promote_if_old(&mut list, frame);
            return;
        }
        let deferred = Deferred { frame, page };
        match self.lock_briefly() {
            None => self.put_off(deferred),
            Some(mut list) => {
                for earlier in self.take_backlog() {
                    let there = frames[earlier.frame as usize].holds(earlier.page);
                    if !there || !self.promote_if_old(&mut list, earlier.frame) {
                        self.dropped.fetch_add(1, Relaxed);
                    }
                }
                self.promote_if_old(&mut list, frame);
            }
        }
    }

    /// Another thread may have made it young, or taken it out, in the meantime.
    fn promote_if_old(&self, list: &mut LruList, frame: u32) -> bool {
        let old = self.parts[frame as usize].load(Relaxed) == OLD;
        if old {
            list.promote(frame);
            self.promoted.fetch_add(1, Relaxed);
        }
        old
    }

    /// The list's lock, if it can be had within the time for which the policy tries.
    fn lock_briefly(&self) -> Option<MutexGuard<'_, LruList>> {
        if let Some(list) = self.try_lock() {
            return Some(list);
        }
        let hold = self.holds.load(Relaxed);
        if self.stalled.load(Relaxed) == hold {
            return None;
        }
        let limit_ns = self.lazy_wait_ns.load(Relaxed);
        let begun = Instant::now();
        let list = loop {
            // Some tries for each look at the clock, which costs as much as several.
            let tried = (0..8).find_map(|_| {
                hint::spin_loop();
                self.try_lock()
            });
            if tried.is_some() || begun.elapsed().as_nanos() as u64 >= limit_ns {
                break tried;
            }
        };
        if list.is_none() && self.holds.load(Relaxed) == hold {
            self.stalled.store(hold, Relaxed);
        }
        self.promotion_wait_ns
            .fetch_add(begun.elapsed().as_nanos() as u64, Relaxed);
        list
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, LruList>> {
        self.list.try_lock().inspect(|_| self.note_hold())
    }

    fn lock_timed(&self, wait_ns: &AtomicU64) -> MutexGuard<'_, LruList> {
        if let Some(list) = self.try_lock() {
            return list;
        }
        let begun = Instant::now();
        let list = self.list.lock();
        self.note_hold();
        wait_ns.fetch_add(begun.elapsed().as_nanos() as u64, Relaxed);
        list
    }

    /// The lock has just been taken, so nobody else is here.
    fn note_hold(&self) {
        self.holds
            .store(self.holds.load(Relaxed).wrapping_add(1), Relaxed);
    }

    fn put_off(&self, deferred: Deferred) {
        self.deferred.fetch_add(1, Relaxed);
        BACKLOGS.with(|backlogs| {
            let mut backlogs = backlogs.borrow_mut();
            let known = backlogs.iter().position(|(id, _)| *id == self.id);
            let known = known.unwrap_or_else(|| {
                backlogs.push((self.id, VecDeque::new()));
                backlogs.len() - 1
            });
            let backlog = &mut backlogs[known].1;
            if backlog.contains(&deferred) {
                self.dropped.fetch_add(1, Relaxed);
                return;
            }
            if backlog.len() == BACKLOG_MAX {
                backlog.pop_front();
                self.dropped.fetch_add(1, Relaxed);
            }
            backlog.push_back(deferred);
        });
    }

    fn take_backlog(&self) -> VecDeque<Deferred> {
        BACKLOGS.with(|backlogs| {
            let mut backlogs = backlogs.borrow_mut();
            let known = backlogs.iter().position(|(id, _)| *id == self.id);
            known
                .map(|known| backlogs.swap_remove(known).1)
                .unwrap_or_default()
        })
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    fn resident(replacer: &Replacer, frames: &[Frame]) {
        for (index, frame) in frames.iter().enumerate() {
            frame.set_page(Some(PageId(index as u64)));
            replacer.lock().insert(index as u32);
        }
    }

    fn is_old(replacer: &Replacer, frame: u32) -> bool {
        replacer.parts[frame as usize].load(Relaxed) == OLD
    }

    /// While another thread holds the list, moves go to the backlog; the next success does them, but for a page that
    /// has been replaced in the meantime.
    #[test]
    fn deferred_moves_are_done_at_the_next_success_if_the_page_is_still_there() {
        let frames: Vec<Frame> = (0..32).map(|_| Frame::new()).collect();
        let replacer = Replacer::new(32, Replacement::LazyLru, Duration::from_micros(10));
        resident(&replacer, &frames);
        let old: Vec<u32> = (0..32).filter(|&frame| is_old(&replacer, frame)).collect();
        let use_page = |frame: u32| replacer.used(&frames, frame, PageId(u64::from(frame)));

        let held = replacer.lock();
        for &frame in &old[..3] {
            use_page(frame);
        }
        use_page(old[0]);
        drop(held);
        assert_eq!(replacer.deferred.load(Relaxed), 4);
        assert!(old[..3].iter().all(|&frame| is_old(&replacer, frame)));

        frames[old[1] as usize].set_page(Some(PageId(999)));
        use_page(old[3]);
        let young: Vec<bool> = old[..4]
            .iter()
            .map(|&frame| !is_old(&replacer, frame))
            .collect();
        assert_eq!(young, [true, false, true, true]);
        assert_eq!(
            replacer.dropped.load(Relaxed),
            2,
            "one twice on the backlog, one replaced"
        );
        assert_eq!(replacer.promoted.load(Relaxed), 3);
    }

    /// The time waited grows with each try but those that are given up at once.
    #[test]
    fn after_a_try_in_vain_nobody_tries_for_long_until_the_lock_changes_hands() {
        let frames: Vec<Frame> = (0..32).map(|_| Frame::new()).collect();
        let replacer = Replacer::new(32, Replacement::LazyLru, Duration::from_micros(10));
        resident(&replacer, &frames);
        let old: Vec<u32> = (0..32).filter(|&frame| is_old(&replacer, frame)).collect();
        let waited_ns_by_use_of = |frame: u32| {
            let before = replacer.promotion_wait_ns.load(Relaxed);
            replacer.used(&frames, frame, PageId(u64::from(frame)));
            replacer.promotion_wait_ns.load(Relaxed) - before
        };
        for _ in 0..2 {
            let held = replacer.lock();
            assert!(waited_ns_by_use_of(old[0]) >= 10_000);
            assert_eq!(waited_ns_by_use_of(old[1]), 0);
            assert_eq!(waited_ns_by_use_of(old[2]), 0);
            drop(held);
        }
        assert_eq!(replacer.deferred.load(Relaxed), 6);
    }

    #[test]
    fn a_full_backlog_drops_the_oldest() {
        let count = 2 * BACKLOG_MAX * 8 / 3;
        let frames: Vec<Frame> = (0..count).map(|_| Frame::new()).collect();
        let replacer = Replacer::new(count, Replacement::LazyLru, Duration::ZERO);
        resident(&replacer, &frames);
        let old: Vec<u32> = (0..count as u32)
            .filter(|&frame| is_old(&replacer, frame))
            .collect();
        let more = BACKLOG_MAX + 5;
        let held = replacer.lock();
        for &frame in &old[..more] {
            replacer.used(&frames, frame, PageId(u64::from(frame)));
        }
        drop(held);
        replacer.used(&frames, old[more], PageId(u64::from(old[more])));
        assert_eq!(replacer.dropped.load(Relaxed), 5);
        assert!(is_old(&replacer, old[0]) && !is_old(&replacer, old[5]));
    }

    #[test]
    fn lru_waits_for_the_list() {
        let frames: Vec<Frame> = (0..8).map(|_| Frame::new()).collect();
        let replacer = Replacer::new(8, Replacement::Lru, Duration::ZERO);
        resident(&replacer, &frames);
        let old = (0..8).find(|&frame| is_old(&replacer, frame)).unwrap();
        let held = replacer.lock();
        std::thread::scope(|threads| {
            let waiter = threads.spawn(|| replacer.used(&frames, old, PageId(u64::from(old))));
            std::thread::yield_now();
            assert!(is_old(&replacer, old));
            drop(held);
            waiter.join().unwrap();
        });
        assert!(!is_old(&replacer, old));
        assert_eq!(replacer.deferred.load(Relaxed), 0);
    }
}
