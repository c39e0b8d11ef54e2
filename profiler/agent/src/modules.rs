//! The ELF files mapped into this process, and their places in the arena's table.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering::*};

use evenkeel_patch::LoadedModule;
use evenkeel_wire::module_table::File;
use evenkeel_wire::{Fixed, MODULES_MAX};

use crate::arena::Arena;
use crate::verdict::nap;
use crate::{loader, maps};

/// Modules of one process; further ones are not seen.
pub const LOADED_MAX: usize = 192;

/// The modules of this process as last seen.
pub struct Modules {
    list: [LoadedModule; LOADED_MAX],
    len: usize,
    /// Modules that a pass has found so far. Not on the stack, because a thread may have only a few kilobytes of one.
    fresh: [LoadedModule; LOADED_MAX],
    /// glibc's counts of loads and unloads when the list was made.
    changes: (u64, u64),
}

/// `dl_iterate_phdr`'s report of one file.
struct Seen<'a> {
    bias: u64,
    low: u64,
    high: u64,
    path: &'a [u8],
    build_id: Option<&'a [u8]>,
    executable: bool,
}

impl Seen<'_> {
    /// Whether its path names it to others: not the kernel's page, nor another agent, whose path is by descriptor. In a root directory
    /// without `/proc` the program's path is not known any more: it stays the module that it was.
    fn has_name(&self) -> bool {
        self.path.starts_with(b"/") && !self.path.starts_with(b"/proc/self/fd/")
    }
}

/// By index in the arena's table: what is added to a file's addresses in this process, plus one; 0 where that is not known. For
/// [`address`], which takes no lock: the list is replaced as a whole while others read it.
static BIASES: [AtomicU64; MODULES_MAX] = [const { AtomicU64::new(0) }; MODULES_MAX];

/// Where an address of a module's file lies in this process. Nothing where the module is not loaded.
pub fn address(module: u32, in_file: u64) -> Option<u64> {
    let bias = BIASES.get(module as usize)?.load(Acquire);
    Some(bias.checked_sub(1)?.wrapping_add(in_file))
}

impl Modules {
    /// None seen.
    pub const fn new() -> Modules {
        let none = LoadedModule {
            index: u32::MAX,
            bias: 0,
            low: 0,
            high: 0,
        };
        Modules {
            list: [none; LOADED_MAX],
            len: 0,
            fresh: [none; LOADED_MAX],
            changes: (0, 0),
        }
    }

    /// None seen, again.
    pub fn forget(&mut self) {
        self.len = 0;
        self.changes = (0, 0);
    }

    /// As last seen.
    pub fn list(&self) -> &[LoadedModule] {
        &self.list[..self.len]
    }

    /// Whether one of them is such that the process' code may not be changed for this reason.
    pub fn has(&self, arena: Arena, why: Fixed) -> bool {
        self.list().iter().any(|module| {
            let module = arena.module(module.index as usize);
            module.fixed.load(Acquire) == why as u32
        })
    }

    /// Whether libraries were loaded or unloaded since.
    pub fn changed(&self) -> bool {
        unsafe extern "C" fn first(
            info: *mut libc::dl_phdr_info,
            _: usize,
            counts: *mut c_void,
        ) -> c_int {
            // SAFETY: the loader's structure, and the pair passed below.
            unsafe { *counts.cast() = ((*info).dlpi_adds, (*info).dlpi_subs) };
            1
        }
        let mut counts = (0u64, 0u64);
        // SAFETY: the callback writes one pair.
        unsafe { loader::each_file(first, (&raw mut counts).cast()) };
        counts != (0, 0) && counts != self.changes
    }

    /// Looks again, announcing what the arena does not know, and calls `then` with the list while the loader's lock keeps
    /// everything mapped. Returns the table index of the executable.
    pub fn refresh(
        &mut self,
        arena: Arena,
        then: &mut dyn FnMut(&[LoadedModule]),
    ) -> Option<usize> {
        let mut pass = Pass {
            modules: self,
            arena,
            len: 0,
            executable: None,
            is_first: true,
            then,
        };
        // SAFETY: the callback casts back what is passed here.
        unsafe { loader::each_file(all, (&raw mut pass).cast()) };
        pass.executable
    }
}

/// A pass over what the loader has.
struct Pass<'a> {
    modules: &'a mut Modules,
    arena: Arena,
    /// Number of files found.
    len: usize,
    executable: Option<usize>,
    /// No file was reported yet: the next one is the program.
    is_first: bool,
    then: &'a mut dyn FnMut(&[LoadedModule]),
}

impl Pass<'_> {
    /// A file is mapped.
    fn add(&mut self, seen: &Seen<'_>) {
        if self.len == LOADED_MAX {
            return;
        }
        let known = self.modules.list().iter().find(|module| {
            module.bias == seen.bias && module.low == seen.low && module.high == seen.high
        });
        let index = known
            .map(|module| module.index as usize)
            .or_else(|| seen.has_name().then(|| announce(self.arena, seen))?);
        let Some(index) = index else {
            return;
        };
        let before = &self.modules.fresh[..self.len];
        if before.iter().any(|module| module.index as usize == index) {
            self.arena.module(index).twice.store(1, Relaxed);
        }
        self.modules.fresh[self.len] = LoadedModule {
            index: index as u32,
            bias: seen.bias,
            low: seen.low,
            high: seen.high,
        };
        self.len += 1;
        if seen.executable {
            self.executable = Some(index);
        }
    }

    /// The loader has reported all: the list is replaced at once, as trap handlers look at it.
    fn end(&mut self) {
        self.modules.list = self.modules.fresh;
        self.modules.len = self.len;
        publish_biases(self.modules.list());
        (self.then)(self.modules.list());
    }
}

