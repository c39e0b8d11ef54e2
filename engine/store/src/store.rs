//! Opening a store, and its handle.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use evenkeel_disk::{Background, Directory, RealDirectory};
use evenkeel_locks::{LockManager, Rules};
use evenkeel_log::{FlushPolicy, Log, LogError, STREAMS_MAX};
use evenkeel_pages::Pool;
use parking_lot::Mutex;

use crate::catalog::create_catalog;
use crate::checkpoint::{Checkpoint, CheckpointState};
use crate::claim::{Claim, PAGES_FILE, log_directory};
use crate::error::StoreError;
use crate::ghosts::Search;
use crate::housekeeping;
use crate::inner::{Parts, StoreInner};
use crate::observe::Observer;
use crate::recovery::recover;
use crate::running::Running;
use crate::schema::Schema;
use crate::settings::{Change, Housekeeping, Settings};
use crate::statistics::Statistics;
use crate::storage::Storage;
use crate::table::Table;
use crate::transaction::{Transaction, TransactionOptions};
use crate::tree::Tree;
use crate::workers::{Executed, Workers};

/// An open store. Clones share it. When the last one is dropped, the log is flushed and the threads end; transactions still running
/// can go on to their ends. [`close`](Store::close) does more: it leaves nothing to recover, and says what went wrong.
#[derive(Clone)]
pub struct Store {
    threads: Arc<Threads>,
}

/// The store and its threads. The order of the fields is that in which they are dropped.
struct Threads {
    workers: Workers,
    housekeeper: Mutex<Option<Background>>,
    store: Arc<StoreInner>,
}

impl Drop for Threads {
    fn drop(&mut self) {
        drop(self.housekeeper.lock().take());
        // For the lazy policies. Should it fail, what is lost is what they may lose.
        let _ = self.store.storage.log.flush_all();
    }
}

impl Store {
    /// Opens the store in directory `path`, made if missing, and recovers it.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if it is open, [`StoreError::Corrupt`] and its like if its files are damaged, or what the disk
    /// says. Nothing is lost by failing; opening can be tried again.
    pub fn open(path: impl AsRef<Path>, settings: Settings) -> Result<Store, StoreError> {
        let path = path.as_ref();
        let directory =
            RealDirectory::open(path).map_err(StoreError::io("opening the store's directory"))?;
        // Streams written before have to be read, too, even if fewer are to be used now.
        let is_there = |&stream: &usize| path.join(log_directory(stream)).is_dir();
        let written = (0..).take_while(is_there).count();
        let streams = settings.log_streams.max(written);
        if streams > STREAMS_MAX {
            return Err(LogError::BadStreams(streams).into());
        }
        let open = |streams: Range<usize>| {
            let logs = streams.map(|stream| directory.subdirectory(&log_directory(stream)));
            let logs: io::Result<Vec<_>> = logs.collect();
            logs.map_err(StoreError::io("opening a log directory"))
        };
        let mut logs = open(0..written)?;
        let claim = Claim::of(&directory, &logs, &settings)?;
        // Others are made only in what is a store's, or becomes one.
        logs.extend(open(written..streams)?);
        Store::open_claimed(claim, logs, settings)
    }

    /// Opens the store in `directory`, its log in `log_directories`, one a stream.
    ///
    /// # Errors
    /// As [`open`](Store::open).
    pub fn open_on(
        directory: Arc<dyn Directory>,
        log_directories: Vec<Arc<dyn Directory>>,
        settings: Settings,
    ) -> Result<Store, StoreError> {
        let claim = Claim::of(&directory, &log_directories, &settings)?;
        Store::open_claimed(claim, log_directories, settings)
    }

    fn open_claimed(
        claim: Claim,
        log_directories: Vec<Arc<dyn Directory>>,
        mut settings: Settings,
    ) -> Result<Store, StoreError> {
        settings.log.active_streams = settings.log.active_streams.min(settings.log_streams.max(1));
        let store = Arc::new(open_inner(claim, log_directories, &settings)?);
        let workers = Workers::new(settings.queue_max);
        let starting = StoreError::io("starting a thread");
        workers.resize(settings.workers).map_err(starting)?;
        let housekeeper = match settings.housekeeping {
            Housekeeping::ByHand => None,
            Housekeeping::Background => Some(
                housekeeping::start(Arc::clone(&store))
                    .map_err(StoreError::io("starting a thread"))?,
            ),
        };
        let housekeeper = Mutex::new(housekeeper);
        Ok(Store {
            threads: Arc::new(Threads {
                workers,
                housekeeper,
                store,
            }),
        })
    }

