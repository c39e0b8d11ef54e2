//! Opening the store, with somebody to watch its threads, and what may be said of an opening that fails.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_disk::{Directory, File, with_syncs};
use evenkeel_store::{Store, StoreError};
use rand::RngExt;

use super::Runner;
use crate::chains::model::Wrong;
use crate::chains::plan::StoreSetup;

/// Time of a sync by a background thread: long enough for a store that does not wait to be gone.
pub(super) const SLOW: Duration = Duration::from_millis(2);

/// Activity of one store's threads: whether they sync, and whether one still did after the store was gone.
#[derive(Default)]
pub(super) struct Watch {
    pub(super) gone: AtomicBool,
    pub(super) begun: AtomicU64,
    pub(super) late: AtomicBool,
}

impl Watch {
    fn sync(&self, file: &dyn File) -> io::Result<()> {
        if ["page-writer", "log-flusher"]
            .map(Some)
            .contains(&thread::current().name())
        {
            self.begun.fetch_add(1, Ordering::SeqCst);
            thread::sleep(SLOW);
            let gone = self.gone.load(Ordering::SeqCst);
            self.late.fetch_or(gone, Ordering::SeqCst);
        }
        file.sync_data()
    }
}

/// Opens the store with this many streams of the log; `setting` says how many of them it uses.
pub(super) fn open_store(
    disk: &FaultDisk,
    setting: &StoreSetup,
    streams: usize,
    watch: &Arc<Watch>,
) -> Result<Store, StoreError> {
    let watched = |directory: Arc<dyn Directory>| {
        let watch = Arc::clone(watch);
        with_syncs(directory, move |file| watch.sync(file))
    };
    let logs = (0..streams)
        .map(|stream| Ok(watched(disk.root().subdirectory(&format!("log-{stream}"))?)))
        .collect::<io::Result<Vec<_>>>()
        .map_err(|cause| StoreError::Io {
            doing: "opening a log directory",
            cause: Arc::new(cause),
        })?;
    Store::open_on(watched(disk.root()), logs, setting.settings())
}

impl Runner<'_> {
    /// Opens the store, unless it is open or the disk prevents it, and checks it.
    pub(super) fn open(&mut self) -> Result<(), String> {
        if self.store.is_some() {
            return Ok(());
        }
        self.watch = Arc::default();
        match open_store(&self.disk, &self.setting, self.streams_max, &self.watch) {
            Ok(store) => self.take(store),
            Err(error) if error.is_disk_full() && !self.faulty => {
                Err(format!("it is not opened on the full disk: {error}"))
            }
            Err(error) => self.tolerate(&error),
        }
    }

    /// Checks a store just opened, to go on with it.
    pub(super) fn take(&mut self, store: Store) -> Result<(), String> {
        match self.model.check(&store) {
            Ok(()) => {
                self.store = Some(store);
                self.rows = self.model.rows();
                Ok(())
            }
            Err(Wrong::Contents(what)) => Err(what),
            Err(Wrong::Store(error)) => {
                drop(store);
                self.tolerate(&error)
            }
        }
    }

    pub(super) fn reopen(&mut self) -> Result<(), String> {
        self.drop_store();
        self.open()
    }

    /// The store is gone without a close.
    pub(super) fn drop_store(&mut self) {
        self.running = None;
        if let Some(store) = self.store.take() {
            drop(store);
            self.watch.gone.store(true, Ordering::SeqCst);
            self.gone.push(Arc::clone(&self.watch));
            if !self.faulty && self.capacity.is_none() {
                self.model.all_durable();
            }
        }
        self.faulty = false;
    }

    /// An error of the disk that a fault causes is no failure of the store, which then either continues or is opened
    /// again.
    pub(super) fn tolerate(&mut self, error: &StoreError) -> Result<(), String> {
        let full = self.capacity.is_some() && error.is_disk_full();
        let expected = self.faulty || full;
        let of_the_disk = error.disk_error().is_some() || matches!(error, StoreError::Stopped(_));
        if !expected || !of_the_disk {
            return Err(format!("an error out of place: {error}"));
        }
        self.faulty = true;
        let over = matches!(error, StoreError::Stopped(_) | StoreError::CommitUnknown(_));
        if over || self.rng.random_range(0..2) == 0 {
            self.drop_store();
        }
        Ok(())
    }

    /// Two open the store at the same time: one of them has it, the other and whoever comes later are refused by name.
    pub(super) fn race(&mut self) -> Result<(), String> {
        self.drop_store();
        let watches: [Arc<Watch>; 2] = Default::default();
        let opened = thread::scope(|scope| {
            let open = |watch| open_store(&self.disk, &self.setting, self.streams_max, watch);
            let threads = watches
                .each_ref()
                .map(|watch| scope.spawn(move || open(watch)));
            threads.map(|thread| thread.join().expect("opening does not panic"))
        });
        let mut winner = None;
        for (opened, watch) in opened.into_iter().zip(watches) {
            match opened {
                Ok(_) if winner.is_some() => return Err("two have the store".to_owned()),
                Ok(store) => winner = Some((store, watch)),
                Err(StoreError::InUse) => {}
                Err(error) => return self.tolerate(&error),
            }
        }
        let Some((store, watch)) = winner else {
            return Err("two open the store, and neither has it".to_owned());
        };
        self.watch = watch;
        self.take(store)?;
        let before = self.disk.operations();
        match open_store(&self.disk, &self.setting, self.streams_max, &Arc::default()) {
            Err(StoreError::InUse) if self.plan.setting.threads => Ok(()),
            Err(StoreError::InUse) if self.disk.operations() == before => Ok(()),
            Err(StoreError::InUse) => Err("a refused opening changed something".to_owned()),
            Err(error) => Err(format!(
                "an open store is refused for another reason: {error}"
            )),
            Ok(_) => Err("an open store is opened again".to_owned()),
        }
    }

    /// On a read-only disk the store is refused with an error that names the cause, and nothing is changed.
    pub(super) fn open_read_only(&mut self) -> Result<(), String> {
        self.drop_store();
        self.disk.set_read_only(true);
        let before = self.disk.contents();
        let opened = open_store(&self.disk, &self.setting, self.streams_max, &Arc::default());
        let changed = self.disk.contents() != before;
        self.disk.set_read_only(false);
        let error = match opened {
            Ok(_) => return Err("opened on a read-only disk".to_owned()),
            Err(error) => error,
        };
        let kind = error.disk_error().map(io::Error::kind);
        if kind != Some(io::ErrorKind::ReadOnlyFilesystem) {
            return Err(format!(
                "a read-only disk is refused for another reason: {error}"
            ));
        }
        match changed {
            true => Err("a read-only disk is changed".to_owned()),
            false => self.open(),
        }
    }
}
