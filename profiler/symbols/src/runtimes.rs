//! Runtimes in a program, which decide how an agent can be loaded.

use std::path::Path;

use object::LittleEndian;
use object::read::elf::{ElfFile64, FileHeader};

use crate::arch::confining;
use crate::exported;
use crate::frames::Frames;
use crate::load::Image;

/// Libraries that must come first among all that are loaded, or end the program: their wrappers have to stand before everybody
/// else's.
const FIRST: [&str; 6] = [
    "libasan.so",
    "libtsan.so",
    "liblsan.so",
    "libhwasan.so",
    "libubsan.so",
    "libclang_rt.",
];

/// Names of the sanitizers' runtimes that the program at `path` is linked with, as the loader knows them.
pub fn sanitizer_runtimes(path: &Path) -> Vec<String> {
    needed(path)
        .unwrap_or_default()
        .into_iter()
        .filter(|name| FIRST.iter().any(|first| name.starts_with(first)))
        .collect()
}

/// Names of the libraries that the ELF file at `path` is linked with (gABI, "Shared Object Dependencies").
fn needed(path: &Path) -> Option<Vec<String>> {
    let data = std::fs::read(path).ok()?;
    let elf = ElfFile64::<LittleEndian>::parse(&*data).ok()?;
    let sections = elf.elf_header().sections(LittleEndian, &*data).ok()?;
    let (dynamic, strings) = sections.dynamic(LittleEndian, &*data).ok()??;
    let strings = sections.strings(LittleEndian, &*data, strings).ok()?;
    let mut names = Vec::new();
    for entry in dynamic {
        use object::read::elf::Dyn;
        if entry.tag32(LittleEndian) == Some(object::elf::DT_NEEDED.0 as i32) {
            let name = entry.string(LittleEndian, strings).ok()?;
            names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    Some(names)
}

/// Whether the ELF file at `path` holds code of the Go compiler, whose runtime takes breakpoints for its own.
pub fn is_go(path: &Path) -> bool {
    Image::read(path).is_ok_and(|image| image.go)
}

/// Names that sanitizers define in a program that they are linked into.
const SANITIZERS_DEFINE: [&str; 4] = ["__asan_init", "__tsan_init", "__lsan_init", "__hwasan_init"];

/// Whether the ELF file at `path` may install a filter of system calls (seccomp(2)) by an inline instruction instead
/// of a function of the C library. Nothing in the process would notice that. A sanitizer's runtime makes its system
/// calls so, but installs no filter. False also for unreadable files, and for code without frame descriptions.
pub fn may_confine_itself(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if FIRST.iter().any(|first| name.starts_with(first)) {
        return false;
    }
    let Ok(image) = Image::read(path) else {
        return false;
    };
    let Ok(elf) = image.elf() else { return false };
    let mut functions = None;
    let confines = image.text.iter().any(|text| {
        let code = image.code(&text.addresses);
        confining::has_system_call(code) && {
            let functions = functions.get_or_insert_with(|| {
                let frames = Frames::of(&elf).map(|frames| frames.all());
                let frames = frames.unwrap_or_default().into_iter();
                frames.map(|frame| frame.range).collect::<Vec<_>>()
            });
            confining::may_confine(code, text.addresses.start, functions)
        }
    });
    confines && {
        let names = exported(path);
        !SANITIZERS_DEFINE.iter().any(|&name| names.contains(name))
    }
}