    fn inner(&self) -> &Arc<StoreInner> {
        &self.threads.store
    }

    /// Makes a table. Durable when it returns, whatever the flush policy.
    ///
    /// # Errors
    /// [`StoreError::BadSchema`], [`StoreError::TableExists`], or what the disk says.
    pub fn create_table(&self, schema: Schema) -> Result<Table, StoreError> {
        self.inner().create_table(schema)
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<Table> {
        self.inner().table(name)
    }

    /// The names of all tables, sorted.
    pub fn table_names(&self) -> Vec<String> {
        self.inner().table_names()
    }

    /// Begins a transaction on this thread; it may be used on another.
    pub fn begin(&self, options: TransactionOptions) -> Transaction {
        Transaction::begin(Arc::clone(self.inner()), &options)
    }

    /// Executes a transaction on a worker thread and waits for it; without workers, executes it on this thread. It is
    /// committed if `work` returns `Ok` and rolled back if not.
    pub fn execute<T, E>(
        &self,
        options: TransactionOptions,
        work: impl FnOnce(&mut Transaction) -> Result<T, E> + Send,
    ) -> Executed<Result<T, E>>
    where
        T: Send,
        E: From<StoreError> + Send,
    {
        self.threads.workers.run(move || {
            let mut txn = self.begin(options);
            let value = work(&mut txn)?;
            txn.commit()?;
            Ok(value)
        })
    }

    /// Changes a setting of the running store.
    ///
    /// # Errors
    /// If the value is out of range, or the disk refuses.
    pub fn change(&self, change: Change) -> Result<(), StoreError> {
        let store = self.inner();
        let (locks, pool, log) = (&store.locks, &store.storage.pool, &store.storage.log);
        match change {
            Change::Schedule(schedule) => {
                let rules = locks.config().rules;
                let rules = Rules {
                    deadlocks: rules.deadlocks,
                    seed: rules.seed,
                    ..Rules::new(schedule)
                };
                locks.set_rules(rules).map_err(StoreError::bad_locks)?;
            }
            Change::Rules(rules) => locks.set_rules(rules).map_err(StoreError::bad_locks)?,
            Change::Deadlocks(deadlocks) => {
                let rules = Rules {
                    deadlocks,
                    ..locks.config().rules
                };
                locks.set_rules(rules).map_err(StoreError::bad_locks)?;
            }
            Change::LockTimeout(timeout) => store.set_lock_timeout(timeout),
            Change::Replacement(replacement) => pool.set_replacement(replacement),
            Change::LazyWait(wait) => pool.set_lazy_wait(wait),
            Change::FlushPolicy(policy) => store.set_flush_policy(policy)?,
            Change::FlushInterval(interval) => log.set_flush_interval(interval),
            Change::LogBlockBytes(bytes) => log.set_block_bytes(bytes)?,
            Change::LogStreams(count) => log.set_active_streams(count)?,
            Change::Workers(count) => {
                self.threads
                    .workers
                    .resize(count)
                    .map_err(StoreError::io("starting a worker thread"))?;
            }
            Change::CheckpointLogBytes(bytes) => {
                store.checkpoint_log_bytes.store(bytes, Ordering::Relaxed)
            }
        }
        Ok(())
    }

    /// Notifies `observer` of the end of every transaction that begins from now on; `None` ends that.
    pub fn observe(&self, observer: Option<Arc<dyn Observer>>) {
        self.inner().set_observer(observer);
    }

    /// Statistics since the store was opened.
    pub fn statistics(&self) -> Statistics {
        let store = self.inner();
        Statistics {
            transactions: store.counters.snapshot(),
            locks: store.locks.metrics(),
            pool: store.storage.pool.statistics(),
            log: store.storage.log.statistics(),
        }
    }

    /// Removes deleted rows that nobody needs any more, and takes a checkpoint if one is due: what the background thread does,
    /// for [`Housekeeping::ByHand`]. How many deleted entries have to stay for now. The first call after opening reads all tables
    /// in search of entries deleted in earlier runs, which the background thread does bit by bit.
    ///
    /// # Errors
    /// If pages or log fail.
    pub fn tidy(&self) -> Result<usize, StoreError> {
        self.inner().tidy(usize::MAX)
    }

    /// Reads every page in use, to find damage early; returns their number.
    ///
    /// # Errors
    /// The first page's that is damaged or cannot be read.
    pub fn verify(&self) -> Result<u64, StoreError> {
        Ok(self.inner().storage.pool.verify()?)
    }

    /// Takes a checkpoint, so that recovery need not read what was logged before.
    ///
    /// # Errors
    /// If pages, log or checkpoint cannot be written; nothing is lost.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        self.inner().checkpoint()
    }

