//! Separate debug files: names and source lines of a stripped program.
//!
//! Looked for in the order of GDB ("Debugging Information in Separate Files"): by build id, by `.gnu_debuglink`, and
//! from a debuginfod server if the user has set one.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use memmap2::Mmap;
use object::Object;
use thiserror::Error;

use crate::debuginfod::{self, Debuginfod};
use crate::load::{Elf, Image};

/// Where debug files may come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugSources {
    /// Directories laid out as `/usr/lib/debug`.
    pub roots: Vec<PathBuf>,
    /// Asks debuginfod servers; `None` never uses the network.
    pub debuginfod: Option<Debuginfod>,
}

impl DebugSources {
    /// `/usr/lib/debug`, and debuginfod if `DEBUGINFOD_URLS` is set.
    pub fn from_environment() -> DebugSources {
        let asked = std::env::var_os("DEBUGINFOD_URLS").is_some_and(|urls| !urls.is_empty());
        let debuginfod = asked.then(|| Debuginfod {
            program: PathBuf::from("debuginfod-find"),
            limit: Duration::from_secs(60),
        });
        DebugSources {
            roots: vec![PathBuf::from("/usr/lib/debug")],
            debuginfod,
        }
    }

    /// Only the file itself, and the files in its directory that it names.
    pub fn none() -> DebugSources {
        DebugSources {
            roots: Vec::new(),
            debuginfod: None,
        }
    }
}

/// Something about debug files that the user may want to know. Nothing failed for good.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DebugNote {
    /// A file that should have fitted does not.
    #[error("{} is the debug file of another build and was left out; install the one of this version", path.display())]
    OtherBuild {
        /// The file.
        path: PathBuf,
    },
    /// A file that should have fitted cannot be used.
    #[error("the debug file {} cannot be used: {what}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why it cannot be used.
        what: String,
    },
    /// The symbols in the file's own `.gnu_debugdata` cannot be used.
    #[error("the symbols in .gnu_debugdata of {} cannot be used: {what}", path.display())]
    UnusableSection {
        /// The file.
        path: PathBuf,
        /// Why they cannot be used.
        what: String,
    },
    /// The servers were to be asked, but were not or did not answer.
    #[error("no debug file from debuginfod: {what}")]
    Debuginfod {
        /// Why, and what to do.
        what: String,
    },
}

/// An open debug file.
#[derive(Debug)]
pub(crate) struct DebugFile {
    pub(crate) path: PathBuf,
    /// Mapped, not read: debug files are large, and little of one is needed.
    map: Mmap,
}

impl DebugFile {
    pub(crate) fn open(path: &Path) -> Result<DebugFile, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        // SAFETY: package managers replace debug files by renaming, which leaves what is mapped as it was.
        let map = unsafe { Mmap::map(&file) }.map_err(|error| error.to_string())?;
        let debug = DebugFile {
            path: path.to_owned(),
            map,
        };
        debug.elf()?;
        Ok(debug)
    }

    pub(crate) fn elf(&self) -> Result<Elf<'_>, String> {
        Elf::parse(&*self.map).map_err(|error| error.to_string())
    }

    fn build_id(&self) -> Vec<u8> {
        let elf = self.elf().ok();
        elf.and_then(|elf| elf.build_id().ok().flatten().map(<[u8]>::to_vec))
            .unwrap_or_default()
    }
}

/// The first debug file that fits `image`.
pub(crate) fn find(
    image: &Image,
    sources: &DebugSources,
    notes: &mut Vec<DebugNote>,
) -> Option<DebugFile> {
    let by_id = sources
        .roots
        .iter()
        .filter_map(|root| by_build_id(root, &image.build_id));
    for path in by_id.filter(|path| path.exists()) {
        match DebugFile::open(&path) {
            Ok(debug) if debug.build_id() == image.build_id => return Some(debug),
            Ok(_) => notes.push(DebugNote::OtherBuild { path }),
            Err(what) => notes.push(DebugNote::Unusable { path, what }),
        }
    }
    by_link(image, sources, notes).or_else(|| from_server(image, sources, notes))
}

/// `<root>/.build-id/xx/yyyy.debug`
pub(crate) fn by_build_id(root: &Path, build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let rest = debuginfod::hex(rest);
    Some(
        root.join(".build-id")
            .join(format!("{first:02x}"))
            .join(format!("{rest}.debug")),
    )
}

/// The file that `.gnu_debuglink` names: in the program's directory, in `.debug` there, or under a root.
fn by_link(image: &Image, sources: &DebugSources, notes: &mut Vec<DebugNote>) -> Option<DebugFile> {
    let elf = image.elf().ok()?;
    let (name, checksum) = elf.gnu_debuglink().ok()??;
    let name = OsStr::from_bytes(name);
    let program = std::fs::canonicalize(&image.path).ok()?;
    let directory = program.parent()?;
    let mut places = vec![directory.join(name), directory.join(".debug").join(name)];
    for root in &sources.roots {
        let below = directory.strip_prefix("/").unwrap_or(directory);
        places.push(root.join(below).join(name));
    }
    for path in places
        .into_iter()
        .filter(|path| *path != program && path.exists())
    {
        match file_checksum(&path) {
            Ok(found) if found == checksum => match DebugFile::open(&path) {
                Ok(debug) => return Some(debug),
                Err(what) => notes.push(DebugNote::Unusable { path, what }),
            },
            Ok(_) => notes.push(DebugNote::OtherBuild { path }),
            Err(error) => notes.push(DebugNote::Unusable {
                path,
                what: error.to_string(),
            }),
        }
    }
    None
}

/// The CRC-32 that `.gnu_debuglink` holds of the whole debug file.
fn file_checksum(path: &Path) -> std::io::Result<u32> {
    let mut file = File::open(path)?;
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

fn from_server(
    image: &Image,
    sources: &DebugSources,
    notes: &mut Vec<DebugNote>,
) -> Option<DebugFile> {
    let client = sources.debuginfod.as_ref()?;
    let found = debuginfod::fetch(client, &image.build_id).and_then(|path| {
        DebugFile::open(&path).map_err(|what| format!("{}: {what}", path.display()))
    });
    found
        .map_err(|what| notes.push(DebugNote::Debuginfod { what }))
        .ok()
}
