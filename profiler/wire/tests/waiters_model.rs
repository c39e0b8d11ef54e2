//! The protocol of `evenkeel_wire::waiters`, explored by loom: no wait that a release ends goes without its wake, early or
//! late, and nobody is told who never waited.
//!
//! The lock is a word: waiters count themselves in before their last try, and the releaser looks before and after.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::*};
use loom::thread;

struct Model {
    /// The slot's count.
    waiting: AtomicU32,
    /// 1: held.
    lock: AtomicU32,
    /// Wakes written.
    wakes: AtomicU32,
}

impl Model {
    fn held() -> Arc<Model> {
        Arc::new(Model {
            waiting: AtomicU32::new(0),
            lock: AtomicU32::new(1),
            wakes: AtomicU32::new(0),
        })
    }

    fn attempt(&self) -> bool {
        self.lock.compare_exchange(0, 1, SeqCst, SeqCst).is_ok()
    }

    /// Whether the thread had to wait, and what a reader of its record then knows of wakes.
    fn acquire(&self) -> bool {
        if self.attempt() {
            return false;
        }
        self.waiting.fetch_add(1, SeqCst);
        let at_once = self.attempt();
        if !at_once {
            while !self.attempt() {
                thread::yield_now();
            }
        }
        self.waiting.fetch_sub(1, Release);
        !at_once
    }

    fn release(&self) {
        if self.waiting.load(Acquire) != 0 {
            self.wakes.fetch_add(1, SeqCst);
            self.lock.swap(0, SeqCst);
            return;
        }
        self.lock.swap(0, SeqCst);
        if self.waiting.load(SeqCst) != 0 {
            self.wakes.fetch_add(1, SeqCst);
        }
    }
}

fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

#[test]
fn no_wait_without_a_wake() {
    explore(|| {
        let model = Model::held();
        let waiter = {
            let model = model.clone();
            thread::spawn(move || model.acquire())
        };
        model.release();
        let waited = waiter.join().unwrap();
        let wakes = model.wakes.load(SeqCst);
        assert!(!waited || wakes == 1, "it waited and nobody woke it");
        assert!(wakes <= 1);
    });
}

#[test]
fn a_chain_of_two_waiters() {
    explore(|| {
        let model = Model::held();
        let waiters = [0; 2].map(|_| {
            let model = model.clone();
            thread::spawn(move || {
                let waited = model.acquire();
                model.release();
                waited
            })
        });
        model.release();
        let waited = waiters
            .into_iter()
            .map(|waiter| u32::from(waiter.join().unwrap()))
            .sum::<u32>();
        // Each wait ended by a release of its own, and each of those was told.
        assert!(model.wakes.load(SeqCst) >= waited);
    });
}
