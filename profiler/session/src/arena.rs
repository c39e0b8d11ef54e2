//! The shared memory of a session: an anonymous file, seen by those who inherit or are let at its descriptor only.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering::*;

use evenkeel_analysis::findings::warnings::RingsRefused;
use evenkeel_wire as wire;
use rustix::fs::{FallocateFlags, MemfdFlags};
use rustix::mm::{MapFlags, ProtFlags};
use wire::ring::{RING_BYTES, RING_SLACK_BYTES};
use wire::{Control, Displaced, Module, ModuleTable, Probe, RingHeader, RingState, StackCopy};

/// Rings added at a time.
const RINGS_STEP: usize = 16;

/// The arena, mapped.
pub struct Arena {
    file: File,
    base: *mut u8,
    inode: u64,
    /// Why there are no more rings.
    refused: Option<RingsRefused>,
}

/// What a thread says of its intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// When the open one began, ticks; 0 while none is open.
    pub open_since: u64,
    /// How many were left before their end.
    pub left: u64,
    /// When the last of these began, ticks.
    pub left_since: u64,
}

impl Arena {
    /// Makes an arena. Its memory is taken on first use.
    ///
    /// # Errors
    /// The system has no memory to give.
    pub fn create() -> Result<Arena, io::Error> {
        // Not close-on-exec: the target inherits it.
        let low = rustix::fs::memfd_create("evenkeel", MemfdFlags::empty())?;
        // SAFETY: duplicating our own descriptor.
        let high = unsafe { libc::fcntl(low.as_raw_fd(), libc::F_DUPFD, wire::ARENA_FD_MIN) };
        let fd = if high < 0 {
            low
        } else {
            drop(low);
            // SAFETY: just made.
            unsafe { OwnedFd::from_raw_fd(high) }
        };
        rustix::fs::ftruncate(&fd, wire::ARENA_BYTES as u64)?;
        let back = |from: usize, to: usize| {
            let bytes = (to - from) as u64;
            rustix::fs::fallocate(&fd, FallocateFlags::empty(), from as u64, bytes)
        };
        back(0, wire::PROBES_AT)?;
        back(wire::STACKS_AT, wire::RINGS_AT)?;
        // SAFETY: a fresh mapping of our own file.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                wire::ARENA_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::NORESERVE,
                &fd,
                0,
            )?
        };
        let file = File::from(fd);
        let inode = file.metadata()?.ino();
        let mut arena = Arena {
            file,
            base: base.cast(),
            inode,
            refused: None,
        };
        arena.control().version.store(wire::VERSION, Relaxed);
        arena
            .control()
            .session_pid
            .store(std::process::id() as i32, Relaxed);
        arena.control().magic.store(wire::MAGIC, Release);
        arena.add_rings();
        Ok(arena)
    }

    /// The memory file, to hand to a process.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Its inode.
    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// Whether a mapping with its inode and this path, as `/proc/PID/maps` has it, is one of it.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        path.starts_with("/memfd:evenkeel ")
    }

    /// The value of [`wire::ARENA_VARIABLE`] for the target.
    pub fn variable(&self) -> String {
        format!(
            "{}:{}:{}",
            self.file.as_raw_fd(),
            std::process::id(),
            self.inode
        )
    }

    /// The control page.
    pub fn control(&self) -> &Control {
        // SAFETY: the layout of `wire`; all fields are atomic.
        unsafe { &*self.base.add(wire::CONTROL_AT).cast() }
    }

    /// The control page, mapped again for a separate thread.
    ///
    /// # Errors
    /// The system has no room for another mapping.
    pub(crate) fn control_page(&self) -> Result<ControlPage, io::Error> {
        // SAFETY: a fresh mapping of our own file.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                wire::MODULES_AT - wire::CONTROL_AT,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &self.file,
                wire::CONTROL_AT as u64,
            )?
        };
        Ok(ControlPage { base: base.cast() })
    }

    /// The files that processes of the target have mapped.
    pub fn module_table(&self) -> ModuleTable<'_> {
        // SAFETY: the layout of `wire`.
        unsafe { ModuleTable::new(self.control(), self.base.add(wire::MODULES_AT).cast()) }
    }

    /// Entries of the module table that are complete.
    pub fn modules(&self) -> &[Module] {
        self.module_table().modules()
    }

    /// Copies of stacks that agents made.
    pub fn stacks(&self) -> &[StackCopy] {
        // SAFETY: inside the mapping; all fields are atomic.
        unsafe {
            std::slice::from_raw_parts(self.base.add(wire::STACKS_AT).cast(), wire::STACKS_LEN)
        }
    }

    /// The probes planned so far.
    pub fn probes(&self) -> &[Probe] {
        // SAFETY: written by us alone before the count is raised.
        unsafe {
            let len = self.control().probes.load(Relaxed) as usize;
            std::slice::from_raw_parts(self.base.add(wire::PROBES_AT).cast(), len)
        }
    }

    /// Appends a probe. `None` when the plan or the memory is full.
    pub(crate) fn add_probe(&mut self, fill: impl FnOnce(&mut Probe)) -> Option<u32> {
        let id = self.control().probes.load(Relaxed) as usize;
        if id == wire::PROBES_MAX
            || self
                .back(
                    wire::PROBES_AT + id * size_of::<Probe>(),
                    size_of::<Probe>(),
                )
                .is_err()
        {
            return None;
        }
        // SAFETY: agents do not look at entries beyond the count.
        fill(unsafe { &mut *self.base.add(wire::PROBES_AT).cast::<Probe>().add(id) });
        self.control().probes.store(id as u32 + 1, Release);
        Some(id as u32)
    }

    /// Stores a displaced entry; probes refer to it afterwards. False when the memory is full.
    pub(crate) fn set_displaced(&mut self, index: usize, displaced: &Displaced) -> bool {
        let at = wire::DISPLACED_AT + index * size_of::<Displaced>();
        if index >= wire::DISPLACED_MAX || self.back(at, size_of::<Displaced>()).is_err() {
            return false;
        }
        // SAFETY: no probe refers to it yet.
        unsafe { self.base.add(at).cast::<Displaced>().write(*displaced) };
        true
    }

    /// Ring `index`: its header, and where its records begin.
    pub fn ring(&self, index: usize) -> &RingHeader {
        debug_assert!(index < wire::RINGS_MAX);
        // SAFETY: inside the mapping; backed by memory below the count of rings.
        unsafe {
            &*self
                .base
                .add(wire::RINGS_AT + index * wire::RING_STRIDE)
                .cast()
        }
    }

    /// What the thread of a ring says of its intervals at one moment.
    pub fn progress(&self, ring: usize) -> Progress {
        let ring = self.ring(ring);
        loop {
            let now = Progress {
                open_since: ring.open_since.load(Acquire),
                left: ring.left.load(Acquire),
                left_since: ring.left_since.load(Acquire),
            };
            if ring.open_since.load(Relaxed) == now.open_since {
                return now;
            }
        }
    }

    /// The rings of threads that live.
    pub fn live_rings(&self) -> impl Iterator<Item = usize> {
        let count = self.control().rings.load(Relaxed) as usize;
        let live = RingState::Live as u32;
        (0..count).filter(move |&index| self.ring(index).state.load(Relaxed) == live)
    }

    /// Intervals that are open, without those that have a key, by the ring of each one's thread.
    pub fn open_intervals(&self) -> impl Iterator<Item = (usize, Progress)> {
        let open = self.live_rings();
        let open = open.map(|index| (index, self.progress(index)));
        open.filter(|(_, now)| now.open_since != 0)
    }

    /// The record words of ring `index`.
    pub fn records(&self, index: usize) -> *const u64 {
        // SAFETY: inside the mapping.
        unsafe {
            self.base
                .add(wire::RINGS_AT + index * wire::RING_STRIDE + wire::ring::RECORDS_AT)
                .cast()
        }
    }

    /// Keeps some rings free for new threads; `unused` are left. A server makes its threads in bursts: this is called
    /// as often as rings are drained. Memory that the system refuses is not touched by anybody.
    pub fn provide_rings(&mut self, unused: usize) {
        if unused < RINGS_STEP {
            self.add_rings();
        }
    }

    /// Why threads may have gone without a ring; nothing where only their number grew too fast.
    pub(crate) fn rings_refused(&self) -> Option<RingsRefused> {
        self.refused.clone()
    }

    fn add_rings(&mut self) {
        let count = self.control().rings.load(Relaxed) as usize;
        let more = (count + RINGS_STEP).min(wire::RINGS_MAX);
        let at = wire::RINGS_AT + count * wire::RING_STRIDE;
        if more == count {
            self.refused = Some(RingsRefused::TooMany(count));
            return;
        }
        if let Err(error) = self.back(at, (more - count) * wire::RING_STRIDE) {
            self.refused = Some(RingsRefused::NoMemory(error.to_string()));
            return;
        }
        for index in count..more {
            let ring = self.ring(index);
            ring.position.store(RING_BYTES as u64, Relaxed);
            ring.publish();
            ring.limit
                .store((2 * RING_BYTES - RING_SLACK_BYTES) as u64, Relaxed);
            ring.state.store(RingState::Free as u32, Release);
        }
        self.control().rings.store(more as u32, Release);
    }

    /// Reserves memory for a range, so that touching it cannot fail with SIGBUS.
    fn back(&self, at: usize, bytes: usize) -> Result<(), io::Error> {
        let (at, bytes) = (at as u64, bytes as u64);
        let back = || rustix::fs::fallocate(&self.file, FallocateFlags::empty(), at, bytes);
        Ok(rustix::io::retry_on_intr(back)?)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // Processes that continue keep it mapped. The recorded data is still given back to the system.
        let recorded = (wire::ARENA_BYTES - wire::STACKS_AT) as u64;
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = rustix::fs::fallocate(&self.file, hole, wire::STACKS_AT as u64, recorded);
        // SAFETY: mapped by us; all borrows end with `self`.
        unsafe {
            let _ = rustix::mm::munmap(self.base.cast(), wire::ARENA_BYTES);
        }
    }
}

/// The control page by itself.
pub struct ControlPage {
    base: *mut u8,
}

// SAFETY: all that it leads to is atomic.
unsafe impl Send for ControlPage {}

impl ControlPage {
    /// The control page.
    pub fn control(&self) -> &Control {
        // SAFETY: the layout of `wire`; all fields are atomic.
        unsafe { &*self.base.cast() }
    }
}

impl Drop for ControlPage {
    fn drop(&mut self) {
        // SAFETY: mapped by us; all borrows end with `self`.
        unsafe {
            let _ = rustix::mm::munmap(self.base.cast(), wire::MODULES_AT - wire::CONTROL_AT);
        }
    }
}
