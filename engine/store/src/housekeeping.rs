//! The thread that removes ghosts and takes checkpoints.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::engine::Engine;

/// How often it looks for something to do.
const INTERVAL: Duration = Duration::from_millis(10);
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
    pub(crate) fn start(engine: Arc<Engine>) -> std::io::Result<Housekeeper> {
        let stop = Arc::new(Stop::default());
        let seen = Arc::clone(&stop);
        let builder = std::thread::Builder::new().name("evenkeel-housekeeper".to_owned());
        let thread = builder.spawn(move || keep_house(&engine, &seen))?;
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
            // Its panic has been printed; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

fn keep_house(engine: &Engine, stop: &Stop) {
    let mut pause = INTERVAL;
    let mut stopped = stop.stopped.lock();
    while !*stopped {
        stop.changed.wait_for(&mut stopped, pause);
        if *stopped {
            return;
        }
        drop(stopped);
        // What failed is still to be done and is tried again; whoever writes meets the same disk and is told.
        let tidied = engine.tidy();
        pause = if tidied.is_ok() {
            INTERVAL
        } else {
            AFTER_ERROR
        };
        stopped = stop.stopped.lock();
    }
}
