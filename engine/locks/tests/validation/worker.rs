//! One thread's transactions: random requests, each outcome checked.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use evenkeel_locks::modes::MODES;
use evenkeel_locks::rng::Rng;
use evenkeel_locks::{DeadlockPolicy, LockError, Mode, Transaction, TxnOptions};

use crate::run::Run;
use crate::shadow::Violation;
use crate::tally::Tally;

/// Attempts at one transaction; a retry keeps its birth, so it gets older and in the end through, unless it is
/// cancelled or times out for ever.
const ATTEMPTS_MAX: u32 = 100;

/// How often others run before a wait is dropped, so that it may have been granted by then.
const DROP_YIELDS_PERCENT: u64 = 50;

/// Ways of asking for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    Blocking,
    Timeout(Duration),
    Try,
    Async,
    /// Polled once, then dropped.
    AsyncDropped,
}

/// Result of an attempt.
#[derive(PartialEq, Eq)]
enum End {
    Committed,
    Aborted,
    /// Not to be retried.
    Cancelled,
}

/// One thread of a run.
pub struct Worker<'r> {
    run: &'r Run,
    number: usize,
    rng: Rng,
    /// Locks that the transaction holds.
    held: Vec<(u64, Mode)>,
    /// Counts so far.
    pub tally: Tally,
}

