//! Runs a plan: threads of transactions, one that disturbs them, and the checks that need everybody at rest.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use evenkeel_locks::observe::Wait;
use evenkeel_locks::rng::Rng;
use evenkeel_locks::{Canceller, LockManager, Mode, Transaction, TxnId};

use crate::plan::Plan;
use crate::shadow::{Shadow, Violation};
use crate::tally::Tally;
use crate::worker::Worker;

/// If no thread got any further for so long, somebody waits for ever.
const STUCK_AFTER: Duration = Duration::from_secs(120);
/// How often rules are changed and transactions cancelled.
const DISTURBANCE: Duration = Duration::from_micros(300);

/// The transaction a worker runs, and how to cancel it.
type Current = Option<(TxnId, Canceller<u64>)>;

/// State shared by the threads of a run.
pub struct Run {
    /// The plan.
    pub plan: Plan,
    /// The lock manager under test.
    pub locks: LockManager<u64>,
    /// Requests made so far.
    pub progress: AtomicU64,
    shadow: Shadow,
    current: Vec<Mutex<Current>>,
    cancelled: Mutex<Vec<TxnId>>,
    births: Mutex<HashMap<TxnId, u64>>,
    at_work: AtomicUsize,
    started: Instant,
    /// When the last worker so far was done, since `started`.
    done_ns: AtomicU64,
}

/// Result of a run, and its duration.
pub struct Finished {
    /// The sum over the threads.
    pub tally: Tally,
    /// From the first transaction's beginning to the last one's end.
    pub elapsed: Duration,
}

/// Runs the plan to its end.
///
/// # Errors
/// The first thing found that must not be.
pub fn run(plan: Plan) -> Result<Finished, Violation> {
    let run = Run {
        locks: LockManager::new(plan.config),
        progress: AtomicU64::new(0),
        shadow: Shadow::new(plan.objects),
        current: (0..plan.threads).map(|_| Mutex::new(None)).collect(),
        cancelled: Mutex::default(),
        births: Mutex::default(),
        at_work: AtomicUsize::new(plan.threads as usize),
        started: Instant::now(),
        done_ns: AtomicU64::new(0),
        plan,
    };
    let ends: Vec<_> = thread::scope(|scope| {
        let run = &run;
        let workers: Vec<_> = (0..run.current.len())
            .map(|number| scope.spawn(move || run.work(number)))
            .collect();
        let disturbed = run.disturb().map(|()| Tally::default());
        let work = workers.into_iter().map(|worker| match worker.join() {
            Ok(end) => end,
            Err(panic) => resume_unwind(panic),
        });
        // Threads that are stuck explain the others' errors, so they come first.
        [disturbed].into_iter().chain(work).collect()
    });
    let mut tally = Tally::default();
    for end in ends {
        tally.add(end?);
    }
    run.check_rest(&tally)?;
    Ok(Finished {
        tally,
        elapsed: Duration::from_nanos(run.done_ns.into_inner()),
    })
}

/// At any moment every waiter waits for some holder, and none, through others, for itself.
fn check_waits(waits: &[Wait<u64>]) -> Result<(), Violation> {
    let waits_for: HashMap<TxnId, &[TxnId]> = waits
        .iter()
        .map(|wait| (wait.txn, &wait.waits_for[..]))
        .collect();
    for wait in waits {
        if wait.waits_for.is_empty() {
            return Err(format!("{wait:?} waits for nobody"));
        }
        let (mut seen, mut next) = (Vec::new(), vec![wait.txn]);
        while let Some(txn) = next.pop() {
            for &other in waits_for.get(&txn).copied().unwrap_or_default() {
                if other == wait.txn {
                    return Err(format!("a deadlock was let be: {waits:?}"));
                }
                if !seen.contains(&other) {
                    seen.push(other);
                    next.push(other);
                }
            }
        }
    }
    Ok(())
}

