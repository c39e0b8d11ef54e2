//! The table of modules: the ELF files that processes of the target have mapped.

use core::sync::atomic::{AtomicU32, Ordering::*};

use crate::{Control, MODULES_MAX};

/// Bytes of a build id that are kept: all of those that linkers make by default (SHA-1).
const BUILD_ID_MAX: usize = 20;

/// Knowledge about a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ModuleState {
    /// Free entry.
    Empty = 0,
    /// An agent waits for the session to judge it.
    Announced = 2,
    /// The plan may refer to it.
    Wanted = 3,
    /// No plan refers to it so far; a process whose executable is judged so leaves at once.
    Ignored = 4,
}

/// An ELF file that is mapped into a process of the target.
#[repr(C)]
pub struct Module {
    /// A [`ModuleState`].
    pub state: AtomicU32,
    /// Bytes of the build id, 0 where the file has none.
    pub build_id_len: u32,
    /// The GNU build id.
    pub build_id: [u8; BUILD_ID_MAX],
    /// Bytes of the path.
    pub path_len: u32,
    /// Process that announced it (its `/proc/PID/root` is where the path leads).
    pub pid: u32,
    /// Hash of the path, by which files without a build id are told apart.
    pub path_hash: u64,
    /// 1: it was announced as the executable of a process, which waits for the verdict.
    pub executable: AtomicU32,
    /// A [`crate::Fixed`]: whether code of a process with this file may be changed before its first instruction only.
    pub fixed: AtomicU32,
    /// 1: a process has mapped the file, or a copy of it, at two addresses at once. It is hooked at one of them.
    pub twice: AtomicU32,
    /// The path, as the loader gave it.
    pub path: [u8; 436],
}

impl Module {
    /// The path as announced.
    pub fn path(&self) -> &[u8] {
        &self.path[..(self.path_len as usize).min(self.path.len())]
    }

    /// The build id, if there is one.
    pub fn build_id(&self) -> Option<&[u8]> {
        (self.build_id_len > 0)
            .then(|| &self.build_id[..(self.build_id_len as usize).min(BUILD_ID_MAX)])
    }
}

/// FNV-1a, for [`Module::path_hash`].
pub const fn path_hash(path: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < path.len() {
        hash = (hash ^ path[i] as u64).wrapping_mul(0x100_0000_01b3);
        i += 1;
    }
    hash
}

/// A file to find in the table, or to add to it.
pub struct File<'a> {
    /// As [`Module::path`].
    pub path: &'a [u8],
    /// As [`Module::build_id`].
    pub build_id: Option<&'a [u8]>,
    /// A process that has mapped it.
    pub pid: u32,
    /// Whether it is that process' executable, which waits for the verdict.
    pub executable: bool,
}

impl File<'_> {
    /// What the table keeps of its build id.
    fn kept_id(&self) -> Option<&[u8]> {
        self.build_id.map(|id| &id[..id.len().min(BUILD_ID_MAX)])
    }

    /// Files with build ids are told apart by them, others by their paths.
    fn is(&self, module: &Module) -> bool {
        match (self.kept_id(), module.build_id()) {
            (Some(wanted), Some(present)) => wanted == present,
            (None, None) => module.path_hash == path_hash(self.path),
            _ => false,
        }
    }

    /// Into an entry that another process may have written a part of before it was killed.
    fn write(&self, module: &mut Module) {
        let id = self.kept_id().unwrap_or_default();
        module.build_id[..id.len()].copy_from_slice(id);
        module.build_id_len = id.len() as u32;
        let len = self.path.len().min(module.path.len());
        module.path[..len].copy_from_slice(&self.path[..len]);
        module.path_len = len as u32;
        module.path_hash = path_hash(self.path);
        module.pid = self.pid;
        module.executable.store(self.executable.into(), Relaxed);
        module.state.store(ModuleState::Announced as u32, Release);
    }
}

/// The table of an arena. Entries below [`Control::modules`] are complete.
pub struct ModuleTable<'a> {
    control: &'a Control,
    first: *mut Module,
}

impl<'a> ModuleTable<'a> {
    /// # Safety
    /// `first` is the first of [`MODULES_MAX`] entries beside this control page.
    pub unsafe fn new(control: &'a Control, first: *mut Module) -> ModuleTable<'a> {
        ModuleTable { control, first }
    }

    /// Entries that are complete.
    pub fn modules(&self) -> &'a [Module] {
        let len = self.control.modules.load(Acquire) as usize;
        // SAFETY: complete entries change in atomic fields only.
        unsafe { core::slice::from_raw_parts(self.first, len.min(MODULES_MAX)) }
    }

    /// The index of a file, which is added if nobody has. `None` when the table is full. Others may be adding files: `pause` is called
    /// until they have done so. The session judges an entry once it is counted. So all of it is written before that.
    pub fn enter(&self, file: &File<'_>, pause: impl Fn()) -> Option<usize> {
        let ticket = self.control.modules_lock.take(pause);
        let modules = self.modules();
        let known = modules.iter().position(|module| file.is(module));
        if let Some(known) = known.filter(|_| file.executable) {
            modules[known].executable.store(1, Release);
        }
        let index = known.or_else(|| self.add(file, modules.len()));
        self.control.modules_lock.release(ticket);
        index
    }

    fn add(&self, file: &File<'_>, len: usize) -> Option<usize> {
        if len == MODULES_MAX {
            return None;
        }
        // SAFETY: the entry beyond the count belongs to the lock's holder.
        file.write(unsafe { &mut *self.first.add(len) });
        self.control.modules.store(len as u32 + 1, Release);
        Some(len)
    }
}
