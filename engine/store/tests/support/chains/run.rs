//! Going through a plan.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use evenkeel_disk::faults::{Fault, FaultDisk, IO_ERROR, Operation};
use evenkeel_disk::{Directory, File, with_syncs};
use evenkeel_store::{
    ColumnType, Schema, Store, StoreError, Table, Transaction, TransactionOptions, Value,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::model::{Changes, Model, Rows, TABLE, Wrong, apply, read, schema};
use super::plan::{During, Event, Plan, Setting};

/// How long a sync of a thread in the background takes: long enough for a store that does not wait to be gone.
const SLOW: Duration = Duration::from_millis(2);
/// A plan begins with so many pages in use, a little less than the file has room for when it has grown once.
const PAGES: u64 = 246;
/// Ids of rows are below.
const IDS: u64 = 1_000_000;
/// So many transactions at most are tried until a thread in the background is in the midst of a sync.
const UNTIL_WRITING: usize = 30;
/// The same until the page file has got longer.
const UNTIL_GROWN: usize = 20;

/// What the threads of one store do: whether they sync, and whether one still did after the store was gone.
#[derive(Default)]
struct Watch {
    gone: AtomicBool,
    begun: AtomicU64,
    late: AtomicBool,
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

fn open_store(
    disk: &FaultDisk,
    setting: &Setting,
    watch: &Arc<Watch>,
) -> Result<Store, StoreError> {
    let watched = |directory: Arc<dyn Directory>| {
        let watch = Arc::clone(watch);
        with_syncs(directory, move |file| watch.sync(file))
    };
    let logs = (0..setting.streams)
        .map(|stream| Ok(watched(disk.root().subdirectory(&format!("log-{stream}"))?)))
        .collect::<io::Result<Vec<_>>>()
        .map_err(|cause| StoreError::Io {
            doing: "opening a log directory",
            cause: Arc::new(cause),
        })?;
    Store::open_on(watched(disk.root()), logs, setting.settings())
}

/// A store that was filled and closed, and its rows.
fn template(setting: &Setting) -> (FaultDisk, Rows) {
    static TEMPLATES: [OnceLock<(FaultDisk, Rows)>; 5] = [const { OnceLock::new() }; 5];
    let (disk, rows) = TEMPLATES[setting.streams].get_or_init(|| {
        let setting = Setting {
            threads: false,
            frames: 64,
            ..*setting
        };
        let disk = FaultDisk::new();
        let store = open_store(&disk, &setting, &Arc::default()).unwrap();
        let table = store.create_table(schema()).unwrap();
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        while store.verify().unwrap() < PAGES {
            let mut txn = store.begin(TransactionOptions::default());
            for _ in 0..20 {
                let id = rng.random_range(0..IDS) as i64;
                let row = row(id, &(id % 97, "t".repeat(450)));
                txn.put(&table, &row).unwrap();
            }
            txn.commit().unwrap();
        }
        let rows = read(&store).unwrap();
        store.close().unwrap();
        (disk, rows)
    });
    (disk.after_kill(), rows.clone())
}

fn row(id: i64, (number, text): &(i64, String)) -> [Value; 3] {
    [id.into(), (*number).into(), text.as_str().into()]
}

struct Runner<'p> {
    plan: &'p Plan,
    disk: FaultDisk,
    store: Option<Store>,
    /// A transaction that changed rows and has not ended.
    running: Option<Transaction>,
    watch: Arc<Watch>,
    gone: Vec<Arc<Watch>>,
    model: Model,
    rows: Rows,
    rng: Pcg64Mcg,
    capacity: Option<u64>,
    /// A fault is on its way, or has come since the store was opened: errors of the disk are to be expected.
    faulty: bool,
    tables: u64,
}

/// Goes through the plan and, at the end, through a power failure.
pub fn run(plan: &Plan) -> Result<(), String> {
    let (disk, rows) = template(&plan.setting);
    disk.set_seed(plan.seed);
    let mut runner = Runner {
        plan,
        disk,
        store: None,
        running: None,
        watch: Arc::default(),
        gone: Vec::new(),
        model: Model::new(rows.clone()),
        rows,
        rng: Pcg64Mcg::seed_from_u64(plan.seed),
        capacity: None,
        faulty: false,
        tables: 0,
    };
    for (place, event) in plan.events.iter().enumerate() {
        let step = runner.step(*event);
        step.map_err(|what| format!("event {place}, {event:?}: {what}"))?;
    }
    runner
        .finish()
        .map_err(|what| format!("after the last event: {what}"))
}

impl Runner<'_> {
    fn step(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Work(count) => self.with_store(|runner| runner.work(count)),
            Event::Grow(count) => self.with_store(|runner| runner.grow(count)),
            Event::Checkpoint => self.with_store(Runner::checkpoint),
            Event::Close => self.with_store(Runner::close),
            Event::Reopen => self.reopen(),
            Event::CloseWhileWriting => self.with_store(|runner| {
                runner.until_writing()?;
                runner.work(1)?;
                runner.close()
            }),
            Event::ReopenWhileWriting => {
                self.with_store(Runner::until_writing)?;
                self.reopen()
            }
            Event::Kill(during, after) => {
                self.act(during, |runner| runner.cut_after(after))?;
                self.kill();
                Ok(())
            }
            Event::PowerFailure(during, after, image) => {
                self.act(during, |runner| runner.cut_after(after))?;
                self.fail_power(image);
                Ok(())
            }
            Event::FailedSync(during, file, skip) => {
                self.act(during, |runner| runner.fail(Operation::Sync, file, skip))?;
                self.disk.heal();
                Ok(())
            }
            Event::TornWrite(during, file, skip) => {
                self.act(during, |runner| runner.fail(Operation::Write, file, skip))?;
                self.disk.heal();
                Ok(())
            }
            Event::DiskFull(during, room) => {
                let was_faulty = self.faulty;
                self.act(during, |runner| {
                    runner.fill_disk(room);
                    // A full disk is no fault: nothing but an error of that is to be expected.
                    runner.faulty = was_faulty;
                })
            }
            Event::KilledWhileFull {
                room,
                openings,
                after,
                image,
            } => {
                self.with_store(|runner| {
                    runner.fill_disk(room);
                    runner.leave_running_and_log_it()
                })?;
                for opening in 0..openings {
                    self.cut(image);
                    self.cut_after(after + opening);
                    self.faulty = true;
                    self.open()?;
                }
                self.cut(image);
                self.open()
            }
            Event::RacingOpens => self.race(),
            Event::ReadOnly => self.open_read_only(),
            Event::FreeSpace => {
                self.capacity = None;
                self.disk.set_capacity(None);
                // A store that is open writes on.
                match self.store.is_some() && !self.faulty {
                    true => self.work(1),
                    false => Ok(()),
                }
            }
            Event::EvictCache => {
                self.model.lose_cache();
                self.disk.evict_cache();
                Ok(())
            }
        }
    }

    fn finish(mut self) -> Result<(), String> {
        self.step(Event::FreeSpace)?;
        self.disk.heal();
        self.reopen()?;
        self.fail_power(self.plan.seed);
        self.reopen()?;
        self.drop_store();
        if self.plan.setting.threads {
            thread::sleep(2 * SLOW);
        }
        if self
            .gone
            .iter()
            .any(|gone| gone.late.load(Ordering::SeqCst))
        {
            return Err("a thread of a store that was gone synced a file".to_owned());
        }
        Ok(())
    }

    /// Prepares an activity, lets the fault come, and carries it out.
    fn act(&mut self, during: During, fault: impl FnOnce(&mut Self)) -> Result<(), String> {
        match during {
            During::Opening => self.drop_store(),
            During::Working => self.open()?,
            During::Growing => self.with_store(Runner::until_grown)?,
            During::Checkpointing | During::Closing => self.with_store(|runner| runner.work(3))?,
        }
        self.faulty = true;
        fault(self);
        match during {
            During::Working => self.with_store(|runner| {
                runner.leave_one_running();
                runner.work(8)
            }),
            During::Growing => self.with_store(|runner| {
                runner.grow(1)?;
                match runner.store {
                    Some(_) => runner.checkpoint(),
                    None => Ok(()),
                }
            }),
            During::Checkpointing => self.with_store(Runner::checkpoint),
            During::Closing => self.with_store(Runner::close),
            During::Opening => self.open(),
        }
    }

    fn cut_after(&mut self, operations: u64) {
        self.disk.cut_power_at(self.disk.operations() + operations);
    }

    fn fail(&mut self, operation: Operation, file: &str, skip: u64) {
        self.disk.inject(Fault {
            operation,
            name_contains: file.to_owned(),
            skip,
            times: 1,
            error: IO_ERROR,
        });
    }

    /// The disk has so many bytes left.
    fn fill_disk(&mut self, room: u64) {
        let used: u64 = self.disk.files().iter().map(|(_, len)| len).sum();
        self.capacity = Some(used + room);
        self.disk.set_capacity(self.capacity);
    }

    fn kill(&mut self) {
        let left = self.disk.after_kill();
        self.go_on_with(left);
    }

    fn fail_power(&mut self, image: u64) {
        let left = self.disk.after_power_failure(image);
        self.model.lose_cache();
        self.go_on_with(left);
    }

    /// A power failure, or a kill for the image 0.
    fn cut(&mut self, image: u64) {
        match image {
            0 => self.kill(),
            _ => self.fail_power(image),
        }
    }

    /// Begins a transaction that changes many rows and never ends, so that opening has something to undo.
    fn leave_running_and_log_it(&mut self) -> Result<(), String> {
        self.running = None;
        let table = self.table();
        let store = self.store.as_ref().expect("it is open");
        let mut txn = store.begin(TransactionOptions::default());
        for _ in 0..30 {
            let near = self.rng.random_range(0..IDS) as i64;
            let Some((&id, _)) = self.rows.range(near..).next() else {
                continue;
            };
            let text = "r".repeat(self.rng.random_range(0..450) as usize);
            match txn.put(&table, &row(id, &(-1, text))) {
                Ok(()) => {}
                Err(error) if self.is_full(&error) => break,
                Err(error) => {
                    drop(txn);
                    return self.tolerate(&error);
                }
            }
        }
        self.running = Some(txn);
        // What it did is in the log with the next commit.
        self.work(1)
    }

    /// Two open the store at the same time: one of them has it, the other and whoever comes later are refused by name.
    fn race(&mut self) -> Result<(), String> {
        self.drop_store();
        let watches: [Arc<Watch>; 2] = Default::default();
        let opened = thread::scope(|scope| {
            let open = |watch| open_store(&self.disk, &self.plan.setting, watch);
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
        match open_store(&self.disk, &self.plan.setting, &Arc::default()) {
            Err(StoreError::InUse) if self.plan.setting.threads => Ok(()),
            Err(StoreError::InUse) if self.disk.operations() == before => Ok(()),
            Err(StoreError::InUse) => Err("a refused opening changed something".to_owned()),
            Err(error) => Err(format!(
                "an open store is refused for another reason: {error}"
            )),
            Ok(_) => Err("an open store is opened again".to_owned()),
        }
    }

    /// On a read-only disk the store is refused, with an error that says so, and nothing is changed.
    fn open_read_only(&mut self) -> Result<(), String> {
        self.drop_store();
        self.disk.set_read_only(true);
        let before = self.disk.contents();
        let opened = open_store(&self.disk, &self.plan.setting, &Arc::default());
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

    /// The process that had the old disk is gone.
    fn go_on_with(&mut self, disk: FaultDisk) {
        disk.set_capacity(self.capacity);
        self.disk = disk;
        // Whatever these do, they do to the old one.
        (self.running, self.store) = (None, None);
        self.faulty = false;
    }

    fn with_store(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        self.open()?;
        match self.store {
            Some(_) => act(self),
            None => Ok(()),
        }
    }

    /// Opens the store, unless it is open or the disk prevents it, and checks it.
    fn open(&mut self) -> Result<(), String> {
        if self.store.is_some() {
            return Ok(());
        }
        self.watch = Arc::default();
        match open_store(&self.disk, &self.plan.setting, &self.watch) {
            Ok(store) => self.take(store),
            Err(error) if error.is_disk_full() && !self.faulty => {
                Err(format!("it is not opened on the full disk: {error}"))
            }
            Err(error) => self.tolerate(&error),
        }
    }

    /// Checks a store just opened, to go on with it.
    fn take(&mut self, store: Store) -> Result<(), String> {
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

    fn reopen(&mut self) -> Result<(), String> {
        self.drop_store();
        self.open()
    }

    /// The store is gone without a close.
    fn drop_store(&mut self) {
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

    /// What the disk says because of a fault is no failure of the store, which is then opened again.
    fn tolerate(&mut self, error: &StoreError) -> Result<(), String> {
        let full = self.capacity.is_some() && error.is_disk_full();
        let expected = self.faulty || full;
        let of_the_disk = error.disk_error().is_some() || matches!(error, StoreError::Stopped(_));
        if !expected || !of_the_disk {
            return Err(format!("an error out of place: {error}"));
        }
        self.faulty = true;
        self.drop_store();
        Ok(())
    }

    fn table(&self) -> Table {
        let store = self.store.as_ref().expect("it is open");
        store.table(TABLE).expect("it was checked")
    }

    fn work(&mut self, count: u64) -> Result<(), String> {
        for _ in 0..count {
            if self.store.is_some() {
                let operations = 1 + self.rng.random_range(0..4);
                let changes = (0..operations).map(|_| self.change()).collect();
                self.transaction(changes)?;
            }
        }
        Ok(())
    }

    /// A row to be updated, inserted or deleted.
    fn change(&mut self) -> (i64, Option<(i64, String)>) {
        let near = self.rng.random_range(0..IDS) as i64;
        let known = self.rows.range(near..).next().map(|(&id, _)| id);
        let number = self.rng.random_range(0..1000) as i64;
        let text = "w".repeat(self.rng.random_range(0..500) as usize);
        match (known, self.rng.random_range(0..5)) {
            (Some(id), 0) => (id, None),
            (Some(id), 1..4) => (id, Some((number, text))),
            _ => (near, Some((number, text))),
        }
    }

    fn grow(&mut self, count: u64) -> Result<(), String> {
        for _ in 0..count {
            if self.store.is_none() {
                return Ok(());
            }
            if self.rng.random_range(0..3) == 0 {
                self.create_table()?;
                continue;
            }
            let text = "g".repeat(450);
            let rows = (0..40).map(|_| {
                (
                    self.rng.random_range(0..IDS) as i64,
                    Some((7, text.clone())),
                )
            });
            let rows = rows.collect();
            self.transaction(rows)?;
        }
        Ok(())
    }

    /// Inserts until the page file has got longer, if that does not take too long: nothing behind its old end is durable
    /// then.
    fn until_grown(&mut self) -> Result<(), String> {
        let len = |disk: &FaultDisk| {
            let files = disk.files();
            files
                .iter()
                .find(|(name, _)| name == "pages")
                .map(|&(_, len)| len)
        };
        let before = len(&self.disk);
        for _ in 0..UNTIL_GROWN {
            if self.store.is_none() || len(&self.disk) != before {
                break;
            }
            let text = "u".repeat(450);
            let rows = (0..8).map(|_| {
                (
                    self.rng.random_range(0..IDS) as i64,
                    Some((8, text.clone())),
                )
            });
            let rows = rows.collect();
            self.transaction(rows)?;
        }
        Ok(())
    }

    fn create_table(&mut self) -> Result<(), String> {
        self.tables += 1;
        let name = format!("table {} {}", self.tables, self.rng.random_range(0..IDS));
        let mut schema = Schema::new(&name).column("id", ColumnType::Int);
        schema = schema.primary_key(["id"]);
        for index in 0..12 {
            schema = schema.index(format!("index {index}"), ["id"]);
        }
        let store = self.store.as_ref().expect("it is open");
        match store.create_table(schema) {
            Ok(_) => self.model.made_table(&name),
            Err(error) if self.is_full(&error) => return self.reads_go_on(),
            Err(error) => self.tolerate(&error)?,
        }
        Ok(())
    }

    fn transaction(&mut self, changes: Changes) -> Result<(), String> {
        let table = self.table();
        let store = self.store.as_ref().expect("it is open");
        let mut txn = store.begin(TransactionOptions::default());
        for (&id, new) in &changes {
            let done = match new {
                Some(new) => txn.put(&table, &row(id, new)),
                None => txn.delete(&table, &[id.into()]).map(drop),
            };
            match done {
                Ok(()) => {}
                // The transaction that is left running has the row, or its neighbour.
                Err(StoreError::LockTimeout) => return Ok(()),
                Err(error) if self.is_full(&error) => {
                    return match txn.rollback() {
                        Ok(()) => self.reads_go_on(),
                        Err(error) if self.faulty => self.tolerate(&error),
                        Err(error) => Err(format!("undoing on the full disk: {error}")),
                    };
                }
                Err(error) => {
                    drop(txn);
                    return self.tolerate(&error);
                }
            }
        }
        if self.rng.random_range(0..8) == 0 {
            return match txn.rollback() {
                Ok(()) => Ok(()),
                Err(error) => self.tolerate(&error),
            };
        }
        match txn.commit() {
            Ok(()) => {
                apply(&mut self.rows, &changes);
                self.model.committed(changes, self.plan.setting.policy);
                Ok(())
            }
            Err(error) => {
                if matches!(error, StoreError::CommitUnknown(_)) {
                    self.model.in_doubt(changes);
                }
                self.tolerate(&error)
            }
        }
    }

    /// Begins a transaction, changes rows, and leaves it so.
    fn leave_one_running(&mut self) {
        if self.rng.random_range(0..2) == 0 {
            return;
        }
        let table = self.table();
        let store = self.store.as_ref().expect("it is open");
        let mut txn = store.begin(TransactionOptions::default());
        for _ in 0..3 {
            let near = self.rng.random_range(0..IDS) as i64;
            if let Some((&id, _)) = self.rows.range(near..).next() {
                // Whether it can be done does not matter.
                let _ = txn.put(&table, &row(id, &(-1, "running".to_owned())));
            }
        }
        self.running = Some(txn);
    }

    fn checkpoint(&mut self) -> Result<(), String> {
        let store = self.store.as_ref().expect("it is open");
        match store.checkpoint() {
            Ok(()) => {
                self.model.all_durable();
                Ok(())
            }
            Err(error) if self.is_full(&error) => self.reads_go_on(),
            Err(error) => self.tolerate(&error),
        }
    }

    /// Whether a statement failed only because the disk is full: then the store must go on.
    fn is_full(&self, error: &StoreError) -> bool {
        let unharmed = !matches!(error, StoreError::CommitUnknown(_) | StoreError::Stopped(_));
        self.capacity.is_some() && !self.disk.power_is_off() && unharmed && error.is_disk_full()
    }

    /// Whatever was acknowledged is read, though the disk is full.
    fn reads_go_on(&mut self) -> Result<(), String> {
        self.running = None;
        let Some(store) = &self.store else {
            return Ok(());
        };
        match read(store) {
            Ok(rows) if rows == self.rows => Ok(()),
            Ok(_) => Err("other rows than those committed are read on the full disk".to_owned()),
            Err(Wrong::Contents(what)) => Err(what),
            // Another fault may come meanwhile.
            Err(Wrong::Store(error)) if self.faulty => self.tolerate(&error),
            Err(Wrong::Store(error)) => Err(format!("reading on the full disk: {error}")),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        self.running = None;
        let Some(store) = &self.store else {
            return Ok(());
        };
        match store.close() {
            Ok(()) => {
                self.model.all_durable();
                let dirty = store.statistics().pool.dirty;
                self.drop_store();
                match dirty {
                    0 => Ok(()),
                    dirty => Err(format!("{dirty} dirty pages after a clean close")),
                }
            }
            Err(error) => self.tolerate(&error),
        }
    }

    /// Works until a thread in the background is in the midst of a sync.
    fn until_writing(&mut self) -> Result<(), String> {
        self.running = None;
        if !self.plan.setting.threads {
            return Ok(());
        }
        let begun = self.watch.begun.load(Ordering::SeqCst);
        for _ in 0..UNTIL_WRITING {
            if self.store.is_none() || self.watch.begun.load(Ordering::SeqCst) > begun {
                break;
            }
            self.work(1)?;
        }
        Ok(())
    }
}
