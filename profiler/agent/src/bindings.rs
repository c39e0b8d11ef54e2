//! Functions of the C library replaced by this library's in modules that are loaded already.
//!
//! A preloaded library comes first when the loader binds imports. A library that is loaded later changes bindings:
//! the words through which a module calls its imports, and those in which it keeps addresses of functions
//! (`DT_JMPREL` and `DT_RELA` of the gABI). Words that the program has changed, and words that lead to its own
//! definition, are left alone. So are the C library, the loader and this library itself.
//!
//! Other threads run at the same time, and one of them may be loading a library: a later pass handles modules that
//! the loader is still working on.

use core::ffi::{CStr, c_int, c_void};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

use evenkeel_patch::kernel::system_call;

use crate::arch::relocations::FUNCTIONS;
use crate::loader;
use crate::next::{self, Next};

/// Which functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Functions that could block SIGTRAP, change its handler, forbid system calls, or limit memory. Functions that could
    /// leave hooked calls, or begin threads that cannot be followed. Unwinders, which must find the way out of hooked calls.
    Always,
    /// Functions that wait, too.
    All,
    /// Functions that wait, and only where libraries of a Java program call them: the JVM's own code is left alone.
    JavaWaits,
    /// Functions that unwinders call. They ask for trampolines that are to come, too.
    Unwinders,
}

impl Which {
    fn wants(self, next: &Next, file: &[u8]) -> bool {
        let is_of_jvm = || JVM.iter().any(|stem| file.starts_with(stem));
        match self {
            Which::Always => ALWAYS.contains(&next.name()),
            Which::All => true,
            Which::Unwinders => next.name() == c"_dl_find_object",
            Which::JavaWaits => !ALWAYS.contains(&next.name()) && !is_of_jvm(),
        }
    }
}

/// The JVM, and its launcher.
const JVM: &[&[u8]] = &[b"libjvm.so", b"libjli.so", b"java"];

/// The functions of [`Which::Always`].
const ALWAYS: &[&CStr] = &[
    c"sigaction",
    c"signal",
    c"pthread_sigmask",
    c"sigprocmask",
    c"prctl",
    c"syscall",
    c"ppoll",
    c"__ppoll_chk",
    c"pselect",
    c"epoll_pwait",
    c"epoll_pwait2",
    c"sigsuspend",
    c"longjmp",
    c"_longjmp",
    c"siglongjmp",
    c"__longjmp_chk",
    c"_dl_find_object",
    c"setrlimit",
    c"setrlimit64",
    c"prlimit",
    c"prlimit64",
    c"mlockall",
    c"clone",
];

/// Functions that stay bound after the session: the arena stays mapped. Limits of the address space have to allow for
/// it, and locks of memory to leave it out. Unwinders have to find the way out of calls that were in flight.
const KEPT: &[&CStr] = &[
    c"setrlimit",
    c"setrlimit64",
    c"prlimit",
    c"prlimit64",
    c"mlockall",
    c"_dl_find_object",
];

/// Modules that call the C library's functions past us, as they do when this library is preloaded, or are it.
const LEFT_ALONE: &[&[u8]] = &[
    b"libc.so",
    b"libc-2.",
    b"libpthread",
    b"ld-linux",
    b"ld-2.",
    b"libdl",
];

const DT_PLTRELSZ: u64 = 2;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_JMPREL: u64 = 23;
const RELA_BYTES: u64 = 24;
const SYMBOL_BYTES: u64 = 24;
/// Where a symbol has the number of the section that defines it; 0: another module does.
const SYMBOL_SECTION: u64 = 6;
const PAGE: u64 = 4096;

/// Whether the last pass has left out what was being loaded.
static IS_INCOMPLETE: AtomicBool = AtomicBool::new(false);

/// Whether [`bind`] has to be called again.
pub fn is_incomplete() -> bool {
    IS_INCOMPLETE.load(Relaxed)
}

/// Binds the imports of all loaded modules to this library's functions.
pub fn bind(which: Which) {
    each_import(&|word, next, module, file| {
        let wanted = which.wants(next, file);
        let present = word.load(Relaxed);
        // A word that was not bound yet leads to the module's own stub.
        let is_unbound = module.contains(&present) && next.is_first();
        (wanted && (present == next.get() as u64 || is_unbound)).then_some(next.own())
    });
}

/// Binds them to the C library's again, except for [`KEPT`].
pub fn unbind() {
    each_import(&|word, next, _, _| {
        let ours = word.load(Relaxed) == next.own() && !KEPT.contains(&next.name());
        ours.then_some(next.get() as u64)
    });
}

