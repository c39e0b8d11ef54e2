//! Worker threads that execute queued transactions, as VoltDB does (dissertation, section 3.2.3).

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// Result and times of a piece of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Executed<T> {
    /// The returned value.
    pub result: T,
    /// Time that it waited for a worker, in nanoseconds.
    pub queued_ns: u64,
    /// Time that it took from then on, in nanoseconds.
    pub executed_ns: u64,
}

type Job = Box<dyn FnOnce() + Send>;

/// A job and its waiting caller, which continues once this is dropped, whether the job has run or not.
struct Queued {
    job: Option<Job>,
    done: Arc<Done>,
}

#[derive(Default)]
struct Done {
    done: Mutex<bool>,
    changed: Condvar,
}

impl Queued {
    fn run(mut self) {
        if let Some(job) = self.job.take() {
            job();
        }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.job = None;
        *self.done.done.lock() = true;
        self.done.changed.notify_one();
    }
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Queued>,
    /// Workers that take jobs. The last one ends only when it finds no job, so a job put here while there is one is done.
    alive: usize,
    /// The number of them that are to end.
    surplus: usize,
}

impl Queue {
    /// Whether there are workers that stay. If not, nothing more is put here: the last one would never find it empty.
    fn is_open(&self) -> bool {
        self.alive > self.surplus
    }
}

struct Shared {
    queue: Mutex<Queue>,
    filled: Condvar,
    emptied: Condvar,
    queue_max: usize,
}

/// A fixed number of threads and the queue in front of them.
pub(crate) struct Workers {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Workers {
    /// No threads yet; a queue for `queue_max` jobs.
    pub(crate) fn new(queue_max: usize) -> Workers {
        let shared = Shared {
            queue: Mutex::default(),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            queue_max: queue_max.max(1),
        };
        Workers {
            shared: Arc::new(shared),
            threads: Mutex::default(),
        }
    }

    /// Changes the number of threads. Surplus ones end after what they are executing, which is not waited for: that may need a lock
    /// that the caller holds.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn resize(&self, count: usize) -> std::io::Result<()> {
        let mut threads = self.threads.lock();
        threads.retain(|thread| !thread.is_finished());
        for _ in self.keep_at_most(count)..count {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("evenkeel-worker".to_owned());
            threads.push(thread.spawn(move || shared.work())?);
            self.shared.queue.lock().alive += 1;
        }
        Ok(())
    }

    /// Has as many of the threads as may be up to `count` stay and the others end; how many stay.
    fn keep_at_most(&self, count: usize) -> usize {
        let mut queue = self.shared.queue.lock();
        let staying = queue.alive.min(count);
        queue.surplus = queue.alive - staying;
        drop(queue);
        self.shared.filled.notify_all();
        self.shared.emptied.notify_all();
        staying
    }

    /// Runs `work` on a worker thread and waits for it; without workers, runs it here. A panic of `work` continues
    /// here.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Executed<T> {
        let asked = Instant::now();
        if !self.shared.queue.lock().is_open() {
            return timed(asked, work);
        }
        let mut outcome: Option<Result<Executed<T>, Box<dyn Any + Send>>> = None;
        let place = &mut outcome;
        let job: Box<dyn FnOnce() + Send + '_> = Box::new(move || {
            *place = Some(catch_unwind(AssertUnwindSafe(|| timed(asked, work))));
        });
        // SAFETY: only the lifetime changes. The job is used and dropped before `Queued` is, and this function does not
        // return before that: it waits below for `done`, which `Queued`'s drop sets last. Nothing between here and
        // there can unwind.
        let job: Job = unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + '_>, Job>(job) };
        let done = Arc::new(Done::default());
        self.shared.push(Queued {
            job: Some(job),
            done: Arc::clone(&done),
        });
        let mut is_done = done.done.lock();
        while !*is_done {
            done.changed.wait(&mut is_done);
        }
        drop(is_done);
        match outcome.expect("a queued job runs before it is dropped") {
            Ok(executed) => executed,
            Err(panic) => resume_unwind(panic),
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.keep_at_most(0);
        for thread in self.threads.get_mut().drain(..) {
            // No job is running, because each borrows this. A panic of work continues in its caller.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn push(&self, queued: Queued) {
        let mut queue = self.queue.lock();
        while queue.is_open() && queue.jobs.len() >= self.queue_max {
            self.emptied.wait(&mut queue);
        }
        if queue.is_open() {
            queue.jobs.push_back(queued);
            drop(queue);
            self.filled.notify_one();
            return;
        }
        drop(queue);
        // The last worker is about to end.
        queued.run();
    }

    /// The loop of a worker, until there is one too many.
    fn work(&self) {
        while let Some(queued) = self.next() {
            self.emptied.notify_one();
            queued.run();
        }
    }

    fn next(&self) -> Option<Queued> {
        let mut queue = self.queue.lock();
        loop {
            // The last one to end must leave no job behind.
            if queue.surplus > 0 && (queue.alive > 1 || queue.jobs.is_empty()) {
                queue.surplus -= 1;
                queue.alive -= 1;
                // It may have been woken for a job.
                self.filled.notify_one();
                return None;
            }
            if let Some(queued) = queue.jobs.pop_front() {
                return Some(queued);
            }
            self.filled.wait(&mut queue);
        }
    }
}

