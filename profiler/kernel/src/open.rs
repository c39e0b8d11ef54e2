//! Opening an event.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use perf_event_open_sys::bindings::{self, perf_event_attr};

/// Opens an event of a process or thread on a processor, each -1 for all, as perf_event_open(2) says.
pub fn open_event(
    attributes: &mut perf_event_attr,
    process: i32,
    processor: i32,
) -> io::Result<OwnedFd> {
    let flags = bindings::PERF_FLAG_FD_CLOEXEC as _;
    // SAFETY: a valid description; the answer is a new descriptor or an error.
    unsafe {
        let fd = perf_event_open_sys::perf_event_open(attributes, process, processor, -1, flags);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}
