// The same as waits_pool.cpp in Rust: workers that give themselves no name are called by the function that they run.
// build: rustc -O -g --edition 2021 waits_workers.rs
//
// Interval: run_interval, which puts a task into the pool's queue and waits until a worker has done it, for
//   work  1,000,000 or 3,000,000 ticks, in turn
// A worker's stack: the standard library's start and wrappers > workers::run_worker > workers::work.
use std::sync::{Arc, Condvar, Mutex};

mod workers {
    use std::arch::x86_64::_rdtsc;
    use std::sync::{Condvar, Mutex};

    /// What a worker is to do, and whether it is done.
    #[derive(Default)]
    pub struct Task {
        pub ticks: u64,
        pub is_done: bool,
        pub is_over: bool,
    }

    #[derive(Default)]
    pub struct Queue {
        pub task: Mutex<Task>,
        pub changed: Condvar,
        pub done: Condvar,
    }

    #[inline(never)]
    #[no_mangle]
    pub fn work(ticks: u64) {
        // SAFETY: every x86-64 processor has it.
        let begin = unsafe { _rdtsc() };
        while unsafe { _rdtsc() } - begin < ticks {}
    }

    #[inline(never)]
    pub fn run_worker(queue: &Queue) {
        let mut task = queue.task.lock().unwrap();
        while !task.is_over {
            if task.ticks == 0 {
                task = queue.changed.wait(task).unwrap();
                continue;
            }
            let ticks = std::mem::take(&mut task.ticks);
            drop(task);
            work(ticks);
            task = queue.task.lock().unwrap();
            task.is_done = true;
            queue.done.notify_one();
        }
    }
}

use workers::{Queue, run_worker};

#[inline(never)]
#[no_mangle]
fn run_interval(queue: &Queue, ticks: u64) -> u64 {
    let mut task = queue.task.lock().unwrap();
    (task.ticks, task.is_done) = (ticks, false);
    queue.changed.notify_one();
    while !task.is_done {
        task = queue.done.wait(task).unwrap();
    }
    ticks * 3
}

/// See spin.h: until the count is done, and then as many again until the file is there, and once more.
fn more(done: u64, count: &mut u64, block: u64, is_last: &mut bool) -> bool {
    if done < *count {
        return true;
    }
    let Some(until) = std::env::var_os("UNTIL").filter(|_| !*is_last) else {
        return false;
    };
    *is_last = std::path::Path::new(&until).exists();
    *count += block;
    true
}

fn main() {
    let block: u64 = std::env::args().nth(1).map_or(480, |count| count.parse().unwrap());
    let queue = Arc::new(Queue { task: Mutex::default(), changed: Condvar::new(), done: Condvar::new() });
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let queue = queue.clone();
            std::thread::spawn(move || run_worker(&queue))
        })
        .collect();
    let (mut count, mut done, mut sum, mut is_last) = (block, 0, 0, false);
    while more(done, &mut count, block, &mut is_last) {
        sum += run_interval(&queue, if done % 2 == 0 { 1_000_000 } else { 3_000_000 });
        done += 1;
    }
    queue.task.lock().unwrap().is_over = true;
    queue.changed.notify_all();
    for worker in workers {
        worker.join().unwrap();
    }
    println!("waits_workers: {count} intervals, checksum {sum:x}");
}
