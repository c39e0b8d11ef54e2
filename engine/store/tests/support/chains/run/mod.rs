//! Going through a plan: what each event is made of. What goes wrong is in [`faults`], what opening may say in [`opening`], and what is
//! done with the open store in [`work`].

mod faults;
mod opening;
mod work;

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::thread;

use evenkeel_disk::faults::FaultDisk;
use evenkeel_store::{FlushPolicy, Release, Store, Transaction, TransactionOptions};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::model::{Model, Rows, read, schema};
use super::plan::{Event, Plan, StoreSetup};
use opening::{SLOW, Watch, open_store};
use work::{IDS, row, text};

/// Pages in use at the beginning of a plan, a little fewer than the file has room for when it has grown once.
const PAGES: u64 = 246;

/// A store that was filled and closed, and its rows: the same for all chains with this many streams.
fn template(streams: usize) -> (FaultDisk, Rows) {
    static TEMPLATES: [OnceLock<(FaultDisk, Rows)>; 5] = [const { OnceLock::new() }; 5];
    let (disk, rows) = TEMPLATES[streams].get_or_init(|| {
        let setting = StoreSetup {
            streams,
            policy: FlushPolicy::EagerFlush,
            release: Release::WhenLogged,
            frames: 64,
            threads: false,
        };
        let disk = FaultDisk::new();
        let store = open_store(&disk, &setting, streams, &Arc::default()).unwrap();
        let table = store.create_table(schema()).unwrap();
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        while store.verify().unwrap() < PAGES {
            let mut txn = store.begin(TransactionOptions::default());
            for _ in 0..20 {
                let id = rng.random_range(0..IDS) as i64;
                let row = row(id, &(id % 97, text(id as u64, 450)));
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

struct Runner<'p> {
    plan: &'p Plan,
    /// The plan's, as changed since.
    setting: StoreSetup,
    /// Largest number of streams that the log has had, some of them perhaps no longer used.
    streams_max: usize,
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
    let (disk, rows) = template(plan.setting.streams);
    disk.set_seed(plan.seed);
    let mut runner = Runner {
        plan,
        setting: plan.setting,
        streams_max: plan.setting.streams,
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
            Event::LongRow => self.with_store(Runner::long_row),
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
            Event::Failure(during, operation, file, skip, times) => {
                self.act(during, |runner| {
                    runner.fail(operation, file, skip, times);
                })?;
                self.disk.heal();
                match self.running {
                    // It may have what would be read.
                    Some(_) => Ok(()),
                    None => self.reads_go_on(),
                }
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
                self.openings_cut_short(openings, after, image)
            }
            Event::Change {
                running,
                streams,
                policy,
                frames,
            } => {
                self.change_settings(running, streams, policy)?;
                self.setting.frames = frames;
                Ok(())
            }
            Event::RacingOpens => self.race(),
            Event::ReadOnly => self.open_read_only(),
            Event::FreeSpace => self.free_space(),
            Event::EvictCache => {
                self.model.lose_cache();
                self.disk.evict_cache();
                Ok(())
            }
        }
    }

    fn openings_cut_short(&mut self, openings: u64, after: u64, image: u64) -> Result<(), String> {
        for opening in 0..openings {
            self.cut(image);
            self.cut_after(after + opening);
            self.faulty = true;
            self.open()?;
        }
        self.cut(image);
        self.open()
    }

    fn free_space(&mut self) -> Result<(), String> {
        self.capacity = None;
        self.disk.set_capacity(None);
        // A store that is open writes on.
        match self.store.is_some() && !self.faulty {
            true => self.work(1),
            false => Ok(()),
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
}
