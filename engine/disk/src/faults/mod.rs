//! A disk in memory that fails as disks do.
//!
//! All reads see a page cache. A successful sync brings the disk below it up to date. A [kill](FaultDisk::after_kill)
//! leaves both, a [power failure](FaultDisk::after_power_failure) the disk alone with some of what was on its way:
//! unsynced sectors lost, reordered or torn, unsynced names missing. A failed sync writes a part and takes the rest
//! for clean, as Linux does: the cache still has it, until it is [evicted](FaultDisk::evict_cache). Names are kept in
//! the order of their changes, as by a journalling file system. A failed [`Directory::sync`] loses none that a later
//! one does not write.
//!
//! Every operation that changes something is counted. So a test can run a workload to the end, then again for each n
//! with the power cut at the n-th operation, and check several images that may remain. Deterministic: the same calls
//! and seeds give the same disks.

mod inode;
mod names;
mod simulated;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::SeedableRng;

use crate::Directory;
use inode::Inode;
use names::NameTable;
use simulated::SimulatedDirectory;

/// Decides, by seed, what failures leave.
type Rng = rand_pcg::Pcg64Mcg;

/// The kinds of operations that can be made to fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// [`File::read_at`](crate::File::read_at).
    Read,
    /// [`File::write_at`](crate::File::write_at).
    Write,
    /// [`File::sync_data`](crate::File::sync_data).
    Sync,
    /// [`File::set_len`](crate::File::set_len).
    SetLen,
    /// [`Directory::open`] of a file that does not exist.
    Create,
    /// [`Directory::rename`].
    Rename,
    /// [`Directory::remove`].
    Remove,
    /// [`Directory::sync`].
    SyncDirectory,
}

/// An error to be returned on demand.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The operation that fails.
    pub operation: Operation,
    /// Only on files whose `directory/name` contains this; empty for all.
    pub name_contains: String,
    /// Number of matching operations that succeed first.
    pub skip: u64,
    /// Number of operations that then fail.
    pub times: u64,
    /// The error number of the operating system, e.g. 5 (EIO) or 28 (ENOSPC).
    pub error: i32,
}

/// EIO: the device failed.
pub const IO_ERROR: i32 = 5;
/// ENOSPC: no space is left.
pub const NO_SPACE: i32 = 28;
/// EDQUOT: this user has used up the space given to it.
pub const QUOTA_EXCEEDED: i32 = 122;
/// EROFS: the file system is read-only.
pub const READ_ONLY: i32 = 30;

/// A disk in memory; clones are handles of the same disk.
#[derive(Clone)]
pub struct FaultDisk {
    state: Arc<Mutex<State>>,
}

/// Everything on the disk, and what shall go wrong with it.
#[derive(Default)]
struct State {
    inodes: Vec<Inode>,
    names: NameTable,
    locks: BTreeSet<String>,
    operations: u64,
    syncs: u64,
    cut_at: Option<u64>,
    off: bool,
    faults: Vec<Fault>,
    capacity: Option<Capacity>,
    read_only: bool,
    /// Decides what failed writes and syncs leave.
    seed: u64,
}

/// The disk's capacity.
#[derive(Clone, Copy)]
struct Capacity {
    /// The sum of the files' lengths.
    bytes: u64,
    /// The error of a write beyond it.
    error: i32,
}

impl FaultDisk {
    /// An empty disk on which nothing goes wrong.
    #[allow(clippy::new_without_default, reason = "a disk is made on purpose")]
    pub fn new() -> FaultDisk {
        FaultDisk::of(State::default())
    }

