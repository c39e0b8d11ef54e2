//! The arena as this process has it mapped.

use core::ops::Range;
use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicPtr, Ordering::*};

use crate::locked_memory;
use evenkeel_wire as wire;
use wire::{Control, Displaced, Module, ModuleTable, Probe, RingHeader, StackCopy, Waiters};

static BASE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// The mapped arena. It is never unmapped while hooks are in place.
#[derive(Clone, Copy)]
pub struct Arena {
    base: *mut u8,
}

/// Opens the arena that [`wire::ARENA_VARIABLE`] names, if it is set and still names an arena.
pub fn open() -> Option<Arena> {
    // SAFETY: before the target's own code runs; nobody changes the environment.
    let value = unsafe {
        let value = libc::getenv(c"EVENKEEL_ARENA".as_ptr());
        if value.is_null() {
            return None;
        }
        core::ffi::CStr::from_ptr(value).to_str().ok()?
    };
    let mut fields = value.split(':').map(|field| field.parse::<u64>().ok());
    let (fd, pid, inode) = (fields.next()??, fields.next()??, fields.next()??);
    map(fd as i32, inode).or_else(|| {
        // The target closed the inherited descriptor: ask the session, which serves the same user only.
        let path = Path::new(&[b"/proc/", &decimal(pid), b"/fd/", &decimal(fd), b"\0"]);
        // SAFETY: a zero-terminated path.
        let own = unsafe { libc::open(path.bytes.as_ptr().cast(), libc::O_RDWR | libc::O_CLOEXEC) };
        if own < 0 {
            return None;
        }
        let arena = map(own, inode);
        // SAFETY: opened above.
        unsafe { libc::close(own) };
        arena
    })
}

/// Maps the arena of a session that attaches, from a descriptor. Where there was one before, it takes its place: a thread that is
/// about to write to a ring of that session finds memory there.
pub fn attach(fd: i32) -> Option<Arena> {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let shared = libc::MAP_SHARED | libc::MAP_NORESERVE;
    let old = get();
    let at = if old.is_mapped() {
        old.base as usize
    } else {
        evenkeel_patch::region::away(wire::ARENA_BYTES)
    };
    // SAFETY: fresh mappings, or one of our own that is replaced by its like.
    unsafe {
        let page = libc::mmap(ptr::null_mut(), wire::MODULES_AT, rights, shared, fd, 0);
        if page == libc::MAP_FAILED {
            return None;
        }
        let fits = Arena { base: page.cast() }.is_of_this_version();
        libc::munmap(page, wire::MODULES_AT);
        if !fits {
            return None;
        }
        let base = locked_memory::map_arena(fd, at, old.is_mapped());
        (!base.is_null()).then_some(Arena { base })
    }
}

fn map(fd: i32, inode: u64) -> Option<Arena> {
    // SAFETY: plain system calls on a descriptor that may be anything; the inode and the magic number decide.
    unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        if libc::fstat(fd, &mut status) != 0
            || status.st_ino != inode
            || status.st_size as usize != wire::ARENA_BYTES
        {
            return None;
        }
        let at = evenkeel_patch::region::away(wire::ARENA_BYTES);
        let base = locked_memory::map_arena(fd, at, false);
        if base.is_null() {
            return None;
        }
        let arena = Arena { base };
        if !arena.is_of_this_version() {
            arena.unmap();
            return None;
        }
        Some(arena)
    }
}

/// The arena that hooks use; set before the first hook is placed.
pub fn get() -> Arena {
    Arena {
        base: BASE.load(Acquire),
    }
}

impl Arena {
    fn is_of_this_version(self) -> bool {
        let control = self.control();
        control.magic.load(Acquire) == wire::MAGIC && control.version.load(Relaxed) == wire::VERSION
    }

    /// Makes this the arena of [`get`].
    pub fn publish(self) {
        BASE.store(self.base, Release);
    }

    /// Whether there is one at all.
    pub fn is_mapped(self) -> bool {
        !self.base.is_null()
    }

    /// Its addresses; empty where none is mapped.
    pub fn addresses(self) -> Range<u64> {
        let len = if self.is_mapped() {
            wire::ARENA_BYTES
        } else {
            0
        };
        let low = self.base as u64;
        low..low + len as u64
    }

    /// Lets go of it.
    pub fn unmap(self) {
        // SAFETY: nobody refers to it any more: no hook was placed.
        unsafe { libc::munmap(self.base.cast(), wire::ARENA_BYTES) };
    }

    /// The control page.
    pub fn control(self) -> &'static Control {
        // SAFETY: the layout of `wire`; all fields are atomic.
        unsafe { &*self.base.add(wire::CONTROL_AT).cast() }
    }

    /// The table of waiters.
    pub fn waiters(self) -> *const Waiters {
        // SAFETY: inside the mapping.
        unsafe { self.base.add(wire::WAITERS_AT).cast() }
    }

    /// The files that processes of the target have mapped.
    pub fn module_table(self) -> ModuleTable<'static> {
        // SAFETY: the layout of `wire`.
        unsafe { ModuleTable::new(self.control(), self.base.add(wire::MODULES_AT).cast()) }
    }

    /// Entry `index` of the module table.
    pub fn module(self, index: usize) -> &'static Module {
        debug_assert!(index < wire::MODULES_MAX);
        // SAFETY: inside the mapping. The index is of a complete entry, which changes in atomic fields only.
        unsafe { &*self.base.add(wire::MODULES_AT).cast::<Module>().add(index) }
    }

    /// The probes that may be looked at.
    pub fn probes(self) -> &'static [Probe] {
        let len = (self.control().probes.load(Acquire) as usize).min(wire::PROBES_MAX);
        // SAFETY: the session wrote them before it raised the count, and changes only atomic fields since.
        unsafe { slice::from_raw_parts(self.base.add(wire::PROBES_AT).cast(), len) }
    }

    /// All displaced entries; those that probes refer to are complete.
    pub fn displaced(self) -> &'static [Displaced] {
        // SAFETY: as for `probes`.
        unsafe {
            slice::from_raw_parts(
                self.base.add(wire::DISPLACED_AT).cast(),
                wire::DISPLACED_MAX,
            )
        }
    }

    /// Room for copies of stacks.
    pub fn stacks(self) -> &'static [StackCopy] {
        // SAFETY: inside the mapping; all fields are atomic.
        unsafe { slice::from_raw_parts(self.base.add(wire::STACKS_AT).cast(), wire::STACKS_LEN) }
    }

    /// Header of ring `index`.
    pub fn ring(self, index: usize) -> *mut RingHeader {
        debug_assert!(index < wire::RINGS_MAX);
        // SAFETY: inside the mapping.
        unsafe {
            self.base
                .add(wire::RINGS_AT + index * wire::RING_STRIDE)
                .cast()
        }
    }
}

/// A short zero-terminated text, put together without allocating.
struct Path {
    bytes: [u8; 64],
}

impl Path {
    fn new(parts: &[&[u8]]) -> Path {
        let mut bytes = [0; 64];
        let mut len = 0;
        for part in parts {
            for &byte in part.iter().filter(|&&byte| byte != b' ') {
                bytes[len] = byte;
                len += 1;
            }
        }
        Path { bytes }
    }
}

/// `value` in decimal, with leading blanks.
fn decimal(mut value: u64) -> [u8; 20] {
    let mut digits = [b' '; 20];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    digits
}