    /// Writes all pages and ends the log, so that the next opening has nothing to recover. Afterwards the store refuses
    /// everything. Transactions still running are rolled back by the next opening.
    ///
    /// # Errors
    /// If the disk refuses; what was committed is as safe as before.
    pub fn close(&self) -> Result<(), StoreError> {
        drop(self.threads.housekeeper.lock().take());
        let store = self.inner();
        store.check()?;
        store.storage.pool.flush_all()?;
        store.checkpoint()?;
        store.stop(&"it is closed");
        Ok(store.storage.log.close()?)
    }
}

impl StoreInner {
    /// Under eager flush whatever can be read is durable, or known not to be ([`Released`](crate::released::Released)), and a
    /// commit depends on nothing else. Under the lazy policies it depends on everything before it. The order of the
    /// steps keeps a commit that is under way during the change on the safe side.
    fn set_flush_policy(&self, policy: FlushPolicy) -> Result<(), StoreError> {
        let log = &self.storage.log;
        if policy == FlushPolicy::EagerFlush {
            log.set_policy(policy);
            log.flush_all()?;
            self.needs_known.store(true, Ordering::SeqCst);
        } else {
            self.needs_known.store(false, Ordering::SeqCst);
            log.set_policy(policy);
        }
        Ok(())
    }
}

/// The checkpoint after recovery. Without it the next recovery begins where this one did: that is no reason not to open a store on a
/// full disk.
fn checkpoint_at_opening(store: &StoreInner) -> Result<(), StoreError> {
    let flushed = match store.storage.log.lacks_files() {
        // Only files that are not needed any more can become the log's next.
        true => store.storage.pool.flush_all().map_err(StoreError::from),
        false => Ok(()),
    };
    match flushed.and_then(|()| store.checkpoint()) {
        Err(error) if error.is_disk_full() => Ok(()),
        taken => taken,
    }
}

/// Opens the files and recovers.
fn open_inner(
    claim: Claim,
    log_directories: Vec<Arc<dyn Directory>>,
    settings: &Settings,
) -> Result<StoreInner, StoreError> {
    let Claim {
        directory,
        checkpoint,
        lock,
    } = claim;
    let (log, recovered) = Log::open(log_directories, settings.log.clone())?;
    let checkpoint = match checkpoint {
        Some(checkpoint) => checkpoint,
        None => {
            let first = Checkpoint {
                next_number: 1,
                ..Checkpoint::default()
            };
            first
                .write(&*directory)
                .inspect_err(|_| log.stop_flusher())?;
            first
        }
    };
    // Redo skips changes that are not newer than the checkpoint, and the log may have forgotten its LSN.
    log.skip_to(checkpoint.begin);
    let pool = Pool::open(&*directory, PAGES_FILE, settings.pool.clone(), log.clone());
    let pool = pool.inspect_err(|_| log.stop_flusher())?;
    let storage = Storage { pool, log };
    let outcome = recover(&storage, &recovered, &checkpoint)?;
    let catalog = match outcome.catalog {
        Some(root) => Tree { root },
        None => create_catalog(&storage)?,
    };
    let store = StoreInner::new(Parts {
        storage,
        locks: LockManager::new(settings.locks),
        running: Running::new(outcome.next_number),
        catalog,
        checkpoints: CheckpointState::default(),
        directory,
        needs_known: settings.log.policy == FlushPolicy::EagerFlush,
        release: settings.release,
        lock_timeout: settings.lock_timeout,
        escalation_locks: settings.escalation_locks,
        checkpoint_log_bytes: settings.checkpoint_log_bytes,
        lock,
    });
    checkpoint_at_opening(&store)?;
    store.load_tables()?;
    *store.ghost_search.lock() = Search::new(store.trees());
    Ok(store)
}