    fn of(state: State) -> FaultDisk {
        FaultDisk {
            state: Arc::new(Mutex::new(state)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its root directory.
    pub fn root(&self) -> Arc<dyn Directory> {
        Arc::new(SimulatedDirectory::new(self.clone(), String::new()))
    }

    /// Operations so far that change something: writes, syncs, length changes, creations, renames, removals.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Number of successful syncs of files.
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// Cuts the power in the middle of the operation that [`operations`](Self::operations) will number
    /// `operation`; it and all later ones fail. With [`after_kill`](Self::after_kill) it is the process that ended there.
    pub fn cut_power_at(&self, operation: u64) {
        self.state().cut_at = Some(operation);
    }

    /// Whether the power has been cut.
    pub fn power_is_off(&self) -> bool {
        self.state().off
    }

    /// A new disk with contents that the power failure may have left, chosen by `seed`; this one is not changed.
    pub fn after_power_failure(&self, seed: u64) -> FaultDisk {
        let state = self.state();
        let rng = &mut Rng::seed_from_u64(seed);
        FaultDisk::of(State {
            names: state.names.after_power_failure(rng),
            inodes: state
                .inodes
                .iter()
                .map(|inode| inode.after_power_failure(rng))
                .collect(),
            seed,
            ..State::default()
        })
    }

    /// A new disk as the next process finds it after this one was killed: nothing lost, nothing more durable than
    /// before.
    pub fn after_kill(&self) -> FaultDisk {
        let state = self.state();
        FaultDisk::of(State {
            names: state.names.clone(),
            inodes: state.inodes.clone(),
            seed: state.seed,
            ..State::default()
        })
    }

    /// Drops clean pages from the page cache: what failed syncs did not write disappears as well.
    pub fn evict_cache(&self) {
        self.state().inodes.iter_mut().for_each(Inode::evict);
    }

    /// Chooses what failing writes and syncs leave on the disk.
    pub fn set_seed(&self, seed: u64) {
        self.state().seed = seed;
    }

    /// Makes operations fail; several faults add up.
    pub fn inject(&self, fault: Fault) {
        self.state().faults.push(fault);
    }

    /// Takes back all injected faults.
    pub fn heal(&self) {
        self.state().faults.clear();
    }

    /// Limits the sum of the files' lengths; writes beyond fail with ENOSPC after writing a part. `None`: no limit.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        let error = NO_SPACE;
        self.state().capacity = bytes.map(|bytes| Capacity { bytes, error });
    }

    /// Like [`set_capacity`](Self::set_capacity) with EDQUOT: other users still have space.
    pub fn set_quota(&self, bytes: Option<u64>) {
        let error = QUOTA_EXCEEDED;
        self.state().capacity = bytes.map(|bytes| Capacity { bytes, error });
    }

    /// Makes every change fail with EROFS.
    pub fn set_read_only(&self, read_only: bool) {
        self.state().read_only = read_only;
    }

    /// `directory/name` and length in bytes of every file, sorted.
    pub fn files(&self) -> Vec<(String, u64)> {
        let state = self.state();
        let describe = |((directory, name), &inode): (&(String, String), &usize)| {
            let len = state.inodes[inode].visible().len() as u64;
            (path(directory, name), len)
        };
        state.names.all().map(describe).collect()
    }

    /// The names with the bytes of every file, as a process reads them.
    pub fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        let read = |((directory, name), &inode): (&(String, String), &usize)| {
            (
                path(directory, name),
                state.inodes[inode].visible().to_vec(),
            )
        };
        state.names.all().map(read).collect()
    }

    /// Changes the byte at `offset` of a file by exclusive or with `mask`, durably and unnoticed.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn damage(&self, file: &str, offset: u64, mask: u8) {
        let mut state = self.state();
        let (directory, name) = file.rsplit_once('/').unwrap_or(("", file));
        let inode = state.names.get(directory, name).expect("a file to damage");
        state.inodes[inode].damage(offset as usize, mask);
    }
}

impl fmt::Debug for FaultDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.files()).finish()
    }
}

/// Result of an operation's admission.
enum Admission {
    /// Carry it out.
    Granted,
    /// The power goes during it: its change may be left or not.
    PowerFails,
}

impl State {
    /// Counts an operation and decides whether it happens.
    fn admit(&mut self, operation: Operation, file: &str) -> io::Result<Admission> {
        self.check_power()?;
        if operation != Operation::Read {
            self.operations += 1;
            self.syncs += u64::from(operation == Operation::Sync);
            if self.cut_at == Some(self.operations) {
                self.off = true;
                return Ok(Admission::PowerFails);
            }
            // A sync with nothing to write succeeds on a read-only file system.
            let changes = !matches!(operation, Operation::Sync | Operation::SyncDirectory);
            if self.read_only && changes {
                return Err(io::Error::from_raw_os_error(READ_ONLY));
            }
        }
        for fault in &mut self.faults {
            let applies = fault.operation == operation && file.contains(&fault.name_contains);
            if !applies || fault.times == 0 {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
            } else {
                fault.times -= 1;
                return Err(io::Error::from_raw_os_error(fault.error));
            }
        }
        Ok(Admission::Granted)
    }

    /// A generator for what the operation counted last leaves if it fails.
    fn rng(&self) -> Rng {
        Rng::seed_from_u64(self.seed ^ self.operations.rotate_left(32))
    }

    fn check_power(&self) -> io::Result<()> {
        if self.off {
            return Err(power_is_off());
        }
        Ok(())
    }

    /// How many bytes a file may grow to, given that it is `len` long now.
    fn room_for(&self, len: u64) -> u64 {
        let Some(capacity) = self.capacity else {
            return u64::MAX;
        };
        let used: u64 = self
            .names
            .all()
            .map(|(_, &inode)| self.inodes[inode].visible().len() as u64)
            .sum();
        len + capacity.bytes.saturating_sub(used)
    }

    /// The error of who wants more.
    fn is_full(&self) -> io::Error {
        let error = self.capacity.map_or(NO_SPACE, |capacity| capacity.error);
        io::Error::from_raw_os_error(error)
    }
}

fn path(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    }
}

fn power_is_off() -> io::Error {
    io::Error::other("the simulated disk's power is off")
}
