//! The files of descriptors, as far as threads wait for them.
//!
//! Results are kept by number and compared with the inode, which costs one system call and detects a number with a
//! new file. Event, signal and timer descriptors share one inode: they are forgotten when a function of the C library
//! closes their number or makes it anew.
//!
//! A server reads and writes sockets several times a statement, and each comparison would cost a system call. So a
//! socket is compared once in [`TRUSTED_TICKS`]. In between, its number can only change its meaning unnoticed if it
//! is closed and made anew by system calls that bypass the C library's functions.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use evenkeel_patch::kernel;
use evenkeel_wire::{ObjectKind, now_ticks};

use super::descriptor::Descriptor;
use super::fdinfo::FdInfo;
use super::mix::mix;
use super::{objects, sockets};
use crate::interpose::interpose;

/// Numbers remembered.
const KNOWN_MAX: usize = 4096;

/// Time for which a socket is not checked again, in ticks (some ten milliseconds).
const TRUSTED_TICKS: u64 = 30_000_000;

struct Known {
    /// [`tag`] of the file; 0: nothing is known.
    file: AtomicU64,
    /// When the number was last seen to lead there.
    seen_ticks: AtomicU64,
    kind: AtomicU32,
    input: AtomicU64,
    output: AtomicU64,
}

static KNOWN: [Known; KNOWN_MAX] = [const {
    Known {
        file: AtomicU64::new(0),
        seen_ticks: AtomicU64::new(0),
        kind: AtomicU32::new(0),
        input: AtomicU64::new(0),
        output: AtomicU64::new(0),
    }
}; KNOWN_MAX];

impl Known {
    /// The recent file of the number, if that was a socket.
    fn trusted(&self, now: u64) -> Option<Descriptor> {
        if now.wrapping_sub(self.seen_ticks.load(Relaxed)) > TRUSTED_TICKS {
            return None;
        }
        let file = self.file.load(Acquire);
        let found = self.get(file).filter(|_| file != 0)?;
        (found.kind == ObjectKind::Socket).then_some(found)
    }

    fn get(&self, file: u64) -> Option<Descriptor> {
        if self.file.load(Acquire) != file {
            return None;
        }
        let found = Descriptor {
            kind: ObjectKind::from_payload(self.kind.load(Relaxed).into())?,
            input: self.input.load(Relaxed),
            output: self.output.load(Relaxed),
        };
        // Another thread may have written at the same time: the file is removed first and set last.
        (self.file.load(Acquire) == file).then_some(found)
    }

    fn set(&self, file: u64, found: Descriptor) {
        self.file.store(0, Release);
        self.kind.store(found.kind as u32, Release);
        self.input.store(found.input, Release);
        self.output.store(found.output, Release);
        self.file.store(file, Release);
    }
}

/// The file of `number`. `None`: nothing that threads wait for, as far as is known.
pub fn describe(number: c_int) -> Option<Descriptor> {
    let (known, now) = (known(number), now_ticks());
    if let Some(found) = known.and_then(|known| known.trusted(now)) {
        return Some(found);
    }
    let status = kernel::file_status(number)?;
    let file = tag(&status);
    if let Some(known) = known
        && let Some(found) = known.get(file)
    {
        known.seen_ticks.store(now, Relaxed);
        return Some(found);
    }
    let found = match status.st_mode & libc::S_IFMT {
        libc::S_IFIFO => one_way(ObjectKind::Pipe, file),
        libc::S_IFREG | libc::S_IFBLK | libc::S_IFDIR => one_way(ObjectKind::File, file),
        // A socket that is not connected may become so: only what cannot change is remembered.
        libc::S_IFSOCK => sockets::describe(number, status.st_ino)?,
        0 => anonymous(number)?,
        _ => return None,
    };
    if let Some(known) = known {
        known.set(file, found);
        known.seen_ticks.store(now, Relaxed);
    }
    Some(found)
}

/// As [`describe`], of what was described before or is easily found out.
pub fn describe_known(number: c_int) -> Option<Descriptor> {
    let status = kernel::file_status(number)?;
    let file = tag(&status);
    if status.st_mode & libc::S_IFMT == libc::S_IFIFO {
        return Some(one_way(ObjectKind::Pipe, file));
    }
    known(number)?.get(file)
}

/// Distinguishes a file from others.
fn tag(status: &libc::stat) -> u64 {
    mix(status.st_dev, status.st_ino)
}

fn known(number: c_int) -> Option<&'static Known> {
    KNOWN.get(usize::try_from(number).ok()?)
}

