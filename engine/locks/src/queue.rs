//! The granted set and the wait queue of one object.
//!
//! Pure and single-threaded: the lock manager and the simulator run this code. Whether a request can be granted is
//! decided against the *granted set*, never by its place in the queue. So re-ordering a queue cannot produce two
//! conflicting grants (MariaDB MDEV-16664).
//!
//! # Rules for grants
//! * A *newcomer* is granted at once if it is compatible with everything granted and conflicts with no waiter: the
//!   papers' `A_req` (dissertation section 4.2.3).
//! * An *upgrader* (a holder that waits for a stronger mode) is granted as soon as no other holder conflicts with its
//!   target, before any newcomer.
//! * A waiter is *blocked* if a granted lock conflicts with its mode. It is *eligible* if it is not blocked and
//!   conflicts with no waiter that is. With `S` and `X` alone this is line 1 of the papers' algorithms 5 to 7: while
//!   a reader holds and a writer waits, no waiter is eligible. Once the object is free, all are. With intention modes
//!   an `IX` request need not wait for an `IS` holder that conflicts with nothing.
//! * Among eligible waiters that conflict, the schedule chooses.
//!
//! # Holders that a waiter waits for
//! A waiter waits for exactly the holders whose release it needs to become eligible: those that conflict with it, and
//! those that conflict with a conflicting waiter. These depend on modes only, so they are one [`ModeSet`] a mode
//! ([`Queue::blocking_modes`]). They are the edges of the wait-for graph: every holder of a shared lock counts, not
//! one representative.

use std::collections::VecDeque;

use smallvec::SmallVec;

use crate::granted::GrantedSet;
use crate::meta::TxnIndex;
use crate::modes::{MODES, Mode, ModeCounts, ModeSet};

/// One waiting request.
#[derive(Clone, Debug)]
pub struct Waiter {
    /// The waiting transaction.
    pub txn: TxnIndex,
    /// The mode it will hold once granted; of an upgrader the supremum of what it holds and what it asked for.
    pub mode: Mode,
    /// Place in the order of arrival at this queue; unique and increasing.
    pub arrival: u64,
    /// When the transaction was born; its age is the time since.
    pub birth_ns: u64,
    /// When the request began to wait.
    pub since_ns: u64,
    /// Number of decisions that granted a later arrival before this request (see [`crate::starvation`]).
    pub overtaken: u32,
}

/// The granted set and everything that waits for one object.
#[derive(Clone, Debug)]
pub struct Queue {
    /// The granted locks.
    pub granted: GrantedSet<TxnIndex>,
    waiting: VecDeque<Waiter>,
    upgrading: Vec<Waiter>,
    waiting_counts: ModeCounts,
    next_arrival: u64,
    /// Requests that arrived before this one may be scheduled (dissertation section 4.5, "Starvation Avoidance").
    barrier: u64,
    /// The [`Queue::blocking_modes`] under which incremental dependency-set sizes were last brought up to date.
    pub(crate) accounted: [ModeSet; Mode::COUNT],
}

/// Waiters whose memory an object that is not contended any more keeps, for the next one to use.
const SPARE_WAITERS_MAX: usize = 16;

impl Default for Queue {
    fn default() -> Self {
        Queue::new()
    }
}

impl Queue {
    /// An object nobody holds or waits for.
    pub fn new() -> Queue {
        Queue {
            granted: GrantedSet::default(),
            waiting: VecDeque::new(),
            upgrading: Vec::new(),
            waiting_counts: ModeCounts::default(),
            next_arrival: 0,
            barrier: 0,
            accounted: MODES.map(Mode::conflicts),
        }
    }

    /// Resets the object for reuse.
    pub(crate) fn reset(&mut self) {
        self.waiting.shrink_to(SPARE_WAITERS_MAX);
        (self.next_arrival, self.barrier, self.accounted) = (0, 0, MODES.map(Mode::conflicts));
    }

    /// Waiters that hold no lock here yet, in order of arrival.
    pub fn waiting(&self) -> &VecDeque<Waiter> {
        &self.waiting
    }

    /// Holders that wait for a stronger mode, in order of arrival.
    pub fn upgrading(&self) -> &[Waiter] {
        &self.upgrading
    }

