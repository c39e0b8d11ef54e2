//! Memory fit for direct I/O.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Alignment of offsets, lengths and addresses in direct I/O, in bytes: the sector size of current disks, and the
/// largest alignment that any common file system asks for.
pub const ALIGNMENT: usize = 4096;

/// A zero-initialised byte buffer whose address is a multiple of [`ALIGNMENT`].
pub struct AlignedBuffer {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the buffer owns its memory, as a Box<[u8]> does.
unsafe impl Send for AlignedBuffer {}
// SAFETY: shared references give shared access to plain bytes only.
unsafe impl Sync for AlignedBuffer {}

impl AlignedBuffer {
    /// A buffer of `len` zeros.
    pub fn zeroed(len: usize) -> AlignedBuffer {
        if len == 0 {
            return AlignedBuffer {
                start: NonNull::dangling(),
                len,
            };
        }
        let layout = Self::layout(len);
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else {
            handle_alloc_error(layout)
        };
        AlignedBuffer { start, len }
    }

    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, ALIGNMENT)
            .expect("a buffer's length fits in the address space")
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points to `len` initialised bytes that live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(self.start.as_ptr(), Self::layout(self.len)) }
        }
    }
}

impl std::fmt::Debug for AlignedBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedBuffer({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroed_aligned_and_writable() {
        for len in [0, 1, ALIGNMENT, ALIGNMENT + 1] {
            let mut buffer = AlignedBuffer::zeroed(len);
            assert_eq!(buffer.len(), len);
            assert!(buffer.iter().all(|&byte| byte == 0));
            if len > 0 {
                assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
                buffer[len - 1] = 7;
                assert_eq!(buffer[len - 1], 7);
            }
        }
    }
}