fn timed<T>(asked: Instant, work: impl FnOnce() -> T) -> Executed<T> {
    let begun = Instant::now();
    let result = work();
    Executed {
        result,
        queued_ns: begun.duration_since(asked).as_nanos() as u64,
        executed_ns: begun.elapsed().as_nanos() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    #[test]
    fn all_work_is_done_whatever_the_number_of_workers() {
        let workers = Workers::new(2);
        let sum = AtomicUsize::new(0);
        for count in [0, 3, 1, 4, 0] {
            workers.resize(count).unwrap();
            std::thread::scope(|scope| {
                for client in 0..8 {
                    let (workers, sum) = (&workers, &sum);
                    scope.spawn(move || {
                        for _ in 0..50 {
                            let executed = workers.run(|| sum.fetch_add(client, Ordering::Relaxed));
                            assert!(executed.result <= 5 * 50 * 28);
                        }
                    });
                }
            });
        }
        assert_eq!(sum.into_inner(), 5 * 50 * 28);
    }

    /// There is always a job: whoever waited for a moment without one would wait forever.
    #[test]
    fn their_number_changes_while_they_are_never_idle() {
        let workers = Workers::new(4);
        workers.resize(2).unwrap();
        let (changed, run) = (AtomicBool::new(false), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while !changed.load(Ordering::Relaxed) {
                        workers.run(|| run.fetch_add(1, Ordering::Relaxed));
                    }
                });
            }
            for count in [3, 1, 4, 0, 2, 1, 0, 3].repeat(5) {
                workers.resize(count).unwrap();
                let staying = {
                    let queue = workers.shared.queue.lock();
                    queue.alive - queue.surplus
                };
                assert_eq!(staying, count);
                let before = run.load(Ordering::Relaxed);
                while run.load(Ordering::Relaxed) == before {
                    std::thread::yield_now();
                }
            }
            changed.store(true, Ordering::Relaxed);
        });
    }

    /// Work waits for a lock of the thread that takes its worker away.
    #[test]
    fn fewer_workers_do_not_wait_for_work_that_waits_for_the_caller() {
        let workers = Workers::new(1);
        workers.resize(2).unwrap();
        let lock = Mutex::new(());
        let (started, has_started) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let held = lock.lock();
            let works = scope.spawn(|| {
                workers.run(|| {
                    started.send(()).unwrap();
                    drop(lock.lock());
                })
            });
            has_started.recv().unwrap();
            workers.resize(0).unwrap();
            assert!(!works.is_finished());
            drop(held);
        });
        let caller = std::thread::current().id();
        let executed = workers.run(|| std::thread::current().id());
        assert_eq!(executed.result, caller, "there are no workers");
        workers.resize(1).unwrap();
        assert_ne!(workers.run(|| std::thread::current().id()).result, caller);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_worker_goes_on() {
        let workers = Workers::new(1);
        workers.resize(1).unwrap();
        let panic = catch_unwind(AssertUnwindSafe(|| workers.run(|| panic!("on purpose"))));
        assert_eq!(
            panic.unwrap_err().downcast_ref::<&str>(),
            Some(&"on purpose")
        );
        assert_eq!(workers.run(|| 7).result, 7);
    }
}