/// A worker that is not done yet, be it by a panic.
struct AtWork<'r>(&'r Run);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        let done_ns = self.0.started.elapsed().as_nanos() as u64;
        self.0.done_ns.fetch_max(done_ns, Ordering::Relaxed);
        self.0.at_work.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Run {
    fn work(&self, number: usize) -> Result<Tally, Violation> {
        let _at_work = AtWork(self);
        let mut worker = Worker::new(self, number);
        (0..self.plan.txns_each).try_for_each(|_| worker.transaction())?;
        Ok(worker.tally)
    }

    /// Changes rules and cancels transactions as planned, and examines waiters and holders, until everybody is done.
    fn disturb(&self) -> Result<(), Violation> {
        let mut rng = Rng::new(!self.plan.seed);
        let mut later_rules = self.plan.later_rules.iter().cycle();
        let mut found = Ok(());
        let mut latest = (0, Instant::now());
        while self.at_work.load(Ordering::Relaxed) > 0 {
            thread::sleep(DISTURBANCE);
            if let Some(rules) = later_rules.next() {
                self.locks.set_rules(*rules).expect("sound rules");
            }
            if self.plan.cancels {
                self.cancel(rng.below(self.plan.threads) as usize);
            }
            if self.plan.checks && found.is_ok() {
                found = check_waits(&self.locks.wait_for_graph());
            }
            let progress = self.progress.load(Ordering::Relaxed);
            if progress != latest.0 {
                latest = (progress, Instant::now());
            } else if latest.1.elapsed() > STUCK_AFTER {
                let waits = self.locks.wait_for_graph();
                let stuck = format!("nobody gets any further; waits: {waits:?}");
                self.cancel_everybody(&stuck);
                return Err(stuck);
            }
        }
        found
    }

    /// Cancels until everybody is done: it wakes even who was forgotten, so that the run can end and tell. If it does not,
    /// this tells and ends the process.
    fn cancel_everybody(&self, stuck: &str) {
        let began = Instant::now();
        while self.at_work.load(Ordering::Relaxed) > 0 {
            (0..self.current.len()).for_each(|worker| self.cancel(worker));
            thread::sleep(DISTURBANCE);
            if began.elapsed() > STUCK_AFTER {
                eprintln!(
                    "{stuck}\nnot even cancelled transactions end; {:#?}",
                    self.plan
                );
                std::process::abort();
            }
        }
    }

    fn cancel(&self, worker: usize) {
        let current = self.current[worker].lock().expect("no panic");
        if let Some((txn, canceller)) = &*current {
            self.cancelled.lock().expect("no panic").push(*txn);
            canceller.cancel();
        }
    }

    /// `worker` has begun `txn`.
    pub fn register(&self, worker: usize, txn: &Transaction<u64>) {
        if self.plan.checks {
            let mut births = self.births.lock().expect("no panic");
            births.insert(txn.id(), txn.birth_ns());
            *self.current[worker].lock().expect("no panic") = Some((txn.id(), txn.canceller()));
        }
    }

    /// Whether somebody cancelled `txn`.
    pub fn was_cancelled(&self, txn: TxnId) -> bool {
        self.cancelled.lock().expect("no panic").contains(&txn)
    }

    /// Whether `other` was born before `txn`.
    pub fn is_older(&self, other: TxnId, txn: &Transaction<u64>) -> bool {
        let births = self.births.lock().expect("no panic");
        let other_birth_ns = births.get(&other);
        other_birth_ns.is_some_and(|&birth_ns| (birth_ns, other) < (txn.birth_ns(), txn.id()))
    }

    /// `txn` was granted `mode` on `object`.
    pub fn enter(&self, object: u64, txn: TxnId, mode: Mode) -> Result<(), Violation> {
        if self.plan.checks {
            self.shadow.enter(object, txn, mode)?;
        }
        Ok(())
    }

    /// `txn` is about to release `object`.
    pub fn leave(&self, object: u64, txn: TxnId) {
        if self.plan.checks {
            self.shadow.leave(object, txn);
        }
    }

    /// With every transaction ended nothing is left, and the lock manager counted what happened.
    fn check_rest(&self, tally: &Tally) -> Result<(), Violation> {
        let (locked, waits) = (self.locks.locked_objects(), self.locks.wait_for_graph());
        if locked > 0 || !waits.is_empty() {
            return Err(format!(
                "{locked} objects are left locked, waits: {waits:?}"
            ));
        }
        let metrics = self.locks.metrics();
        let counters = &metrics.contention;
        let grants =
            metrics.uncontended_grants + counters.immediate_grants + counters.scheduled_grants;
        if grants != tally.grants {
            return Err(format!("{grants} grants counted, {} seen", tally.grants));
        }
        if counters.scheduled_grants > counters.waits {
            return Err(format!("more grants than waits: {counters:?}"));
        }
        Ok(())
    }
}
