//! Reading an ELF file into memory, and the reasons why one cannot be profiled.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use evenkeel_wire::arch::{NAME, SUPPORTED};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache, elf};
use thiserror::Error;

use crate::arch::elf::{MACHINE, MACHINES_32};

/// An ELF file of the supported kind, borrowed from wherever its bytes are.
pub(crate) type Elf<'data> = ElfFile64<'data, LittleEndian>;

/// Why an ELF file cannot be profiled. Each text ends with what to do.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file is missing or may not be read.
    #[error("cannot read {}: {source}; check the path and its permissions", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Another file has the name by now, or none.
    #[error("{} was replaced since the process loaded it, and what was loaded cannot be read; run evenkeel as root, or start the server anew", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not an ELF file; name the program itself", path.display())]
    NotElf {
        /// The file.
        path: PathBuf,
    },
    /// The file is for another processor.
    #[error("{} is built for {machine}; profile it on such a machine, this build of evenkeel is for {NAME}", path.display())]
    WrongMachine {
        /// The file.
        path: PathBuf,
        /// The processor.
        machine: String,
    },
    /// The file is for this processor, on which nothing can be profiled yet.
    #[error("{} cannot be profiled: redirecting calls is not supported on this architecture ({NAME}); profile it on x86-64", path.display())]
    Architecture {
        /// The file.
        path: PathBuf,
    },
    /// The file is a 32-bit program (or an x32 one).
    #[error("{} is a 32-bit program; use a 64-bit build of it", path.display())]
    Not64Bit {
        /// The file.
        path: PathBuf,
    },
    /// An executable without a dynamic loader.
    #[error("{} is statically linked, so no agent can be preloaded into it; link it dynamically", path.display())]
    Static {
        /// The file.
        path: PathBuf,
    },
    /// Made by the Go compiler.
    #[error("{} is built by Go, whose runtime stops at foreign return addresses. Profile it with Go's own tools, or a C library in it: --interval LIBRARY!FUNCTION", path.display())]
    Go {
        /// The file.
        path: PathBuf,
    },
    /// Linked with another C library than the agent.
    #[error("{} is linked with musl, and the agent with glibc: the loader of musl cannot preload it; use a build for glibc", path.display())]
    Musl {
        /// The file.
        path: PathBuf,
    },
    /// Its code cannot be found.
    #[error("{} has no table of sections (sstrip and some packers remove it), without which its code cannot be found. Use a build that keeps it; strip does", path.display())]
    NoSections {
        /// The file.
        path: PathBuf,
    },
    /// The file contradicts itself.
    #[error("{} is damaged or incomplete ({what}); install or build it again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The defect.
        what: String,
    },
}

/// A section that holds instructions.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) addresses: Range<u64>,
    offset: usize,
    /// Stubs that jump to imports, written by the linker.
    pub(crate) stubs: bool,
}

/// A part of the file that the loader maps.
#[derive(Debug)]
struct Segment {
    addresses: Range<u64>,
    offset: usize,
}

/// The bytes of an ELF file and where its instructions are.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) path: PathBuf,
    /// It holds code of the Go compiler.
    pub(crate) go: bool,
    /// Some of it is code of the Haskell compiler GHC.
    pub(crate) haskell: bool,
    data: Vec<u8>,
    /// Sections with instructions, ascending.
    pub(crate) text: Vec<Text>,
    segments: Vec<Segment>,
    /// Where the program begins, 0 for a library.
    pub(crate) start: u64,
    pub(crate) build_id: Vec<u8>,
}

