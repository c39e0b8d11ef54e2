//! The buffer that the kernel shares with us: a page that says how far it is filled, and a power of two of pages of records.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::*};

use perf_event_open_sys::bindings::{perf_event_header, perf_event_mmap_page};
use perf_event_open_sys::ioctls;

const PAGE: usize = 4096;
/// Pages of records: with the page before them, what an unprivileged user may lock (`perf_event_mlock_kb`).
pub const PAGES_MIN: usize = 128;

/// A buffer, unmapped when dropped.
#[derive(Debug)]
pub struct Ring {
    base: *mut u8,
    /// Length of the records, a power of two.
    bytes: usize,
    /// The event whose buffer it is; it lives as long as the buffer.
    event: OwnedFd,
    /// Others that write into it.
    guests: Vec<OwnedFd>,
    record: Vec<u8>,
}

impl Ring {
    /// Maps the buffer of an event: this many pages of records, a power of two, or [`PAGES_MIN`] where the system allows no more.
    pub fn map(event: OwnedFd, pages: usize) -> io::Result<Ring> {
        let (wanted, least) = (pages * PAGE, PAGES_MIN * PAGE);
        let mapped = Ring::map_bytes(&event, wanted).map(|base| (base, wanted));
        let (base, bytes) =
            mapped.or_else(|_| Ring::map_bytes(&event, least).map(|base| (base, least)))?;
        Ok(Ring {
            base,
            bytes,
            event,
            guests: Vec::new(),
            record: Vec::new(),
        })
    }

    fn map_bytes(event: &OwnedFd, bytes: usize) -> io::Result<*mut u8> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping.
        let base = unsafe {
            libc::mmap(
                ptr::null_mut(),
                PAGE + bytes,
                protection,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(base.cast())
    }

    /// Lets another event of the same processor write into the buffer: what an unprivileged user may lock is one buffer each.
    pub fn admit(&mut self, guest: OwnedFd) -> io::Result<()> {
        let output = self.event.as_raw_fd();
        // SAFETY: both are events.
        if unsafe { ioctls::SET_OUTPUT(guest.as_raw_fd(), output) } < 0 {
            return Err(io::Error::last_os_error());
        }
        self.guests.push(guest);
        Ok(())
    }

    /// Begins or ceases to write, with all events that write into it, those that processes have inherited included.
    pub fn set_watching(&self, watching: bool) -> io::Result<()> {
        let request = match watching {
            true => ioctls::ENABLE,
            false => ioctls::DISABLE,
        };
        for event in self.guests.iter().chain([&self.event]) {
            // SAFETY: an event; no flags.
            if unsafe { request(event.as_raw_fd(), 0) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    /// Hands on every record: type, flags, and what follows its header.
    pub fn read(&mut self, mut sink: impl FnMut(u32, u16, &[u8])) {
        let page = self.base.cast::<perf_event_mmap_page>();
        // SAFETY: the page is mapped; the kernel and we share these two words as the manual says.
        let (head, tail) = unsafe {
            (
                AtomicU64::from_ptr(&raw mut (*page).data_head),
                AtomicU64::from_ptr(&raw mut (*page).data_tail),
            )
        };
        let end = head.load(Acquire);
        let mut at = tail.load(Relaxed);
        while at < end {
            let mut header = [0u8; size_of::<perf_event_header>()];
            self.copy(at, &mut header);
            // type (u32), misc (u16), size (u16)
            let size = u16::from_le_bytes([header[6], header[7]]) as usize;
            if size < header.len() {
                break; // cannot be: the kernel writes whole records
            }
            let mut record = std::mem::take(&mut self.record);
            record.resize(size - header.len(), 0);
            self.copy(at + header.len() as u64, &mut record);
            let kind = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
            sink(kind, u16::from_le_bytes([header[4], header[5]]), &record);
            self.record = record;
            at += size as u64;
        }
        tail.store(end, Release);
    }

    /// Copies from a position that may wrap around the buffer's end.
    fn copy(&self, from: u64, into: &mut [u8]) {
        let start = from as usize % self.bytes;
        let first = into.len().min(self.bytes - start);
        let (head, rest) = into.split_at_mut(first);
        // SAFETY: both parts lie inside the mapping, and the kernel does not write between tail and head.
        unsafe {
            let records = self.base.add(PAGE);
            ptr::copy_nonoverlapping(records.add(start), head.as_mut_ptr(), head.len());
            ptr::copy_nonoverlapping(records, rest.as_mut_ptr(), rest.len());
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`.
        unsafe { libc::munmap(self.base.cast(), PAGE + self.bytes) };
    }
}
