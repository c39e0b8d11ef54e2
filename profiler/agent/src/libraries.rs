//! Libraries opened at run time.
//!
//! The plan is polled where intervals begin. If the interval itself lies in a library that is opened later, no hook
//! exists yet that could poll. But a program that opens a library looks up its functions next.

use crate::errno::keeping_errno;
use crate::{arena, dlsym, masks, plan};

/// Called at each look-up: hooks new libraries, if the plan wants them. Returns the C library's `dlsym`.
pub extern "C" fn notice() -> usize {
    if masks::active() {
        keeping_errno(|| plan::libraries_may_have_come(arena::get()));
    }
    dlsym::real()
}