    /// Number of requests that wait, upgraders included.
    pub fn waiter_count(&self) -> usize {
        self.waiting.len() + self.upgrading.len()
    }

    /// Whether a request of `mode` by a transaction that holds nothing here is granted without waiting.
    pub fn admits_newcomer(&self, mode: Mode) -> bool {
        self.granted.admits(mode)
            && mode
                .conflicts()
                .intersection(self.waiting_counts.present())
                .is_empty()
            && self
                .upgrading
                .iter()
                .all(|upgrader| upgrader.mode.compatible(mode))
    }

    /// Adds a waiter; `upgrade` if it already holds a lock here. Returns its place in the order of arrival.
    pub fn enqueue(
        &mut self,
        txn: TxnIndex,
        mode: Mode,
        upgrade: bool,
        birth_ns: u64,
        now_ns: u64,
    ) -> u64 {
        let arrival = self.next_arrival;
        self.next_arrival += 1;
        let waiter = Waiter {
            txn,
            mode,
            arrival,
            birth_ns,
            since_ns: now_ns,
            overtaken: 0,
        };
        if upgrade {
            self.upgrading.push(waiter);
        } else {
            self.waiting_counts.add(mode);
            self.waiting.push_back(waiter);
        }
        arrival
    }

    /// Takes the waiter of `txn` out, granted or not.
    pub fn dequeue(&mut self, txn: TxnIndex) -> Option<Waiter> {
        if let Some(at) = self.waiting.iter().position(|waiter| waiter.txn == txn) {
            let waiter = self.waiting.remove(at)?;
            self.waiting_counts.remove(waiter.mode);
            return Some(waiter);
        }
        let at = self.upgrading.iter().position(|waiter| waiter.txn == txn)?;
        Some(self.upgrading.remove(at))
    }

    /// Takes the waiters at `places` of [`Queue::waiting`] out, in one pass.
    pub(crate) fn dequeue_places(&mut self, places: &[usize]) -> SmallVec<[Waiter; 4]> {
        let taken: SmallVec<[Waiter; 4]> = places
            .iter()
            .map(|&place| self.waiting[place].clone())
            .collect();
        if let &[place] = places {
            self.waiting.remove(place);
        } else {
            let mut leaves = vec![false; self.waiting.len()];
            for &place in places {
                leaves[place] = true;
            }
            let mut leaves = leaves.into_iter();
            self.waiting.retain(|_| leaves.next() == Some(false));
        }
        for waiter in &taken {
            self.waiting_counts.remove(waiter.mode);
        }
        taken
    }

    /// The first upgrader in order of arrival that can be granted now.
    pub fn ready_upgrader(&self) -> Option<TxnIndex> {
        let ready = |waiter: &&Waiter| {
            let held = self
                .granted
                .mode_of(&waiter.txn)
                .expect("an upgrader holds a lock");
            self.granted.admits_upgrade(held, waiter.mode)
        };
        self.upgrading.iter().find(ready).map(|waiter| waiter.txn)
    }

    /// The modes whose waiters are eligible (see the module's introduction). Upgraders that are ready must have been
    /// granted before.
    pub fn eligible_modes(&self) -> ModeSet {
        let present = self.waiting_counts.present();
        let mut claimed = ModeSet::EMPTY;
        for mode in present.iter().filter(|&mode| !self.granted.admits(mode)) {
            claimed = claimed.union(mode.conflicts());
        }
        for upgrader in &self.upgrading {
            claimed = claimed.union(upgrader.mode.conflicts());
        }
        let mut eligible = ModeSet::EMPTY;
        for mode in present
            .iter()
            .filter(|&mode| self.granted.admits(mode) && !claimed.contains(mode))
        {
            eligible = eligible.with(mode);
        }
        eligible
    }

    /// For each mode, the granted modes a waiter of that mode waits for.
    pub fn blocking_modes(&self) -> [ModeSet; Mode::COUNT] {
        let mut claims = self.waiting_counts.present();
        for upgrader in &self.upgrading {
            claims = claims.with(upgrader.mode);
        }
        MODES.map(|mode| {
            let opposing = mode.conflicts().intersection(claims);
            opposing.iter().fold(mode.conflicts(), |blocking, other| {
                blocking.union(other.conflicts())
            })
        })
    }

