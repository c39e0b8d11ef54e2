//! The protocol of `evenkeel_wire::waiters`, explored by loom: no wait that a release ends goes without its wake, early or
//! late, and nobody is reported who never waited.
//!
//! The lock is a word: waiters count themselves in before their last try, and the releaser looks before and after.
//! Fences model the locked instructions of x86-64, because loom derives sequential consistency from fences alone.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering::*, fence};
use loom::thread;

struct Model {
    /// The slot's state.
    waiting: AtomicU64,
    /// 1: held.
    lock: AtomicU32,
    /// Wakes written.
    wakes: AtomicU32,
}

impl Model {
    fn held() -> Arc<Model> {
        Arc::new(Model {
            waiting: AtomicU64::new(0),
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
        self.waiting.fetch_add(1 << 32 | 1, SeqCst);
        fence(SeqCst);
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
        let before = self.waiting.load(Acquire);
        if before as u32 != 0 {
            self.wakes.fetch_add(1, SeqCst);
            self.lock.swap(0, SeqCst);
            return;
        }
        self.lock.swap(0, SeqCst);
        fence(SeqCst);
        if self.waiting.load(Acquire) != before {
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

/// A semaphore with two posts by two threads: whichever of them ended the wait said so.
#[test]
fn one_of_two_releasers() {
    explore(|| {
        let model = Model::held();
        let waiter = {
            let model = model.clone();
            thread::spawn(move || model.acquire())
        };
        let other = {
            let model = model.clone();
            thread::spawn(move || model.release())
        };
        model.release();
        other.join().unwrap();
        let waited = waiter.join().unwrap();
        let wakes = model.wakes.load(SeqCst);
        assert!(!waited || wakes >= 1, "it waited and nobody woke it");
    });
}
