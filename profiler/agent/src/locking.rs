//! `mlockall`, replaced by locks of the single mappings: all but the profiler's tables ([`crate::locked_memory`]).

use core::ffi::c_int;
use core::ops::Range;

use evenkeel_patch::arch::unwind;
use evenkeel_patch::kernel::{self, system_call};
use evenkeel_patch::region::tables;
use libc::{MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT};

use crate::interpose::interpose;
use crate::lines::Lines;
use crate::{arena, maps};

/// Lock pages once they are used (linux/mman.h).
const MLOCK_ONFAULT: u64 = 1;
/// Addresses from here on are the kernel's; the last line of the mappings is one of them.
const KERNEL_HALF: u64 = 1 << 63;

interpose! {
    fn mlockall(flags: c_int) -> c_int = |real| {
        let known = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT;
        let arena = arena::get().addresses();
        let replaced = flags & MCL_CURRENT != 0 && flags & !known == 0;
        if !replaced || arena.is_empty() || kernel::is_confined() {
            return real(flags);
        }
        let answer = lock_all_but(&arena, flags & MCL_ONFAULT != 0);
        if answer != 0 {
            // SAFETY: the caller's own word.
            unsafe { *libc::__errno_location() = -answer };
            return -1;
        }
        if flags & MCL_FUTURE == 0 {
            return 0;
        }
        real(flags & !MCL_CURRENT)
    }
}

/// Locks all mappings but these addresses, other tables and trampolines; the kernel's answer. As for `mlockall` (mm/mlock.c), a
/// mapping whose memory cannot be had is no error.
fn lock_all_but(arena: &Range<u64>, is_on_use: bool) -> c_int {
    let Some(file) = kernel::open(maps::OWN) else {
        return -libc::ENOMEM;
    };
    let mut lines = Lines::new(file);
    let mut answer = 0;
    while let Some(line) = lines.next() {
        let field = line.split(|&byte| byte == b' ').next();
        let Some((low, high)) = field.and_then(maps::bounds) else {
            break;
        };
        let is_ours =
            arena.contains(&low) || tables().contains(&low) || unwind::find(low).is_some();
        if low >= KERNEL_HALF || is_ours {
            continue;
        }
        let lock = |how| {
            let arguments = [low, high - low, how, 0, 0, 0];
            // SAFETY: it changes no content.
            unsafe { system_call(libc::SYS_mlock2, arguments) as c_int }
        };
        // First what fails for lack of permission alone.
        answer = lock(MLOCK_ONFAULT);
        // Memory that is no longer mapped is no error; a limit is one.
        if answer == -libc::ENOMEM && kernel::is_readable(low) || answer == -libc::EPERM {
            break;
        }
        answer = 0;
        if !is_on_use {
            lock(0);
        }
    }
    kernel::close(file);
    answer
}
