//! A store whose log can be made to hang in a sync.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_disk::{Directory, File, with_syncs};
use evenkeel_store::{Settings, Store};

/// Opens the store on `disk` with a gate that all syncs of its log go through.
pub fn open_gated(disk: &FaultDisk, settings: Settings) -> (Store, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let root = disk.root();
    let directory = |stream: usize| -> Arc<dyn Directory> {
        let gate = Arc::clone(&gate);
        let log = root.subdirectory(&format!("log-{stream}")).unwrap();
        with_syncs(log, move |file| gate.sync(file))
    };
    let directories = (0..settings.log_streams).map(directory).collect();
    let store = Store::open_on(disk.root(), directories, settings).unwrap();
    (store, gate)
}

/// Once armed, holds the first sync that comes, in whatever stream, and lets the others pass.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    armed: bool,
    held: bool,
    passed: usize,
}

impl Gate {
    fn sync(&self, file: &dyn File) -> io::Result<()> {
        let held = self.state.lock().unwrap().held;
        if held {
            // A sync that passes counts once it is done.
            file.sync_data()?;
            self.pass();
            return Ok(());
        }
        self.pass();
        file.sync_data()
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        if !state.armed || state.held {
            state.passed += usize::from(state.held);
            self.changed.notify_all();
            return;
        }
        state.held = true;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| state.held).unwrap());
    }

    /// Holds the next sync.
    pub fn arm(&self) {
        self.set(true);
    }

    fn set(&self, armed: bool) {
        *self.state.lock().unwrap() = State {
            armed,
            ..State::default()
        };
        self.changed.notify_all();
    }

    /// Waits until a sync is held.
    pub fn wait_until_held(&self) {
        self.wait_until(|state| state.held);
    }

    /// Waits until another sync has passed the held one.
    pub fn wait_until_another_passed(&self) {
        self.wait_until(|state| state.passed > 0);
    }

    /// Waits until the state is so; gives up after a while, as a log might wait for the slow stream first.
    fn wait_until(&self, reached: impl Fn(&State) -> bool) {
        let state = self.state.lock().unwrap();
        let timeout = Duration::from_secs(5);
        drop(
            self.changed
                .wait_timeout_while(state, timeout, |state| !reached(state))
                .unwrap(),
        );
    }
}

/// Lets everything pass when it goes, also if an assertion fails: a scope waits for its threads.
pub struct OpensWhenDropped<'g>(pub &'g Gate);

impl Drop for OpensWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