fn one_way(kind: ObjectKind, key: u64) -> Descriptor {
    Descriptor {
        kind,
        input: key,
        output: key,
    }
}

/// Forgets what a number led to.
fn forget(number: c_int) {
    if let Some(known) = known(number) {
        known.file.store(0, Release);
    }
}

/// An event, signal or timer descriptor: the kernel says.
fn anonymous(number: c_int) -> Option<Descriptor> {
    let mut info = FdInfo::open(number)?;
    loop {
        let line = info.next()?;
        if let Some(id) = line.strip_prefix(b"eventfd-id:") {
            let id = id.iter().fold(0, |id, &digit| mix(id, digit.into()));
            return Some(one_way(
                ObjectKind::Event,
                mix(ObjectKind::Event as u64, id),
            ));
        }
        if line.starts_with(b"sigmask:") {
            SIGNALS.fetch_add(1, Relaxed);
            return Some(one_way(ObjectKind::Signal, objects::signal_key()));
        }
        if line.starts_with(b"clockid:") {
            return Some(one_way(
                ObjectKind::Timer,
                mix(ObjectKind::Timer as u64, number as u64),
            ));
        }
    }
}

/// Signal descriptors that were met.
static SIGNALS: AtomicU32 = AtomicU32::new(0);

/// In the child of a `fork`: what it reads from its parent's signal descriptors are its own signals.
pub fn after_fork_in_child() {
    if SIGNALS.swap(0, Relaxed) == 0 {
        return;
    }
    for known in &KNOWN {
        if known.kind.load(Relaxed) == ObjectKind::Signal as u32 {
            known.file.store(0, Release);
        }
    }
}

/// Another session joins: which numbers were closed and made anew since the last one left is not known.
pub fn forget_all() {
    KNOWN.iter().for_each(|known| known.file.store(0, Release));
}

/// The two ends of a pair that was just made.
fn remember_pair(ends: &[c_int; 2]) {
    let [Some(first), Some(second)] = ends.map(kernel::file_status) else {
        return;
    };
    for (number, own, other) in [(ends[0], &first, &second), (ends[1], &second, &first)] {
        if let Some(known) = known(number) {
            known.set(tag(own), sockets::unix(own.st_ino, other.st_ino));
        }
    }
}

/// Two descriptors were made.
///
/// # Safety
/// `ends` points to two numbers.
unsafe fn forget_both(ends: *const c_int) {
    // SAFETY: the caller's.
    let ends = unsafe { *ends.cast::<[c_int; 2]>() };
    ends.into_iter().for_each(forget);
}

/// `number` is about to be closed, after which it may be another's.
pub fn closing(number: c_int) {
    forget(number);
}

/// The result of a function that makes a descriptor.
pub fn made(number: c_int) -> c_int {
    forget(number);
    number
}

interpose! {
    fn eventfd(count: u32, flags: c_int) -> c_int = |real| {
        made(real(count, flags))
    }

    fn signalfd(number: c_int, set: *const libc::sigset_t, flags: c_int) -> c_int = |real| {
        made(real(number, set, flags))
    }

    fn timerfd_create(clock: libc::clockid_t, flags: c_int) -> c_int = |real| {
        made(real(clock, flags))
    }

    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int = |real| {
        made(real(domain, kind, protocol))
    }

    fn dup(from: c_int) -> c_int = |real| {
        made(real(from))
    }

    fn dup2(from: c_int, to: c_int) -> c_int = |real| {
        made(real(from, to))
    }

    fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int = |real| {
        made(real(from, to, flags))
    }

    fn pipe(ends: *mut c_int) -> c_int = |real| {
        let result = real(ends);
        if result == 0 {
            // SAFETY: the call filled in two numbers.
            unsafe { forget_both(ends) };
        }
        result
    }

    fn pipe2(ends: *mut c_int, flags: c_int) -> c_int = |real| {
        let result = real(ends, flags);
        if result == 0 {
            // SAFETY: the call filled in two numbers.
            unsafe { forget_both(ends) };
        }
        result
    }

    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, ends: *mut c_int) -> c_int = |real| {
        let result = real(domain, kind, protocol, ends);
        if result == 0 {
            // SAFETY: the call filled in two numbers.
            unsafe { forget_both(ends) };
            if super::switch::table().is_some() {
                // SAFETY: as above.
                remember_pair(unsafe { &*ends.cast() });
            }
        }
        result
    }
}
