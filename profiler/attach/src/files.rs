//! The ELF files that a process has mapped: where their symbols lie in it, and how its stacks are unwound.

use std::fs::{self, File};
use std::ops::{Deref, Range};
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use object::elf::{DF_1_PIE, DT_FLAGS_1, ET_EXEC};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};
use object::{LittleEndian, Object, ObjectSection, ObjectSegment};

use crate::error::Refused;
use crate::opened::{Elf, Export, Opened};
use crate::permission::not_permitted;
use crate::process::{self, Mapping};
use crate::tracer::Memory;

/// A part of a mapped file.
#[derive(Clone)]
pub struct Part {
    file: Arc<Opened>,
    range: Range<usize>,
}

impl Deref for Part {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.file.bytes()[self.range.clone()]
    }
}

/// A file as a process has it mapped.
pub struct Mapped {
    /// The path as the process saw it.
    pub path: String,
    /// From its lowest address to its highest.
    pub range: Range<u64>,
    /// Difference to the file's addresses.
    pub bias: u64,
    file: Arc<Opened>,
}

/// A file with code that a process has loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its path as the process' loader knows it.
    pub path: PathBuf,
    /// Its build id, if it has one.
    pub build_id: Option<Vec<u8>>,
}

/// How often to look at a process whose program is just being replaced, and the pause between. The kernel maps a
/// program within microseconds, but on a busy machine it may wait for a CPU.
const LOOKS: u32 = 200;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// The files of a process, its program first.
///
/// # Errors
/// The process has ended, or may not be inspected; or its program cannot be read as one, or is replaced again and
/// again.
pub fn loaded(pid: i32) -> Result<Vec<Loaded>, Refused> {
    for _ in 0..LOOKS {
        let image = process::image(pid);
        let program = fs::read_link(process::program(pid)).map_err(|_| not_permitted(pid))?;
        let mappings = process::mappings(pid).map_err(|_| not_permitted(pid))?;
        let mut files = Mapped::all(pid, &mappings);
        if let Some(first) = program_among(&files, &program) {
            files.swap(0, first);
            let loaded = files.iter().map(|file| Loaded {
                path: PathBuf::from(&file.path),
                build_id: file.build_id(),
            });
            return Ok(loaded.collect());
        }
        // It may have executed a program in between, or be in the middle of that.
        let is_same = image.is_some_and(|image| !image.is_being_made());
        if is_same && process::image(pid) == image {
            let why = format!(
                "what it runs, {}, cannot be read as a program of this machine; run evenkeel as root, and where that file can be read",
                program.display()
            );
            return Err(Refused::Unfit { pid, why });
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    let why =
        "it executes one program after another; attach to it once it stays with one".to_owned();
    Err(Refused::Unfit { pid, why })
}

/// Which of the files is the program. What the kernel has started may be the loader, where that was named to run the program
/// (`ld-linux-x86-64.so.2 ./server`, as some wrappers do).
fn program_among(files: &[Mapped], started: &Path) -> Option<usize> {
    let is_loader = started.to_str().is_some_and(process::is_loader);
    let behind_loader = is_loader.then(|| files.iter().position(Mapped::is_program));
    let as_started = || {
        files
            .iter()
            .position(|file| started == Path::new(&file.path))
    };
    behind_loader.flatten().or_else(as_started)
}

/// Whether a mapping is of no file: one between those of a file belongs to that. So does its code, if the program moved it to huge pages.
fn is_of_no_file(mapping: &Mapping) -> bool {
    mapping.path.is_empty() || mapping.path.starts_with("/anon_hugepage")
}

impl Mapped {
    /// The files with code among these mappings, as far as they can be read.
    pub fn all(pid: i32, mappings: &[Mapping]) -> Vec<Mapped> {
        let started = fs::read_link(process::program(pid)).unwrap_or_default();
        let is_started = |mapping: &Mapping| started == Path::new(&mapping.path);
        let mut code = mappings.iter().filter(|mapping| mapping.executable);
        let has_moved = !code.any(is_started);
        let mut files: Vec<Vec<&Mapping>> = Vec::new();
        for mapping in mappings.iter().filter(|mapping| !is_of_no_file(mapping)) {
            match files.last_mut() {
                Some(parts) if parts[0].path == mapping.path => parts.push(mapping),
                _ => files.push(vec![mapping]),
            }
        }
        let named = files.iter().filter(|parts| parts[0].path.starts_with('/'));
        named
            .filter_map(|parts| Mapped::open(pid, parts, has_moved && is_started(parts[0])))
            .collect()
    }

    /// The code that the kernel maps into every process, which answers what the time is: a file in memory alone.
    pub fn of_kernel(mappings: &[Mapping], memory: &Memory) -> Option<Mapped> {
        let mapping = mappings.iter().find(|mapping| mapping.path == "[vdso]")?;
        let mut bytes = vec![0; (mapping.range.end - mapping.range.start) as usize];
        memory.read(mapping.range.start, &mut bytes).ok()?;
        // SAFETY: a name that ends with a zero; the answer is a new descriptor or an error.
        let file = unsafe {
            let descriptor = libc::memfd_create(c"vdso".as_ptr(), libc::MFD_CLOEXEC);
            (descriptor >= 0).then(|| File::from_raw_fd(descriptor))?
        };
        file.write_all_at(&bytes, 0).ok()?;
        let file = Opened::now(&file)?;
        let first = file.elf()?.segments().next()?.address();
        Some(Mapped {
            path: mapping.path.clone(),
            range: mapping.range.clone(),
            bias: mapping.range.start.wrapping_sub(first),
            file: Arc::new(file),
        })
    }

    /// `has_moved`: its code lies there no longer, and any part will do to find out where it was.
    fn open(pid: i32, parts: &[&Mapping], has_moved: bool) -> Option<Mapped> {
        let (first, last) = (*parts.first()?, *parts.last()?);
        let code = parts.iter().copied().find(|part| part.executable);
        let code = code.or(has_moved.then_some(first))?;
        // A file that was replaced or lies in memory is reached by its mapping.
        let by_mapping = code.file(pid);
        let file = if code.path.ends_with(process::DELETED) {
            File::open(by_mapping)
        } else {
            File::open(process::readable(pid, &code.path)).or_else(|_| File::open(by_mapping))
        };
        let file = Opened::of(&file.ok()?)?;
        let elf = file.elf()?;
        let segment = elf.segments().find(|segment| {
            let (offset, bytes) = segment.file_range();
            (offset & !4095..offset.saturating_add(bytes)).contains(&code.offset)
                && (!code.executable || matches!(segment.flags(), object::SegmentFlags::Elf { p_flags, .. } if (p_flags & object::elf::PF_X).0 != 0))
        })?;
        let bias = code.range.start.wrapping_sub(
            segment
                .address()
                .wrapping_add(code.offset)
                .wrapping_sub(segment.file_range().0),
        );
        Some(Mapped {
            path: code.path.clone(),
            range: first.range.start..last.range.end,
            bias,
            file,
        })
    }

    /// Whether it was linked as a program, at a fixed place or not. Otherwise it is a library (gABI, `ET_EXEC`;
    /// `DF_1_PIE` of GNU and LLVM).
    fn is_program(&self) -> bool {
        let Some(elf) = self.elf() else {
            return false;
        };
        let of_tables = elf
            .elf_program_headers()
            .iter()
            .filter_map(|header| header.dynamic(LittleEndian, elf.data()).ok().flatten())
            .flatten();
        let mut flags = of_tables.filter(|entry| entry.d_tag(LittleEndian) == DT_FLAGS_1);
        elf.elf_header().e_type(LittleEndian) == ET_EXEC
            || flags.any(|entry| entry.d_val(LittleEndian) & DF_1_PIE.0 != 0)
    }

    fn elf(&self) -> Option<Elf<'_>> {
        self.file.elf()
    }

    /// Where a function of this name lies in the process.
    pub fn function(&self, name: &str) -> Option<u64> {
        let address = self.file.defined(name)?;
        Some(address.wrapping_add(self.bias))
    }

    /// What it exports, by address: by the file's addresses.
    pub(crate) fn exports(&self) -> &[Export] {
        self.file.exports()
    }

    /// Its build id.
    pub fn build_id(&self) -> Option<Vec<u8>> {
        Some(self.elf()?.build_id().ok()??.to_owned())
    }

    /// Where code lies in the process that returns from a signal's handler.
    pub(crate) fn leave(&self) -> Option<u64> {
        Some(self.file.leave()?.wrapping_add(self.bias))
    }

    /// Where a section lies by the file's addresses, and what it holds. The table of sections may say anything: nothing that runs
    /// needs it.
    fn section(&self, name: &str) -> Option<(Range<u64>, Part)> {
        let elf = self.elf()?;
        let section = elf.section_by_name(name)?;
        let (offset, bytes) = section.file_range()?;
        let range = offset as usize..offset.checked_add(bytes)? as usize;
        self.file.bytes().get(range.clone())?;
        let low = section.address();
        let part = Part {
            file: self.file.clone(),
            range,
        };
        Some((low..low.checked_add(section.size())?, part))
    }

    /// Where its code lies by the file's addresses, and the code as it was built: hooks are not in it.
    pub(crate) fn text(&self) -> Option<(Range<u64>, Part)> {
        self.section(".text")
    }

    /// The search table over frame descriptions that lie there.
    pub(crate) fn search_table(&self, frames: &Range<u64>) -> Option<(Range<u64>, Part)> {
        let (range, table) = self.section(".eh_frame_hdr")?;
        leads_into(&table, range.start, frames).then_some((range, table))
    }

    /// Where its frame descriptions lie, and what they are.
    pub(crate) fn frames(&self) -> Option<(Range<u64>, Part)> {
        self.section(".eh_frame")
    }

    /// An unwinder's view of it; `None` where it has no unwind tables.
    pub fn unwind_module(&self) -> Option<framehop::Module<Part>> {
        let (frames_at, frames) = self.frames()?;
        let (table_at, table) = self.search_table(&frames_at).unzip();
        let (text_svma, text) = self.text().unzip();
        let got_svma = self.section(".got").map(|(range, _)| range);
        let sections = framehop::ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma,
            text,
            got_svma,
            eh_frame_svma: Some(frames_at),
            eh_frame: Some(frames),
            eh_frame_hdr_svma: table_at,
            eh_frame_hdr: table,
            stubs_svma: None,
            stub_helper_svma: None,
            unwind_info: None,
            debug_frame: None,
            text_segment_svma: None,
            text_segment: None,
        };
        Some(framehop::Module::new(
            self.path.clone(),
            self.range.clone(),
            self.bias,
            sections,
        ))
    }
}