impl<'r> Worker<'r> {
    /// The worker of this number.
    pub fn new(run: &'r Run, number: usize) -> Worker<'r> {
        let seed = run.plan.seed.wrapping_mul(1_000_003) + number as u64;
        Worker {
            run,
            number,
            rng: Rng::new(seed),
            held: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Brings one transaction to its end, retrying it with its age kept.
    pub fn transaction(&mut self) -> Result<(), Violation> {
        let mut birth_ns = None;
        for attempt in 0..ATTEMPTS_MAX {
            let mut txn = self.run.locks.begin_with(TxnOptions {
                birth_ns,
                class: self.rng.below(3) as u32,
                expected_remaining_ns: None,
            });
            birth_ns = Some(txn.birth_ns());
            self.run.register(self.number, &txn);
            let end = self.attempt(&mut txn);
            for (object, _) in self.held.drain(..) {
                self.run.leave(object, txn.id());
            }
            txn.release_all();
            match end? {
                End::Aborted => self.back_off(attempt),
                End::Committed => {
                    self.tally.commits += 1;
                    return Ok(());
                }
                End::Cancelled => return Ok(()),
            }
        }
        Ok(())
    }

    /// Waits longer after each attempt. Finally lets other threads run, one of which may hold the lock.
    fn back_off(&mut self, attempt: u32) {
        const SPINS_DOUBLED_MAX: u32 = 8;
        if attempt > SPINS_DOUBLED_MAX {
            thread::yield_now();
        }
        for _ in 0..self.rng.below(2 << attempt.min(SPINS_DOUBLED_MAX)) {
            std::hint::spin_loop();
        }
    }

    /// Time in which others can do something.
    fn work(&mut self, yields_percent: u64) {
        if self.chance(yields_percent) {
            thread::yield_now();
        }
        for _ in 0..self.rng.below(self.run.plan.spins_end) {
            std::hint::spin_loop();
        }
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.rng.below(100) < percent
    }

    fn attempt(&mut self, txn: &mut Transaction<u64>) -> Result<End, Violation> {
        for _ in 0..1 + self.rng.below(self.run.plan.requests_max) {
            self.run.progress.fetch_add(1, Ordering::Relaxed);
            let refused = self.request(txn)?.err();
            self.check_held(txn)?;
            match refused {
                Some(LockError::Cancelled) => return Ok(End::Cancelled),
                Some(error) if error.must_abort() => return Ok(End::Aborted),
                _ => {}
            }
            self.work(self.run.plan.yields_percent);
            if self.chance(self.run.plan.releases_percent) {
                self.release_one(txn)?;
            }
        }
        Ok(End::Committed)
    }

    /// One request, checked, and its outcome.
    fn request(&mut self, txn: &mut Transaction<u64>) -> Result<Result<(), LockError>, Violation> {
        let object = self.rng.below(self.run.plan.objects);
        let mode = MODES[[0, 1, 2, 2, 2, 3, 4, 4][self.rng.below(8) as usize]];
        let before = txn.mode_of(&object);
        let target = before.map_or(mode, |held| held.supremum(mode));
        let how = self.draw_how();
        let outcome = match how {
            How::Blocking => txn.lock(&object, mode),
            How::Timeout(timeout) => txn.lock_timeout(&object, mode, timeout),
            How::Try => txn.try_lock(&object, mode),
            How::Async => block_on(txn.lock_async(&object, mode)),
            How::AsyncDropped => {
                let mut wait = pin!(txn.lock_async(&object, mode));
                match wait.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(outcome) => outcome,
                    Poll::Pending => {
                        self.tally.dropped += 1;
                        self.work(DROP_YIELDS_PERCENT);
                        Err(LockError::Timeout)
                    }
                }
            }
        };
        // A dropped wait may have been granted in that moment.
        let granted = outcome.is_ok() || how == How::AsyncDropped;
        if granted && before != Some(target) && txn.mode_of(&object) == Some(target) {
            self.tally.grants += 1;
            self.held.retain(|held| held.0 != object);
            self.held.push((object, target));
            self.run.enter(object, txn.id(), target)?;
        }
        if let Err(error) = &outcome {
            self.tally.note(error);
            if self.run.plan.checks {
                self.check_error(txn, error, how, before.is_some())?;
            }
        }
        Ok(outcome)
    }

    fn draw_how(&mut self) -> How {
        let plan = &self.run.plan;
        let (tries, timeouts, asyncs) = (
            plan.tries_percent,
            plan.timeouts_percent,
            plan.async_percent,
        );
        if self.chance(tries) {
            How::Try
        } else if self.chance(timeouts) {
            // From none at all over shorter than a wake-up to longer than most waits.
            let end_ns = 1 << self.rng.below(22);
            How::Timeout(Duration::from_nanos(self.rng.below(end_ns)))
        } else if !self.chance(asyncs) {
            How::Blocking
        } else if self.chance(25) {
            How::AsyncDropped
        } else {
            How::Async
        }
    }

    fn release_one(&mut self, txn: &mut Transaction<u64>) -> Result<(), Violation> {
        if self.held.is_empty() {
            return Ok(());
        }
        let which = self.rng.below(self.held.len() as u64) as usize;
        let (object, mode) = self.held.swap_remove(which);
        self.run.leave(object, txn.id());
        if txn.release(&object) {
            self.check_held(txn)
        } else {
            Err(format!("{} had lost {mode:?} on {object}", txn.id()))
        }
    }

    /// The transaction holds what was granted and not released, in the right modes.
    fn check_held(&self, txn: &Transaction<u64>) -> Result<(), Violation> {
        let agrees = |&(object, mode): &(u64, Mode)| txn.mode_of(&object) == Some(mode);
        if txn.locks_held() == self.held.len() && self.held.iter().all(agrees) {
            return Ok(());
        }
        Err(format!(
            "{} should hold {:?} and holds {} locks",
            txn.id(),
            self.held,
            txn.locks_held()
        ))
    }

    /// The error is one this request could have, and says what is true.
    fn check_error(
        &self,
        txn: &mut Transaction<u64>,
        error: &LockError,
        how: How,
        upgrade: bool,
    ) -> Result<(), Violation> {
        let plan = &self.run.plan;
        let detects = plan.ever(|policy| matches!(policy, DeadlockPolicy::Detect(_)));
        let right = match error {
            LockError::Deadlock { cycle } => {
                let mut members = cycle.clone();
                members.sort_unstable();
                members.dedup();
                detects
                    && cycle.len() >= 2
                    && members.len() == cycle.len()
                    && cycle.contains(&txn.id())
                    && how != How::Try
            }
            LockError::UpgradeConflict { with } => {
                detects && upgrade && *with != txn.id() && how != How::Try
            }
            LockError::Timeout => matches!(how, How::Timeout(_) | How::AsyncDropped),
            LockError::Cancelled => self.run.was_cancelled(txn.id()),
            LockError::WouldBlock => {
                how == How::Try || plan.ever(|policy| policy == DeadlockPolicy::NoWait)
            }
            LockError::Died { older } => {
                plan.ever(|policy| policy == DeadlockPolicy::WaitDie)
                    && self.run.is_older(*older, txn)
                    && how != How::Try
            }
            LockError::Wounded { older } => {
                plan.ever(|policy| policy == DeadlockPolicy::WoundWait)
                    && self.run.is_older(*older, txn)
            }
            LockError::TooManyLocks { locks_max } => {
                *locks_max == plan.config.locks_max && txn.locks_held() == *locks_max && !upgrade
            }
        };
        if !right {
            return Err(format!("{how:?} (upgrade: {upgrade}) ended with {error:?}"));
        }
        if !matches!(error, LockError::Cancelled | LockError::Wounded { .. }) {
            return Ok(());
        }
        // These concern the transaction, not the request: every other one is refused, too.
        match txn.try_lock(&plan.objects, Mode::IS) {
            Err(again) if again == *error => Ok(()),
            again => Err(format!("{error:?} was followed by {again:?}")),
        }
    }
}

/// Drives a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park();
    }
}