/// For `dl_iterate_phdr`, which calls it with the first file: takes every file into the pass, and ends it. The loader's lock is held all the
/// time, since a thread may take it more than once: between two looks another thread could add or remove a file.
unsafe extern "C" fn all(_: *mut libc::dl_phdr_info, _: usize, pass: *mut c_void) -> c_int {
    // SAFETY: the pass that `refresh` passes.
    unsafe {
        loader::each_file(visit, pass);
        (*pass.cast::<Pass>()).end();
    }
    1
}

/// For `dl_iterate_phdr`: takes a file into the pass.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, pass: *mut c_void) -> c_int {
    // SAFETY: the loader's structure, and the pass that `refresh` passes.
    let (info, pass) = unsafe { (&*info, &mut *pass.cast::<Pass>()) };
    pass.modules.changes = (info.dlpi_adds, info.dlpi_subs);
    let mut name = [0; 512];
    let is_first = core::mem::replace(&mut pass.is_first, false);
    if let Some(seen) = describe(info, is_first, &mut name) {
        pass.add(&seen);
    }
    0
}

/// Sets what is added to the addresses of each loaded file; unloaded ones lose theirs.
fn publish_biases(list: &[LoadedModule]) {
    for (index, bias) in BIASES.iter().enumerate() {
        let loaded = list.iter().find(|module| module.index as usize == index);
        bias.store(loaded.map_or(0, |module| module.bias + 1), Release);
    }
}

/// Where this library's code lies, from and to, once the loader was asked.
static OWN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Whether an address is in this library's code.
pub fn is_own(address: u64) -> bool {
    (OWN[0].load(Relaxed)..OWN[1].load(Relaxed)).contains(&address)
}

/// `None` for what can never be of interest: files without code, the kernel's page, and this library.
fn describe<'a>(
    info: &'a libc::dl_phdr_info,
    executable: bool,
    name: &'a mut [u8; 512],
) -> Option<Seen<'a>> {
    let bias = info.dlpi_addr;
    // SAFETY: the loader's table of program headers, and the notes they lead to, are mapped.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let code = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
    let low = code.clone().map(|header| bias + header.p_vaddr).min()?;
    let high = code
        .map(|header| bias + header.p_vaddr + header.p_memsz)
        .max()?;
    let here = describe as *const () as u64;
    if (low..high).contains(&here) {
        OWN[0].store(low, Relaxed);
        OWN[1].store(high, Relaxed);
        return None;
    }
    let path = if executable {
        let len = program(low, name);
        &name[..len]
    } else {
        // SAFETY: the loader's zero-terminated name.
        let path = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
        // Relative to a directory that may be another by now; the kernel's page has a name without a directory.
        if !path.starts_with(b"/") && path.contains(&b'/') {
            let len = maps::path_at(low, name);
            &name[..len]
        } else {
            path
        }
    };
    let notes = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_NOTE);
    let build_id = notes.filter_map(|header| {
        // SAFETY: as above.
        let notes = unsafe {
            core::slice::from_raw_parts(
                (bias + header.p_vaddr) as *const u8,
                header.p_memsz as usize,
            )
        };
        build_id(notes)
    });
    let build_id = build_id.take(1).last();
    Some(Seen {
        bias,
        low,
        high,
        path,
        build_id,
        executable,
    })
}

/// The path of the program whose code lies at `code`, and its length: the kernel's own link. There is one exception:
/// the kernel may have started the loader, which was named to run the program (`ld-linux-x86-64.so.2 ./server`, as
/// some wrappers do). Then the kernel has loaded no loader for it (getauxval(3), `AT_BASE`).
fn program(code: u64, path: &mut [u8; 512]) -> usize {
    // SAFETY: looks up a value.
    if unsafe { libc::getauxval(libc::AT_BASE) } == 0 {
        return maps::path_at(code, path);
    }
    let link = c"/proc/self/exe".as_ptr();
    // SAFETY: a buffer of the length passed.
    let len = unsafe { libc::readlink(link, path.as_mut_ptr().cast(), path.len()) };
    len.max(0) as usize
}

/// The NT_GNU_BUILD_ID note among `notes` (gABI, "Note Section").
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: u32 = 3;
    while notes.len() >= 12 {
        let word = |at: usize| {
            u32::from_le_bytes([notes[at], notes[at + 1], notes[at + 2], notes[at + 3]])
        };
        let (name, description, kind) = (word(0) as usize, word(4) as usize, word(8));
        let text = 12 + name.next_multiple_of(4);
        if kind == NT_GNU_BUILD_ID && notes.get(12..12 + name)? == b"GNU\0" {
            return notes.get(text..text + description.min(20));
        }
        notes = notes.get(text + description.next_multiple_of(4)..)?;
    }
    None
}

/// The table index of a file, which is announced if nobody has. `None` when the table is full.
fn announce(arena: Arena, seen: &Seen<'_>) -> Option<usize> {
    let file = File {
        path: seen.path,
        build_id: seen.build_id,
        // SAFETY: no arguments.
        pid: unsafe { libc::getpid() } as u32,
        executable: seen.executable,
    };
    arena.module_table().enter(&file, nap)
}
