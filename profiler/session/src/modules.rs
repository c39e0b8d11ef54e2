//! The ELF files of the target, loaded once each.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use evenkeel_symbols::DebugSources;
use evenkeel_symbols::LoadError;
use evenkeel_symbols::Module;

use crate::arena::Arena;

/// Files of the system whose inside is not opened: the loader and the C library, which hold locks that hooks must not
/// meet, and whose blocking functions are leaves that say what they are.
const NEVER_OPENED: &[&str] = &[
    "libc.so",
    "libc-",
    "ld-linux",
    "libpthread",
    "libdl.",
    "libgcc_s",
    "libevenkeel_agent",
];

/// What is known of the files in the arena's table.
#[derive(Default)]
pub struct Modules {
    sources: Option<DebugSources>,
    entries: Vec<Entry>,
    /// What there is to say about debug files that could not be used.
    pub notes: Vec<String>,
}

enum Entry {
    Unread,
    Loaded(Rc<Module>),
    Failed,
}

impl Modules {
    /// The path under which module `index` can be read, as the process that announced it sees it.
    pub fn path(arena: &Arena, index: usize) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        let module = &arena.modules()[index];
        let path = Path::new(std::ffi::OsStr::from_bytes(module.path())).to_owned();
        if path.exists() {
            return path;
        }
        // The process may have another root directory.
        let inside = PathBuf::from(format!("/proc/{}/root{}", module.pid, path.display()));
        if inside.exists() { inside } else { path }
    }

    /// File name of module `index`.
    pub fn name(arena: &Arena, index: usize) -> String {
        let path = String::from_utf8_lossy(arena.modules()[index].path()).into_owned();
        path.rsplit('/').next().unwrap_or(&path).to_owned()
    }

    /// Whether functions of module `index` may be opened.
    pub fn may_open(arena: &Arena, index: usize) -> bool {
        let name = Self::name(arena, index);
        !NEVER_OPENED.iter().any(|never| name.starts_with(never))
    }

    /// Module `index`, read when first asked for.
    ///
    /// # Errors
    /// The file cannot be read; asked again, it answers `Ok(None)`.
    pub fn get(&mut self, arena: &Arena, index: usize) -> Result<Option<Rc<Module>>, LoadError> {
        while self.entries.len() <= index {
            self.entries.push(Entry::Unread);
        }
        if let Entry::Unread = self.entries[index] {
            let sources = self
                .sources
                .get_or_insert_with(DebugSources::from_environment);
            match Module::load(&Self::path(arena, index), sources) {
                Ok(module) => {
                    self.notes
                        .extend(module.notes().iter().map(ToString::to_string));
                    self.entries[index] = Entry::Loaded(Rc::new(module));
                }
                Err(error) => {
                    self.entries[index] = Entry::Failed;
                    return Err(error);
                }
            }
        }
        Ok(match &self.entries[index] {
            Entry::Loaded(module) => Some(module.clone()),
            _ => None,
        })
    }

    /// The module, other than `from`, whose function the loader binds the import `name` to: the first in the order of the
    /// table that defines it.
    pub fn definition(&mut self, arena: &Arena, from: usize, name: &str) -> Option<(usize, u64)> {
        let defines = |&index: &usize| {
            index != from && evenkeel_symbols::exports(&Self::path(arena, index), name)
        };
        let index = (0..arena.modules().len()).find(defines)?;
        if !Self::may_open(arena, index) {
            return None;
        }
        let module = self.get(arena, index).ok()??;
        Some((index, module.find(name).ok()?))
    }
}
