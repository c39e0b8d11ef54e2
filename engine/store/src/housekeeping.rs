//! The thread that removes ghosts and takes checkpoints.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::inner::StoreInner;

/// How often it looks for something to do.
const INTERVAL: Duration = Duration::from_millis(10);
/// Leaves read in search of ghosts of earlier runs each time: 25 MB/s, so that transactions hardly notice.
const SEARCH_LEAVES: usize = 16;
/// How long it leaves a disk alone that refused.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// The thread; ends when this is dropped.
pub(crate) struct Housekeeper {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Housekeeper {
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(store: Arc<StoreInner>) -> std::io::Result<Housekeeper> {
        let stop = Arc::new(Stop::default());
        let seen = Arc::clone(&stop);
        let builder = std::thread::Builder::new().name("evenkeel-housekeeper".to_owned());
        let thread = builder.spawn(move || keep_house(&store, &seen))?;
        Ok(Housekeeper {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Housekeeper {
    fn drop(&mut self) {
        *self.stop.stopped.lock() = true;
        self.stop.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed; a drop has no way to return it.
            let _ = thread.join();
        }
    }
}

fn keep_house(store: &StoreInner, stop: &Stop) {
    let mut pause = INTERVAL;
    let mut stopped = stop.stopped.lock();
    while !*stopped {
        stop.changed.wait_for(&mut stopped, pause);
        if *stopped {
            return;
        }
        drop(stopped);
        // What failed is still queued and is tried again; a transaction that writes gets the same disk's error itself.
        let tidied = store.tidy(SEARCH_LEAVES);
        pause = if tidied.is_ok() {
            INTERVAL
        } else {
            AFTER_ERROR
        };
        stopped = stop.stopped.lock();
    }
}