impl Image {
    pub(crate) fn read(path: &Path) -> Result<Image, LoadError> {
        let data = std::fs::read(path).map_err(|source| LoadError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        check_identity(path, &data)?;
        let elf = parse(path, &data)?;
        let go = is_go(&elf);
        if is_static(&elf) {
            let path = path.to_owned();
            return Err(if go {
                LoadError::Go { path }
            } else {
                LoadError::Static { path }
            });
        }
        if interpreter(&elf).is_some_and(|loader| loader.windows(7).any(|part| part == b"ld-musl"))
        {
            return Err(LoadError::Musl {
                path: path.to_owned(),
            });
        }
        if elf.elf_header().e_shoff(LittleEndian) == 0 {
            return Err(LoadError::NoSections {
                path: path.to_owned(),
            });
        }
        let text = text_sections(&elf, data.len());
        if text.is_empty() {
            let what = "no section holds instructions".to_owned();
            return Err(LoadError::Corrupt {
                path: path.to_owned(),
                what,
            });
        }
        let build_id = elf.build_id().ok().flatten().unwrap_or_default().to_vec();
        let start = elf.entry();
        let segments = segments(&elf);
        Ok(Image {
            path: path.to_owned(),
            go,
            haskell: is_haskell(&elf),
            text,
            segments,
            start,
            build_id,
            data,
        })
    }

    /// The parsed file; it was parsed once before, so it parses again.
    pub(crate) fn elf(&self) -> Result<Elf<'_>, LoadError> {
        parse(&self.path, &self.data)
    }

    /// The instructions from `address` to the end of its section.
    pub(crate) fn code_from(&self, address: u64) -> Option<&[u8]> {
        let text = self.text_at(address)?;
        let from = text.offset + (address - text.addresses.start) as usize;
        let to = text.offset + (text.addresses.end - text.addresses.start) as usize;
        Some(&self.data[from..to])
    }

    /// The part of the file that the loader maps from `address` to the end of its segment.
    pub(crate) fn loaded_from(&self, address: u64) -> Option<&[u8]> {
        let within = |segment: &&Segment| segment.addresses.contains(&address);
        let segment = self.segments.iter().find(within)?;
        let from = segment.offset + (address - segment.addresses.start) as usize;
        let to = segment.offset + (segment.addresses.end - segment.addresses.start) as usize;
        self.data.get(from..to)
    }

    /// The instructions of a range, cut at the end of its section.
    pub(crate) fn code(&self, range: &Range<u64>) -> &[u8] {
        let code = self.code_from(range.start).unwrap_or_default();
        &code[..code.len().min((range.end - range.start) as usize)]
    }

    pub(crate) fn text_at(&self, address: u64) -> Option<&Text> {
        let at = self
            .text
            .partition_point(|text| text.addresses.end <= address);
        self.text
            .get(at)
            .filter(|text| text.addresses.contains(&address))
    }

    /// Whether a function can lie at `address`: it is code, and no linker's stub.
    pub(crate) fn holds_functions(&self, address: u64) -> bool {
        self.text_at(address).is_some_and(|text| !text.stubs)
    }
}

/// Checks the first bytes, to say more than that the file does not parse.
fn check_identity(path: &Path, data: &[u8]) -> Result<(), LoadError> {
    let path = || path.to_owned();
    if !data.starts_with(&elf::ELFMAG) {
        return Err(LoadError::NotElf { path: path() });
    }
    let &[_, _, _, _, class, order, ..] = data else {
        return Err(LoadError::Corrupt {
            path: path(),
            what: "it ends in its header".to_owned(),
        });
    };
    let Some(&[low, high]) = data.get(18..20) else {
        return Err(LoadError::Corrupt {
            path: path(),
            what: "it ends in its header".to_owned(),
        });
    };
    let machine = if order == 2 { [high, low] } else { [low, high] };
    match u16::from_le_bytes(machine) {
        MACHINE if class == 2 && SUPPORTED => Ok(()),
        MACHINE if class == 2 => Err(LoadError::Architecture { path: path() }),
        number if MACHINES_32.contains(&number) => Err(LoadError::Not64Bit { path: path() }),
        other => Err(LoadError::WrongMachine {
            path: path(),
            machine: machine_name(other),
        }),
    }
}

/// Names of the machines a server is likely to be built for, by their numbers in the ELF specification.
fn machine_name(number: u16) -> String {
    let name = match number {
        2 | 18 | 43 => "SPARC",
        8 => "MIPS",
        20 => "32-bit PowerPC",
        21 => "64-bit PowerPC",
        22 => "S/390",
        40 => "32-bit ARM",
        62 => "x86-64",
        183 => "64-bit ARM (aarch64)",
        243 => "RISC-V",
        258 => "LoongArch",
        _ => return format!("another machine (ELF number {number})"),
    };
    name.to_owned()
}

