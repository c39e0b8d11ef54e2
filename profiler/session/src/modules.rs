//! The ELF files of the target, loaded once each.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use evenkeel_attach::namespace;
use evenkeel_attach::process::{self, DELETED};
use evenkeel_symbols::DebugSources;
use evenkeel_symbols::LoadError;
use evenkeel_symbols::Module;
use evenkeel_wire::Module as Announced;

use crate::arena::Arena;
use crate::location::Location;
use evenkeel_intervals::presets::PRESETS;

/// Files of the system that are not expanded: the loader and the C library. They hold locks that hooks must not meet,
/// and their blocking functions are leaves with known meanings.
const NEVER_OPENED: &[&str] = &[
    "libc.so",
    "libc-",
    "ld-linux",
    "libpthread",
    "libdl.",
    "libgcc_s",
];

/// How the path of a file begins that was loaded by its descriptor, as agents are that are brought into a running
/// process.
const LOADED_BY_DESCRIPTOR: &[u8] = b"/proc/self/fd/";

/// Whether the file has been replaced, or removed, since it was loaded.
fn was_replaced(module: &Announced) -> bool {
    module.path().ends_with(DELETED.as_bytes())
}

fn replaced(module: &Announced) -> LoadError {
    let path = String::from_utf8_lossy(module.path()).into_owned();
    let path = path.trim_end_matches(DELETED).into();
    LoadError::Replaced { path }
}

/// A copy of a file that was replaced or removed, which a process still has mapped: as its program, or by a mapping,
/// for which the kernel wants more rights.
fn kept_by_process(module: &Announced) -> Option<PathBuf> {
    if !was_replaced(module) {
        return None;
    }
    let pid = module.pid as i32;
    if module.executable.load(Acquire) != 0 {
        return Some(process::program(pid));
    }
    let mappings = process::mappings(pid).ok()?;
    let mut code = mappings.iter().filter(|mapping| mapping.executable);
    let code = code.find(|mapping| mapping.path.as_bytes() == module.path())?;
    Some(code.file(pid))
}

/// Whether a path means another file to the process than it does here (chroot, containers).
fn has_other_root(pid: u32) -> bool {
    let pid = pid as i32;
    let root = std::fs::read_link(namespace::file(pid, "root"));
    let mounts = std::fs::read_link(namespace::file(pid, "ns/mnt"));
    let own = std::fs::read_link("/proc/self/ns/mnt").ok();
    root.is_ok_and(|root| root != Path::new("/")) || mounts.is_ok_and(|of| Some(of) != own)
}

/// What is known of the files in the arena's table.
#[derive(Default)]
pub struct Modules {
    sources: Option<DebugSources>,
    entries: Vec<Entry>,
    /// What each module defines for the loader: read once, since hundreds of imports may be asked for.
    exported: Vec<HashSet<String>>,
    /// Entries of the arena's table that have their verdict.
    judged: usize,
    /// What there is to say about debug files that could not be used.
    pub notes: Vec<String>,
}

#[derive(Clone)]
enum Entry {
    Unread,
    Loaded(Rc<Module>),
    Failed(Arc<LoadError>),
}

