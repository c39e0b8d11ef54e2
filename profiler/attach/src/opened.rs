//! Files with code, each opened and read once: a server's processes map the same ones, and one process starts after the other.

use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use memmap2::Mmap;
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol};

use crate::arch::frame::RETURN;

/// An ELF file of the supported kind.
pub(crate) type Elf<'data> = ElfFile64<'data, LittleEndian>;

/// Files that are kept open; beyond that all are forgotten.
const FILES_MAX: usize = 256;

/// What a file defines for others.
#[derive(Debug)]
pub struct Export {
    /// Where, by the file's addresses.
    pub range: Range<u64>,
    /// Under which name.
    pub name: Box<str>,
}

/// An open file, and what was found in it, by its own addresses.
pub(crate) struct Opened {
    bytes: Mmap,
    /// Functions and data that it defines for others, by name.
    defined: OnceLock<HashMap<Box<str>, u64>>,
    /// What it defines with a length, by address.
    exports: OnceLock<Vec<Export>>,
    /// Code that returns from a signal's handler.
    leave: OnceLock<Option<u64>>,
}

/// Which file it is, and which of its contents.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Opened {
    /// The contents of a file. One that was opened before and has not changed is the same again.
    pub(crate) fn of(file: &File) -> Option<Arc<Opened>> {
        static FILES: Mutex<Option<HashMap<Identity, Arc<Opened>>>> = Mutex::new(None);
        let metadata = file.metadata().ok()?;
        let identity = Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        };
        let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
        let files = files.get_or_insert_default();
        if let Some(opened) = files.get(&identity) {
            return Some(opened.clone());
        }
        if files.len() >= FILES_MAX {
            files.clear();
        }
        let opened = Arc::new(Opened::now(file)?);
        files.insert(identity, opened.clone());
        Some(opened)
    }

    /// The contents of a file that nobody opens again.
    pub(crate) fn now(file: &File) -> Option<Opened> {
        Some(Opened {
            // SAFETY: read only; a file that is truncated in between ends this process, as it would end the process
            // that runs it.
            bytes: unsafe { Mmap::map(file).ok()? },
            defined: OnceLock::new(),
            exports: OnceLock::new(),
            leave: OnceLock::new(),
        })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn elf(&self) -> Option<Elf<'_>> {
        Elf::parse(&*self.bytes).ok()
    }

    /// Where it defines what has this name.
    pub(crate) fn defined(&self, name: &str) -> Option<u64> {
        let read = || {
            let elf = self.elf();
            let symbols = elf.iter().flat_map(|elf| elf.dynamic_symbols());
            let mut defined = HashMap::new();
            for symbol in symbols.filter(|symbol| !symbol.is_undefined()) {
                if let Ok(name) = symbol.name() {
                    // Of several versions, the first.
                    defined.entry(name.into()).or_insert(symbol.address());
                }
            }
            defined
        };
        self.defined.get_or_init(read).get(name).copied()
    }

    /// Functions and data that it defines with a length, by address.
    pub(crate) fn exports(&self) -> &[Export] {
        let read = || {
            let elf = self.elf();
            let symbols = elf.iter().flat_map(|elf| elf.dynamic_symbols());
            let exports = symbols.filter(|symbol| symbol.is_definition());
            let mut exports: Vec<Export> = exports
                .filter_map(|symbol| {
                    let low = symbol.address();
                    let name = symbol.name().ok()?.into();
                    let range = low..low.checked_add(symbol.size())?;
                    (!range.is_empty()).then_some(Export { range, name })
                })
                .collect();
            exports.sort_by_key(|export| export.range.start);
            exports
        };
        self.exports.get_or_init(read)
    }

    /// The first place in its code that returns from a signal's handler.
    pub(crate) fn leave(&self) -> Option<u64> {
        let find = || {
            let elf = self.elf()?;
            let text = elf.section_by_name(".text")?;
            let mut places = text.data().ok()?.windows(RETURN.len());
            let at = places.position(|bytes| bytes == RETURN)?;
            Some(text.address().wrapping_add(at as u64))
        };
        *self.leave.get_or_init(find)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_is_opened_once_until_it_changes() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"one").expect("room");
        let first = Opened::of(&file).expect("it is there");
        assert!(Arc::ptr_eq(
            &first,
            &Opened::of(&file).expect("it is there")
        ));
        file.write_all(b" more").expect("room");
        let second = Opened::of(&file).expect("it is there");
        assert_eq!(second.bytes(), b"one more");
    }

    #[test]
    fn functions_of_the_c_library_are_found() {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("one's own");
        let of_library = maps.lines().find(|line| line.contains("/libc.so.6"));
        let path = of_library.and_then(|line| line.split_whitespace().last());
        let file = File::open(path.expect("it is linked with it")).expect("it is there");
        let library = Opened::of(&file).expect("it is there");
        let elf = library.elf().expect("it is one");
        for name in ["dlopen", "syscall", "__errno_location"] {
            let mut symbols = elf.dynamic_symbols();
            let listed = symbols.find(|symbol| symbol.name() == Ok(name));
            assert_eq!(library.defined(name), listed.map(|symbol| symbol.address()));
        }
        assert_eq!(library.defined("no such function"), None);
        assert!(library.leave().is_some());
    }
}