fn parse<'data>(path: &Path, data: &'data [u8]) -> Result<Elf<'data>, LoadError> {
    let corrupt = |what: String| LoadError::Corrupt {
        path: path.to_owned(),
        what,
    };
    let elf = Elf::parse(data).map_err(|error| corrupt(error.to_string()))?;
    match elf.elf_header().e_type(LittleEndian) {
        elf::ET_EXEC | elf::ET_DYN => Ok(elf),
        elf::ET_REL => Err(corrupt(
            "it is an object file that was never linked".to_owned(),
        )),
        other => Err(corrupt(format!("its type is {other:?}"))),
    }
}

/// The path of the loader.
pub(crate) fn interpreter<'data>(elf: &Elf<'data>) -> Option<&'data [u8]> {
    elf.elf_program_headers()
        .iter()
        .find_map(|header| header.interpreter(LittleEndian, elf.data()).ok().flatten())
}

/// Sections that Go's linker writes: the table its unwinder reads, and what `go version` reads. (The source of both is
/// cmd/link/internal/ld/data.go.)
fn is_go(elf: &Elf<'_>) -> bool {
    [".gopclntab", ".data.rel.ro.gopclntab", ".go.buildinfo"]
        .into_iter()
        .any(|name| elf.section_by_name(name).is_some())
}

/// Whether GHC compiled a part of it, as the compilers' notes say (`.comment`).
fn is_haskell(elf: &Elf<'_>) -> bool {
    let note = elf.section_by_name(".comment");
    let note = note.and_then(|section| section.data().ok());
    note.is_some_and(|note| {
        note.split(|&byte| byte == 0)
            .any(|by| by.starts_with(b"GHC "))
    })
}

/// An executable without a loader. A shared library has no loader either, but is not an executable: it is distinguished from a
/// static position-independent one by the flag `DF_1_PIE`.
fn is_static(elf: &Elf<'_>) -> bool {
    let has = |kind| {
        elf.elf_program_headers()
            .iter()
            .any(|header| header.p_type(LittleEndian) == kind)
    };
    if has(elf::PT_INTERP) {
        return false;
    }
    elf.elf_header().e_type(LittleEndian) == elf::ET_EXEC || has_pie_flag(elf)
}

fn has_pie_flag(elf: &Elf<'_>) -> bool {
    let Ok(dynamic) = elf.elf_dynamic_table() else {
        return false;
    };
    dynamic
        .iter()
        .any(|entry| entry.tag == elf::DT_FLAGS_1 && entry.val & elf::DF_1_PIE.0 != 0)
}

fn segments(elf: &Elf<'_>) -> Vec<Segment> {
    let mapped = elf.segments().filter_map(|segment| {
        let (offset, size) = segment.file_range();
        let end = segment.address().checked_add(size)?;
        Some(Segment {
            addresses: segment.address()..end,
            offset: usize::try_from(offset).ok()?,
        })
    });
    mapped.collect()
}

fn text_sections(elf: &Elf<'_>, file_bytes: usize) -> Vec<Text> {
    let mut text: Vec<Text> = elf
        .sections()
        .filter_map(|section| {
            let object::SectionFlags::Elf { sh_flags, .. } = section.flags() else {
                return None;
            };
            if sh_flags.0 & elf::SHF_EXECINSTR.0 == 0 {
                return None;
            }
            let (offset, size) = section.file_range()?;
            let inside = offset.checked_add(size)? <= file_bytes as u64;
            let addresses = section.address()..section.address().checked_add(size)?;
            let name = section.name().unwrap_or_default();
            let stubs = name.starts_with(".plt") || name.starts_with(".iplt");
            (inside && size > 0).then_some(Text {
                addresses,
                offset: offset as usize,
                stubs,
            })
        })
        .collect();
    text.sort_by_key(|text| text.addresses.start);
    text
}

/// Names that the ELF file at `path` defines for the loader, without versions. None of files that cannot be read.
pub fn exported(path: &Path) -> HashSet<String> {
    let Ok(file) = std::fs::File::open(path) else {
        return HashSet::new();
    };
    let cache = ReadCache::new(file);
    let Ok(elf) = ElfFile64::<LittleEndian, _>::parse(&cache) else {
        return HashSet::new();
    };
    elf.dynamic_symbols()
        .filter(|symbol| !symbol.is_undefined())
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .collect()
}