    /// The request of `txn`, if it waits here, and whether it is an upgrade.
    pub fn request_of(&self, txn: TxnIndex) -> Option<(&Waiter, bool)> {
        if let Some(waiter) = self.upgrading.iter().find(|waiter| waiter.txn == txn) {
            return Some((waiter, true));
        }
        // From the back, because the newest waiter is looked up several times.
        let mut from_the_back = self.waiting.iter().rev();
        from_the_back
            .find(|waiter| waiter.txn == txn)
            .map(|waiter| (waiter, false))
    }

    /// Modes of the waiters that hold nothing here.
    pub fn waiting_modes(&self) -> ModeSet {
        self.waiting_counts.present()
    }

    /// The barrier: arrivals below it are ahead of it.
    pub fn barrier(&self) -> u64 {
        self.barrier
    }

    /// Moves the barrier to the end of the queue if no waiter is left ahead of it.
    pub fn renew_barrier(&mut self) {
        // The queue is in order of arrival, so its head has waited longest.
        if self
            .waiting
            .front()
            .is_none_or(|head| head.arrival >= self.barrier)
        {
            self.barrier = self.next_arrival;
        }
    }

    /// Begins to count overtaking anew.
    pub(crate) fn forget_overtaking(&mut self) {
        for waiter in &mut self.waiting {
            waiter.overtaken = 0;
        }
    }

    /// Notes a decision, given the latest arrival it granted of each mode. It overtook waiters that arrived before a
    /// grant of a conflicting mode or of their own mode. A grant that is neither delays nobody.
    pub(crate) fn note_overtaking(&mut self, latest: [Option<u64>; Mode::COUNT]) {
        for waiter in &mut self.waiting {
            let rivals = waiter.mode.conflicts().with(waiter.mode);
            let overtaken = rivals
                .iter()
                .any(|mode| latest[mode as usize] > Some(waiter.arrival));
            waiter.overtaken += u32::from(overtaken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn txn(index: u32) -> TxnIndex {
        TxnIndex(index)
    }

    #[test]
    fn an_upgrade_does_not_conflict_with_its_own_lock() {
        // RocksDB #13575: S held once, upgraded to X by its only holder.
        let mut granted = GrantedSet::default();
        granted.insert(txn(1), Mode::S);
        assert!(!granted.admits(Mode::X));
        assert!(granted.admits_upgrade(Mode::S, Mode::X));
        granted.insert(txn(2), Mode::S);
        assert!(!granted.admits_upgrade(Mode::S, Mode::X));
    }

    #[test]
    fn readers_behind_a_waiting_writer_wait_for_every_reader() {
        let mut queue = Queue::default();
        queue.granted.insert(txn(1), Mode::S);
        queue.enqueue(txn(2), Mode::X, false, 0, 0);
        assert!(!queue.admits_newcomer(Mode::S));
        queue.enqueue(txn(3), Mode::S, false, 0, 0);
        assert!(queue.eligible_modes().is_empty());
        assert!(queue.blocking_modes()[Mode::S as usize].contains(Mode::S));
        // Without the writer the reader is held back by nobody.
        queue.dequeue(txn(2));
        assert!(queue.eligible_modes().contains(Mode::S));
        assert!(!queue.blocking_modes()[Mode::S as usize].contains(Mode::S));
    }

    #[test]
    fn an_intention_is_not_held_back_by_a_holder_nobody_objects_to() {
        let mut queue = Queue::default();
        queue.granted.insert(txn(1), Mode::IS);
        queue.granted.insert(txn(2), Mode::S);
        queue.enqueue(txn(3), Mode::IX, false, 0, 0);
        assert!(queue.eligible_modes().is_empty());
        queue.granted.remove(&txn(2));
        assert_eq!(queue.eligible_modes(), ModeSet::of(&[Mode::IX]));
    }

    #[test]
    fn on_a_free_object_everybody_is_eligible() {
        let mut queue = Queue::default();
        for (at, mode) in MODES.into_iter().enumerate() {
            queue.enqueue(txn(at as u32), mode, false, 0, 0);
        }
        assert_eq!(queue.eligible_modes(), ModeSet::of(&MODES));
    }
}
