//! Source lines from DWARF, of the program or its debug file.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use addr2line::Context;
use gimli::{Dwarf, EndianArcSlice, LittleEndian, SectionId, UnitRef};
use object::{Object, ObjectSection};

use crate::debug_files::{DebugFile, DebugSources, by_build_id};
use crate::load::{Elf, Image};

type Reader = EndianArcSlice<LittleEndian>;

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    /// The file, as the compiler was given it.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
}

/// The line tables of a module. Parsed when first asked for a unit.
pub(crate) struct Lines(Mutex<Context<Reader>>);

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lines")
    }
}

impl Lines {
    /// `None` if neither file has line tables.
    pub(crate) fn load(
        image: &Image,
        debug_file: Option<&Path>,
        sources: &DebugSources,
    ) -> Option<Lines> {
        let own = image.elf().ok();
        let own = own.filter(|elf| elf.section_by_name(".debug_line").is_some());
        let dwarf = match (own, debug_file) {
            (Some(elf), _) => with_supplement(&elf, &image.path, sources),
            (None, Some(path)) => {
                let debug = DebugFile::open(path).ok()?;
                let elf = debug.elf().ok()?;
                elf.section_by_name(".debug_line")?;
                with_supplement(&elf, path, sources)
            }
            (None, None) => return None,
        };
        Some(Lines(Mutex::new(Context::from_dwarf(dwarf).ok()?)))
    }

    pub(crate) fn line(&self, address: u64) -> Option<SourceLine> {
        let context = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let location = context.find_location(address).ok()??;
        Some(SourceLine {
            file: location.file?.to_owned(),
            line: location.line?,
        })
    }

    /// The result of `ask` in the unit whose code is at `address`.
    pub(crate) fn with_unit<T>(
        &self,
        address: u64,
        ask: impl FnOnce(UnitRef<'_, Reader>) -> Option<T>,
    ) -> Option<T> {
        let context = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        ask(context.find_dwarf_and_unit(address).skip_all_loads()?)
    }

    /// The file of the function that holds `address`, even where the instruction comes from one inlined into it.
    pub(crate) fn function_file(&self, address: u64) -> Option<String> {
        let context = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut frames = context.find_frames(address).skip_all_loads().ok()?;
        let mut file = None;
        while let Ok(Some(frame)) = frames.next() {
            file = frame
                .location
                .and_then(|location| location.file)
                .map(str::to_owned);
        }
        file
    }
}

/// The DWARF of a file, together with what `dwz` moved from it into a file shared by a whole package.
fn with_supplement(elf: &Elf<'_>, path: &Path, sources: &DebugSources) -> Dwarf<Reader> {
    let mut dwarf = sections(elf);
    let shared = supplement(elf, path, sources).and_then(|path| DebugFile::open(&path).ok());
    if let Some(shared) = shared.as_ref().and_then(|shared| shared.elf().ok()) {
        dwarf.set_sup(sections(&shared));
    }
    dwarf
}

fn sections(elf: &Elf<'_>) -> Dwarf<Reader> {
    let load = |id: SectionId| {
        // A section that is missing or damaged is empty: the others remain of use.
        let data = elf
            .section_by_name(id.name())
            .and_then(|section| section.uncompressed_data().ok());
        let data: Arc<[u8]> = Arc::from(data.unwrap_or(Cow::Borrowed(&[])).as_ref());
        Ok::<_, gimli::Error>(EndianArcSlice::new(data, LittleEndian))
    };
    Dwarf::load(load).expect("loading a section never fails")
}

/// The file that `.gnu_debugaltlink` names: by build id, or relative to the file that names it.
fn supplement(elf: &Elf<'_>, path: &Path, sources: &DebugSources) -> Option<PathBuf> {
    let (name, build_id) = elf.gnu_debugaltlink().ok()??;
    let by_id = sources
        .roots
        .iter()
        .filter_map(|root| by_build_id(root, build_id));
    let named = path.parent()?.join(std::str::from_utf8(name).ok()?);
    by_id.chain([named]).find(|path| path.exists())
}
