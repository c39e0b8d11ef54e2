//! Bytes a lock and a waiting request take, by counting the allocator's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::task::{Context, Waker};

use evenkeel_locks::{Config, LockManager, Mode, ScheduleKind};

struct Counting;

static LIVE_BYTES: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const REQUESTS: usize = 10_000;

fn live_bytes() -> isize {
    LIVE_BYTES.load(Ordering::Relaxed)
}

fn main() {
    let locks = LockManager::new(Config::new(ScheduleKind::Ldsf));
    let empty = live_bytes();
    let mut holder = locks.begin();
    let before = live_bytes();
    for object in 0..REQUESTS as u64 {
        holder.lock(&object, Mode::X).expect("free");
    }
    let held = live_bytes() - before;
    println!("a held lock: {} bytes", held / REQUESTS as isize);

    let mut txns: Vec<_> = (0..REQUESTS).map(|_| locks.begin()).collect();
    let before = live_bytes();
    // Asynchronous requests wait without a thread each; blocking ones are on the same queue.
    let mut futures: Vec<_> = txns
        .iter_mut()
        .map(|txn| Box::pin(txn.lock_async(&7, Mode::X)))
        .collect();
    let boxes = live_bytes() - before;
    for future in &mut futures {
        let poll = pin!(future)
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll.is_pending());
    }
    let waiting = live_bytes() - before - boxes;
    println!("a waiting request: {} bytes", waiting / REQUESTS as isize);
    drop(futures);
    holder.release_all();
    drop((txns, holder));
    let kept = live_bytes() - empty;
    println!("kept once everything is released: {kept} bytes");
}
