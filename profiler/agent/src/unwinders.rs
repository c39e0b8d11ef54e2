//! Unwinders that were linked into the target (`-static-libgcc`). They find code by asking the loader, which does not
//! know trampolines. An exception that meets a trampoline would end the program.

use core::ffi::{c_int, c_void};
use core::ptr;

use evenkeel_patch::arch::unwind;

use crate::interpose::interpose;

/// `struct dl_find_object` (glibc 2.35, dlfcn.h) of architectures without a base for data.
#[repr(C)]
pub struct FoundObject {
    flags: u64,
    map_start: *mut c_void,
    map_end: *mut c_void,
    link_map: *mut c_void,
    eh_frame: *mut c_void,
    reserved: [u64; 7],
}

interpose! {
    fn _dl_find_object(pc: *mut c_void, found: *mut FoundObject) -> c_int = |real| {
        let Some((code, header)) = unwind::find(pc as u64) else {
            return real(pc, found);
        };
        // SAFETY: the caller's memory for the answer.
        unsafe {
            found.write(FoundObject {
                flags: 0,
                map_start: code.start as *mut c_void,
                map_end: code.end as *mut c_void,
                link_map: ptr::null_mut(),
                eh_frame: header as *mut c_void,
                reserved: [0; 7],
            });
        }
        0
    }
}