/// Whether the search table of an `.eh_frame_hdr` at this address lies within the frame descriptions, in the form
/// that linkers write (Linux Standard Base, "The .eh_frame_hdr section"). Without a table the unwinder makes one.
/// With another form, the reading library computes differences that may overflow.
fn leads_into(table: &[u8], address: u64, frames: &Range<u64>) -> bool {
    // Version 1; `.eh_frame` relative to this word, a plain count, and entries relative to the table, all of four
    // bytes.
    let [1, 0x1b, 0x03, 0x3b, words @ ..] = table else {
        return false;
    };
    let [frames_at, count, entries @ ..] = words.as_chunks::<4>().0 else {
        return false;
    };
    let at = |from: u64, word: &[u8; 4]| from.wrapping_add_signed(i32::from_le_bytes(*word).into());
    let count = u32::from_le_bytes(*count) as usize;
    let entries = entries.as_chunks::<2>().0.get(..count);
    at(address.wrapping_add(4), frames_at) == frames.start
        && entries.is_some_and(|entries| {
            let mut entries = entries.iter();
            entries.all(|[_, description]| frames.contains(&at(address, description)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shell that executes itself again and again is looked at all the while.
    #[test]
    fn a_process_that_executes_programs_is_never_refused() {
        const PROGRAM: &str = r#"[ "$1" -gt 0 ] || exit 0; exec sh -c "$0" "$0" $(($1 - 1))"#;
        let mut child = std::process::Command::new("sh")
            .args(["-c", PROGRAM, PROGRAM, "1500"])
            .spawn()
            .expect("sh");
        let pid = child.id() as i32;
        let mut looked_at = 0;
        while process::started(pid).is_some() {
            match loaded(pid) {
                Ok(files) => looked_at += usize::from(!files.is_empty()),
                Err(Refused::Gone { .. }) => {}
                Err(why) => panic!("after {looked_at} looks: {why}"),
            }
        }
        assert!(looked_at > 0);
        assert!(child.wait().expect("it has ended").success());
    }
}
