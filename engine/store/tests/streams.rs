//! A commit in one log stream that depends on a change in another, whose disk is slow.

mod support;

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_disk::{Access, Create, Directory, DirectoryLock, File};
use evenkeel_store::{ColumnType, Scan, Schema, Store, TransactionOptions};
use support::{open, small_settings};

/// Once armed, holds the first sync that comes, in whatever stream, and lets the others pass.
#[derive(Debug, Default)]
struct Gate {
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

    fn set(&self, armed: bool) {
        *self.state.lock().unwrap() = State {
            armed,
            ..State::default()
        };
        self.changed.notify_all();
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

struct OpensWhenDropped<'g>(&'g Gate);

impl Drop for OpensWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// Two transactions insert into the same leaf, the second behind the first. The first one's stream hangs in its sync; whatever
/// is left of the disk then, the second must not be there without the first, on whose slot its own depends.
#[test]
fn an_insertion_is_not_kept_without_the_one_before_it_in_the_page() {
    let disk = FaultDisk::new();
    let settings = small_settings(2);
    let gate = Arc::new(Gate::default());
    let root = disk.root();
    let directory = |stream: usize| -> Arc<dyn Directory> {
        let inner = root.subdirectory(&format!("log-{stream}")).unwrap();
        Arc::new(Gated {
            inner,
            gate: Arc::clone(&gate),
        })
    };
    let store = Store::open_on(
        disk.root(),
        (0..2).map(directory).collect(),
        settings.clone(),
    )
    .unwrap();
    let schema = Schema::new("rows")
        .column("id", ColumnType::Int)
        .primary_key(["id"]);
    let table = store.create_table(schema).unwrap();
    let insert = |id: i64| {
        let mut txn = store.begin(TransactionOptions::default());
        txn.insert(&table, &[id.into()]).unwrap();
        txn.commit().unwrap();
    };
    insert(1);
    gate.set(true);
    std::thread::scope(|scope| {
        // Also if an assertion fails: the scope waits for its threads.
        let opener = OpensWhenDropped(&gate);
        scope.spawn(|| insert(5));
        gate.wait_until(|state| state.held);
        scope.spawn(|| insert(9));
        gate.wait_until(|state| state.passed > 0);
        let mut lost = 0;
        for seed in 0..30 {
            let recovered = open(&disk.after_power_failure(seed), settings.clone()).unwrap();
            let table = recovered.table("rows").unwrap();
            let rows = recovered
                .begin(TransactionOptions::default())
                .scan(&table, &Scan::all())
                .unwrap();
            let ids: Vec<i64> = rows.iter().map(|row| row.int(0)).collect();
            assert!(
                [&[1][..], &[1, 5], &[1, 5, 9]].contains(&&ids[..]),
                "seed {seed}: {ids:?}"
            );
            lost += usize::from(ids.len() == 1);
        }
        assert!(lost > 0, "the sync held back makes a difference");
        drop(opener);
    });
    let rows = store
        .begin(TransactionOptions::default())
        .scan(&table, &Scan::all())
        .unwrap();
    assert_eq!(rows.len(), 3);
}
