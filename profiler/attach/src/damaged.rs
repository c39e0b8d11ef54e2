//! Whatever is in a file that a process has mapped, and on a stack: what is asked of it is answered or not, and nothing panics.

use std::fs;
use std::path::PathBuf;
use std::process::{self, Command};
use std::sync::OnceLock;

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSection};
use proptest::prelude::*;

use crate::files::Mapped;
use crate::opened::Elf;
use crate::process::Mapping;
use crate::stacks::{Code, StackWords};
use crate::tracer::Memory;

const SOURCE: &str = "int f(int n) { volatile int a[9]; a[n] = n; return n ? f(n - 1) + a[n] : 0; }\nint main(void) { return f(3); }\n";
/// The address at which the test's file is mapped.
const BASE: u64 = 0x5555_0000_0000;

/// A small program, and what of it would be mapped as code.
struct Program {
    directory: tempfile::TempDir,
    bytes: Vec<u8>,
    /// Address and offset of its code, and how long it is.
    code: [u64; 3],
    /// Where its unwind tables and the section headers are in the file.
    tables: Vec<std::ops::Range<usize>>,
}

fn program() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a directory");
        let (source, path) = (
            directory.path().join("program.c"),
            directory.path().join("program"),
        );
        fs::write(&source, SOURCE).expect("room for it");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let mut build = Command::new(compiler);
        build
            .args(["-O1", "-fPIE", "-pie", "-o"])
            .arg(&path)
            .arg(&source);
        assert!(build.status().expect("a C compiler").success());
        let bytes = fs::read(&path).expect("it was built");
        let elf = Elf::parse(&*bytes).expect("it is an ELF file");
        let is_code = |header: &&elf::ProgramHeader64<LittleEndian>| {
            header.p_type(LittleEndian) == elf::PT_LOAD
                && (header.p_flags(LittleEndian) & elf::PF_X).0 != 0
        };
        let header = elf.elf_program_headers().iter().find(is_code);
        let header = header.expect("it has code");
        let code = [
            header.p_vaddr(LittleEndian),
            header.p_offset(LittleEndian),
            header.p_memsz(LittleEndian),
        ];
        let range = |name: &str| {
            let (offset, bytes) = elf.section_by_name(name)?.file_range()?;
            Some(offset as usize..(offset + bytes) as usize)
        };
        let headers = elf.elf_header().e_shoff(LittleEndian) as usize;
        let headers = headers..headers + 64 * usize::from(elf.elf_header().e_shnum(LittleEndian));
        let names = [".eh_frame", ".eh_frame_hdr", ".dynsym", ".dynstr"];
        let tables = names.into_iter().filter_map(range).chain([headers]);
        let tables = tables.collect();
        Program {
            directory,
            bytes,
            code,
            tables,
        }
    })
}

/// A file with these bytes as a process would have it mapped that began as the program above.
fn mapped(bytes: &[u8]) -> (PathBuf, Vec<Mapped>) {
    let [address, offset, len] = program().code;
    let file = tempfile::NamedTempFile::new_in(program().directory.path()).expect("a file");
    let (_, path) = file.keep().expect("it stays");
    fs::write(&path, bytes).expect("room for it");
    let from = BASE + (address & !4095);
    let mapping = Mapping {
        range: from..from + len.next_multiple_of(4096) + 4096,
        executable: true,
        writable: false,
        offset: offset & !4095,
        inode: 1,
        path: path.to_str().expect("a name in ASCII").to_owned(),
    };
    let files = Mapped::all(process::id() as i32, &[mapping]);
    (path, files)
}

/// Asks all there is to ask; how many calls were found.
fn ask(bytes: &[u8], registers: [u64; 3], words: &[u64]) -> usize {
    let (path, files) = mapped(bytes);
    for file in &files {
        let _ = (file.function("main"), file.build_id(), file.exports());
        let _ = file.leave();
    }
    let memory = Memory::to_read(process::id() as i32).expect("one's own");
    let stack = StackWords {
        registers,
        words,
        kept: &[],
        slots: &[],
    };
    let calls = Code::over(files).calls(&stack, &memory).calls;
    let _ = fs::remove_file(path);
    calls.len()
}

/// A stack of return addresses into the program, from the beginning of its code on.
fn stack(places: &[u64]) -> ([u64; 3], Vec<u64>) {
    let [address, _, len] = program().code;
    let at = |place: &u64| BASE + address + place % len;
    let words: Vec<u64> = places.iter().map(at).collect();
    let sp = 0x7fff_0000_0000;
    ([words[0], sp, sp + 64], words)
}

#[test]
fn the_file_as_it_was_built_is_understood() {
    let (registers, words) = stack(&[0; 4]);
    assert!(ask(&program().bytes, registers, &words) >= 1);
    let (path, files) = mapped(&program().bytes);
    assert_eq!(files.len(), 1);
    assert!(files[0].unwind_module().is_some());
    let (frames, _) = files[0].frames().expect("it has frame descriptions");
    assert!(files[0].search_table(&frames).is_some());
    let _ = fs::remove_file(path);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// In the tables half of the time: the rest of the file is larger.
    #[test]
    fn damage_does_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<bool>(), any::<u8>()), 1..20),
        run in 1..9_usize,
        places in prop::collection::vec(any::<u64>(), 1..64),
    ) {
        let program = program();
        let mut bytes = program.bytes.clone();
        for (table, at, anywhere, value) in changes {
            let table = &program.tables[table.index(program.tables.len())];
            let at = match anywhere {
                true => at.index(bytes.len()),
                false => table.start + at.index(table.len()),
            };
            let end = (at + run).min(bytes.len());
            bytes[at..end].fill(value);
        }
        let (registers, words) = stack(&places);
        ask(&bytes, registers, &words);
    }

    #[test]
    fn cut_files_do_no_harm(end in any::<prop::sample::Index>(), places in prop::collection::vec(any::<u64>(), 1..64)) {
        let bytes = &program().bytes;
        let (registers, words) = stack(&places);
        ask(&bytes[..1 + end.index(bytes.len())], registers, &words);
    }

    /// Section headers of 64 bytes each: address, offset and size may say anything.
    #[test]
    fn changed_section_headers_do_no_harm(
        section in any::<prop::sample::Index>(),
        field in 0..8_usize,
        value in prop_oneof![any::<u64>(), 0..0x10_0000_u64, (0..16_u64).prop_map(|less| u64::MAX - less)],
        places in prop::collection::vec(any::<u64>(), 1..64),
    ) {
        let program = program();
        let mut bytes = program.bytes.clone();
        let headers = program.tables.last().expect("the section headers");
        let at = headers.start + section.index(headers.len() / 64) * 64 + field * 8;
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let (registers, words) = stack(&places);
        ask(&bytes, registers, &words);
    }
}
