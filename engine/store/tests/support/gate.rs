//! A store whose log can be made to hang in a sync.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_disk::{Access, Create, Directory, DirectoryLock, File};
use evenkeel_store::{Settings, Store};

/// Opens the store on `disk` with a gate that all syncs of its log go through.
pub fn open_gated(disk: &FaultDisk, settings: Settings) -> (Store, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let root = disk.root();
    let directory = |stream: usize| -> Arc<dyn Directory> {
        let inner = root.subdirectory(&format!("log-{stream}")).unwrap();
        Arc::new(Gated {
            inner,
            gate: Arc::clone(&gate),
        })
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
        let patience = Duration::from_secs(5);
        drop(
            self.changed
                .wait_timeout_while(state, patience, |state| !reached(state))
                .unwrap(),
        );
    }
}

#[derive(Debug)]
struct Gated<T: ?Sized> {
    inner: Arc<T>,
    gate: Arc<Gate>,
}

impl Directory for Gated<dyn Directory> {
    fn open(&self, name: &str, access: Access, create: Create) -> io::Result<Arc<dyn File>> {
        let inner = self.inner.open(name, access, create)?;
        Ok(Arc::new(Gated {
            inner,
            gate: Arc::clone(&self.gate),
        }))
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }
    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }
    fn subdirectory(&self, name: &str) -> io::Result<Arc<dyn Directory>> {
        self.inner.subdirectory(name)
    }
    fn lock(&self, name: &str) -> io::Result<DirectoryLock> {
        self.inner.lock(name)
    }
}

impl File for Gated<dyn File> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buffer, offset)
    }
    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_at(data, offset)
    }
    fn sync_data(&self) -> io::Result<()> {
        let held = self.gate.state.lock().unwrap().held;
        if held {
            // A sync that passes counts once it is done.
            self.inner.sync_data()?;
            self.gate.pass();
            return Ok(());
        }
        self.gate.pass();
        self.inner.sync_data()
    }
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }
    fn is_direct(&self) -> bool {
        self.inner.is_direct()
    }
}

/// Lets everything pass when it goes, also if an assertion fails: a scope waits for its threads.
pub struct OpensWhenDropped<'g>(pub &'g Gate);

impl Drop for OpensWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