impl Modules {
    /// The path under which module `index` can be read, as the process that announced it sees it.
    pub fn path(arena: &Arena, index: usize) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        let module = &arena.modules()[index];
        let path = Path::new(std::ffi::OsStr::from_bytes(module.path())).to_owned();
        if path.exists() && !has_other_root(module.pid) {
            return path;
        }
        if let Some(kept) = kept_by_process(module).filter(|kept| kept.exists()) {
            return kept;
        }
        // Messages name it: by a number that their reader knows.
        let process = namespace::outer(module.pid as i32);
        let inside = PathBuf::from(format!("/proc/{process}/root{}", path.display()));
        if inside.exists() { inside } else { path }
    }

    /// File name of module `index`.
    pub fn name(arena: &Arena, index: usize) -> String {
        let path = String::from_utf8_lossy(arena.modules()[index].path()).into_owned();
        let path = path.trim_end_matches(DELETED);
        path.rsplit('/').next().unwrap_or(path).to_owned()
    }

    /// The same, and nothing for the executable.
    pub(crate) fn library(arena: &Arena, index: usize) -> String {
        match arena.modules()[index].executable.load(Relaxed) {
            0 => Self::name(arena, index),
            _ => String::new(),
        }
    }

    /// Whether functions of module `index` may be opened. An agent's never are, that of an earlier session included:
    /// the loader knows one that was handed over by the descriptor that it was loaded from.
    pub(crate) fn may_open(arena: &Arena, index: usize) -> bool {
        let path = arena.modules()[index].path();
        let name = Self::name(arena, index);
        !path.starts_with(LOADED_BY_DESCRIPTOR)
            && !evenkeel_attach::is_agent(&name)
            && !NEVER_OPENED.iter().any(|never| name.starts_with(never))
    }

    /// The next module that has no verdict yet.
    pub(crate) fn next_to_judge(&mut self, arena: &Arena) -> Option<usize> {
        let index = self.judged;
        self.judged = arena.modules().len().min(index + 1);
        (index < self.judged).then_some(index)
    }

    /// Module `index`, read when first asked for.
    ///
    /// # Errors
    /// The file cannot be read: the same error each time.
    pub fn get(&mut self, arena: &Arena, index: usize) -> Result<Rc<Module>, Arc<LoadError>> {
        if self.entries.len() <= index {
            self.entries.resize(index + 1, Entry::Unread);
        }
        if let Entry::Unread = self.entries[index] {
            let program = Self::name(arena, index);
            let module = &arena.modules()[index];
            self.entries[index] = self.read(&Self::path(arena, index), &program, module);
        }
        match &self.entries[index] {
            Entry::Loaded(module) => Ok(module.clone()),
            Entry::Failed(error) => Err(error.clone()),
            Entry::Unread => unreachable!("just read"),
        }
    }

    fn read(&mut self, path: &Path, program: &str, announced: &Announced) -> Entry {
        let sources = self
            .sources
            .get_or_insert_with(DebugSources::from_environment);
        let is_same = |module: &Module| match announced.build_id() {
            Some(id) => module.build_id().starts_with(id),
            None => true,
        };
        let loaded = match Module::load(path, sources) {
            Ok(module) if !is_same(&module) => Err(replaced(announced)),
            Err(LoadError::Unreadable { .. }) if was_replaced(announced) => {
                Err(replaced(announced))
            }
            loaded => loaded,
        };
        match loaded {
            Ok(mut module) => {
                let program = Path::new(program);
                if let Some(preset) = PRESETS.iter().find(|preset| preset.fits(program)) {
                    module.infer_names(&preset.fingerprints());
                }
                let notes = module.notes().iter().map(ToString::to_string);
                self.notes.extend(notes);
                Entry::Loaded(Rc::new(module))
            }
            Err(error) => {
                if let LoadError::Replaced { .. } = error {
                    self.notes
                        .push(format!("{error}: none of its functions are opened"));
                }
                Entry::Failed(Arc::new(error))
            }
        }
    }

    /// The function that the loader binds the import `name` to: of the first module in the order of the table that
    /// defines it. That may be the importing module itself: a library without `-Bsymbolic` calls its own exported
    /// functions through its own linkage table.
    pub fn definition(&mut self, arena: &Arena, name: &str) -> Option<Location> {
        let index = self.defining(arena, name)?;
        if !Self::may_open(arena, index) {
            return None;
        }
        let module = self.get(arena, index).ok()?;
        Some(Location::new(index, module.find(name).ok()?))
    }

    /// That module, also where its functions are not opened.
    pub fn defining(&mut self, arena: &Arena, name: &str) -> Option<usize> {
        for index in self.exported.len()..arena.modules().len() {
            let names = evenkeel_symbols::exported(&Self::path(arena, index));
            self.exported.push(names);
        }
        self.exported.iter().position(|names| names.contains(name))
    }
}
