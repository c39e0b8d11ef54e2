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
    /// No job comes any more.
    closed: bool,
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
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// `count` threads with a queue for `queue_max` jobs.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(crate) fn start(count: usize, queue_max: usize) -> std::io::Result<Workers> {
        let shared = Shared {
            queue: Mutex::default(),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            queue_max: queue_max.max(1),
        };
        let mut workers = Workers {
            shared: Arc::new(shared),
            threads: Vec::new(),
        };
        for _ in 0..count {
            let shared = Arc::clone(&workers.shared);
            let thread = std::thread::Builder::new().name("evenkeel-worker".to_owned());
            workers.threads.push(thread.spawn(move || shared.work())?);
        }
        Ok(workers)
    }

    /// Runs `work` on a worker thread and waits for it; without workers, runs it here. A panic of `work` continues
    /// here.
    pub(crate) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Executed<T> {
        let asked = Instant::now();
        if self.threads.is_empty() {
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
        self.shared.queue.lock().closed = true;
        self.shared.filled.notify_all();
        for thread in self.threads.drain(..) {
            // No job is running, because each borrows this. A panic of work continues in its caller.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn push(&self, queued: Queued) {
        let mut queue = self.queue.lock();
        while queue.jobs.len() >= self.queue_max {
            self.emptied.wait(&mut queue);
        }
        queue.jobs.push_back(queued);
        drop(queue);
        self.filled.notify_one();
    }

    /// The loop of a worker.
    fn work(&self) {
        while let Some(queued) = self.next() {
            self.emptied.notify_one();
            queued.run();
        }
    }

    fn next(&self) -> Option<Queued> {
        let mut queue = self.queue.lock();
        while queue.jobs.is_empty() && !queue.closed {
            self.filled.wait(&mut queue);
        }
        queue.jobs.pop_front()
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn all_work_is_done_whatever_the_number_of_workers() {
        for count in [0, 3, 1] {
            let workers = Workers::start(count, 2).unwrap();
            let sum = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for client in 0..8 {
                    let (workers, sum) = (&workers, &sum);
                    scope.spawn(move || {
                        for _ in 0..50 {
                            workers.run(|| sum.fetch_add(client, Ordering::Relaxed));
                        }
                    });
                }
            });
            assert_eq!(sum.into_inner(), 50 * 28);
            let caller = std::thread::current().id();
            let executed = workers.run(|| std::thread::current().id());
            assert_eq!(executed.result == caller, count == 0);
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_worker_goes_on() {
        let workers = Workers::start(1, 1).unwrap();
        let panic = catch_unwind(AssertUnwindSafe(|| workers.run(|| panic!("on purpose"))));
        assert_eq!(
            panic.unwrap_err().downcast_ref::<&str>(),
            Some(&"on purpose")
        );
        assert_eq!(workers.run(|| 7).result, 7);
    }
}