/// Chooses the new content of a word of a module, which is in this file, if it is to change.
type Choose<'a> = &'a dyn Fn(&AtomicU64, &Next, &Range<u64>, &[u8]) -> Option<u64>;

/// One pass over all imports.
struct Pass<'a> {
    names: Names,
    choose: Choose<'a>,
}

fn each_import(choose: Choose<'_>) {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _: usize,
        pass: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader's structure, whose tables are mapped while it calls; and what is passed below.
        unsafe { module(&*info, &*pass.cast::<Pass<'_>>()) };
        0
    }
    IS_INCOMPLETE.store(false, Relaxed);
    let replaced = next::all().filter(|next| next.is_replaced());
    let pass = Pass {
        names: Names::of(replaced.map(Next::name)),
        choose,
    };
    // SAFETY: the callback casts back what is passed here.
    unsafe { loader::each_file(visit, (&raw const pass).cast_mut().cast()) };
}

/// A set of names that holds some others, too. Libraries have thousands of imports: nearly all are told from ours by one look.
struct Names([u64; Names::BITS / 64]);

impl Names {
    const BITS: usize = 8192;

    fn of(names: impl Iterator<Item = &'static CStr>) -> Names {
        let mut set = Names([0; Names::BITS / 64]);
        for name in names {
            // SAFETY: a text that ends with a zero.
            let bit = unsafe { Names::bit(name.as_ptr().cast()) };
            set.0[bit / 64] |= 1 << (bit % 64);
        }
        set
    }

    /// Whether a name, which ends with a zero, may be one of them.
    unsafe fn may_have(&self, name: *const u8) -> bool {
        // SAFETY: the caller's.
        let bit = unsafe { Names::bit(name) };
        self.0[bit / 64] >> (bit % 64) & 1 != 0
    }

    /// FNV-1a (Fowler, Noll, Vo), of 32 bits.
    unsafe fn bit(name: *const u8) -> usize {
        let mut hash = 0x811c_9dc5_u32;
        for at in 0.. {
            // SAFETY: up to the zero.
            let byte = unsafe { name.add(at).read() };
            if byte == 0 {
                break;
            }
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        (hash ^ hash >> 16) as usize % Names::BITS
    }
}

#[derive(Default)]
struct Tables {
    names: u64,
    symbols: u64,
    relocations: [Range<u64>; 2],
}

unsafe fn module(info: &libc::dl_phdr_info, pass: &Pass<'_>) {
    let bias = info.dlpi_addr;
    // SAFETY: the loader's table and name.
    let (headers, name) = unsafe {
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
        (headers, CStr::from_ptr(info.dlpi_name).to_bytes())
    };
    let file = name.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let extent =
        |header: &libc::Elf64_Phdr| bias + header.p_vaddr..bias + header.p_vaddr + header.p_memsz;
    let loaded = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD)
        .map(extent);
    let low = loaded.clone().map(|range| range.start).min().unwrap_or(0);
    let whole = low..loaded.map(|range| range.end).max().unwrap_or(0);
    let is_agent = name.starts_with(b"/proc/self/fd/") || file.starts_with(b"libevenkeel_agent");
    if is_agent
        || whole.contains(&(module as *const () as u64))
        || LEFT_ALONE.iter().any(|stem| file.starts_with(stem))
        || file.starts_with(b"linux-vdso")
    {
        return;
    }
    let Some(dynamic) = headers
        .iter()
        .find(|header| header.p_type == libc::PT_DYNAMIC)
    else {
        return;
    };
    // The loader protects whole pages only (`_dl_protect_relro` of glibc).
    let read_only = headers
        .iter()
        .find(|header| header.p_type == libc::PT_GNU_RELRO)
        .map(extent)
        .map(|range| range.start & !(PAGE - 1)..range.end & !(PAGE - 1))
        .filter(|range| !range.is_empty());
    if read_only
        .as_ref()
        .is_some_and(|range| is_writable(range.start))
    {
        IS_INCOMPLETE.store(true, Relaxed);
        return;
    }
    // SAFETY: the module is mapped; the tables are its own.
    unsafe {
        let tables = tables(bias, &extent(dynamic));
        for range in &tables.relocations {
            let mut at = range.start;
            while at + RELA_BYTES <= range.end {
                import(at, bias, &tables, &whole, &read_only, (pass, file));
                at += RELA_BYTES;
            }
        }
    }
}

/// The tables of a module, from its dynamic section, in which the loader has put addresses.
unsafe fn tables(bias: u64, dynamic: &Range<u64>) -> Tables {
    let mut tables = Tables::default();
    let (mut bytes, mut at) = ([0; 2], dynamic.start);
    while at + 16 <= dynamic.end {
        // SAFETY: inside the section.
        let (tag, value) = unsafe { ((at as *const u64).read(), (at as *const u64).add(1).read()) };
        at += 16;
        let address = if value < bias { value + bias } else { value };
        match tag {
            0 => break,
            DT_STRTAB => tables.names = address,
            DT_SYMTAB => tables.symbols = address,
            DT_JMPREL => tables.relocations[0].start = address,
            DT_RELA => tables.relocations[1].start = address,
            DT_PLTRELSZ => bytes[0] = value,
            DT_RELASZ => bytes[1] = value,
            _ => {}
        }
    }
    for (range, bytes) in tables.relocations.iter_mut().zip(bytes) {
        range.end = if range.start == 0 {
            0
        } else {
            range.start + bytes
        };
    }
    tables
}

unsafe fn import(
    at: u64,
    bias: u64,
    tables: &Tables,
    module: &Range<u64>,
    read_only: &Option<Range<u64>>,
    (pass, file): (&Pass<'_>, &[u8]),
) {
    // SAFETY: an entry of the module's tables; `Rela { offset, info, addend }` and `Sym { name, .. }`.
    unsafe {
        let entry = at as *const u64;
        let (place, info) = (entry.read() + bias, entry.add(1).read());
        let (kind, symbol) = (info as u32, info >> 32);
        if symbol == 0 || !FUNCTIONS.contains(&kind) || !module.contains(&place) || place % 8 != 0 {
            return;
        }
        let symbol = tables.symbols + symbol * SYMBOL_BYTES;
        if ((symbol + SYMBOL_SECTION) as *const u16).read() != 0 {
            return;
        }
        let name = (symbol as *const u32).read();
        let name = (tables.names + u64::from(name)) as *const u8;
        if !pass.names.may_have(name) {
            return;
        }
        let is_of = |next: &&Next| next.is_replaced() && is_same(next.name(), name);
        let Some(next) = next::all().find(is_of) else {
            return;
        };
        let word = &*(place as *const AtomicU64);
        let Some(value) = (pass.choose)(word, next, module, file) else {
            return;
        };
        let guarded = read_only
            .as_ref()
            .is_some_and(|range| range.contains(&place));
        if !guarded || protect(place, libc::PROT_READ | libc::PROT_WRITE) {
            word.store(value, Release);
        }
        if guarded {
            protect(place, libc::PROT_READ);
        }
    }
}

unsafe fn is_same(ours: &CStr, other: *const u8) -> bool {
    let mut bytes = ours.to_bytes_with_nul().iter().enumerate();
    // SAFETY: the caller's name ends with a zero, where the comparison ends at the latest.
    bytes.all(|(at, &byte)| unsafe { other.add(at).read() } == byte)
}

/// Whether a page of a module that is protected once it is loaded is not so yet. Nothing is changed: a word of it is combined with zero
/// (FUTEX_WAKE_OP of futex(2)), which the kernel refuses where it may not be written.
fn is_writable(place: u64) -> bool {
    const OR_ZERO: u64 = (libc::FUTEX_OP_OR as u64) << 28;
    let nobody_waits = AtomicU32::new(0);
    let operation = (libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG) as u64;
    let waiter = &raw const nobody_waits as u64;
    // SAFETY: two words of this process without waiters; the second keeps its value.
    unsafe { system_call(libc::SYS_futex, [waiter, operation, 0, 0, place, OR_ZERO]) >= 0 }
}

fn protect(place: u64, rights: c_int) -> bool {
    // SAFETY: a page of a module's data.
    unsafe { libc::mprotect((place & !(PAGE - 1)) as *mut _, PAGE as usize, rights) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that is replaced is never passed over, and hardly any other is looked at twice.
    #[test]
    fn the_set_has_our_names_and_few_others() {
        let names = Names::of(next::all().map(Next::name));
        let may_have = |name: &CStr| {
            // SAFETY: a text that ends with a zero.
            unsafe { names.may_have(name.as_ptr().cast()) }
        };
        assert!(next::all().all(|next| may_have(next.name())));
        let others = (0..1000).map(|i| std::ffi::CString::new(format!("u_{i}_72")).unwrap());
        let looked_at = others.filter(|name| may_have(name)).count();
        assert!(looked_at < 100, "{looked_at} of 1000");
    }
}
