//! Pages in use: pinned, and latched shared or exclusively, until the guard is dropped.

use std::fmt;
use std::ops::{Deref, DerefMut};

use evenkeel_log::Lsn;

use crate::dirty::DirtyFrames;
use crate::frame::Frame;
use crate::id::PageId;
use crate::page::{PAGE_HEADER_BYTES, lsn, set_lsn};

/// A page latched shared; derefs to its body.
pub struct PageRead<'a> {
    frame: &'a Frame,
    id: PageId,
}

impl<'a> PageRead<'a> {
    /// Takes over a pin and a shared latch.
    pub(crate) fn new(frame: &'a Frame, id: PageId) -> PageRead<'a> {
        PageRead { frame, id }
    }

    /// Which page.
    pub fn id(&self) -> PageId {
        self.id
    }

    /// LSN of its last change.
    pub fn lsn(&self) -> Lsn {
        lsn(self.bytes())
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the guard holds the latch shared.
        unsafe { self.frame.bytes() }
    }
}

impl Deref for PageRead<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes()[PAGE_HEADER_BYTES..]
    }
}

impl Drop for PageRead<'_> {
    fn drop(&mut self) {
        // SAFETY: the guard holds the latch shared.
        unsafe { self.frame.latch.unlock_shared() }
        self.frame.unpin();
    }
}

impl fmt::Debug for PageRead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageRead({}, LSN {})", self.id, self.lsn())
    }
}

/// A page latched exclusively; derefs to its body.
///
/// The order of a change: append its record to the log, change the body, [`mark_dirty`](PageWrite::mark_dirty) with
/// the record's LSN, all under one guard.
pub struct PageWrite<'a> {
    dirty: &'a DirtyFrames,
    number: u32,
    frame: &'a Frame,
    id: PageId,
    /// Whether the page is clean and the pool knows that it may not stay so.
    announced: bool,
    /// The body was borrowed for changing after the page was last marked.
    changed: bool,
}

impl<'a> PageWrite<'a> {
    /// Takes over a pin and an exclusive latch of the frame with this number.
    pub(crate) fn new(
        dirty: &'a DirtyFrames,
        number: u32,
        frame: &'a Frame,
        id: PageId,
    ) -> PageWrite<'a> {
        PageWrite {
            dirty,
            number,
            frame,
            id,
            announced: dirty.announce(number, frame),
            changed: false,
        }
    }

    /// Which page.
    pub fn id(&self) -> PageId {
        self.id
    }

    /// LSN of its last change; what the record of the next change depends on.
    pub fn lsn(&self) -> Lsn {
        // SAFETY: the guard holds the latch exclusively.
        lsn(unsafe { self.frame.bytes() })
    }

    /// The change logged as `lsn` has been made. The page will be written after the log up to `lsn`, and before its
    /// frame is used for another page.
    pub fn mark_dirty(&mut self, lsn: Lsn) {
        debug_assert!(lsn > Lsn::ZERO, "a change is logged before it is made");
        let newest = self.lsn().max(lsn);
        set_lsn(self.bytes_mut(), newest);
        if std::mem::take(&mut self.announced) {
            self.dirty.mark(self.number, self.frame, lsn);
        }
        self.changed = false;
    }

    /// Downgrades the latch: the page can still be read, and no other thread can change it in between.
    pub fn downgrade(mut self) -> PageRead<'a> {
        self.check_marked();
        self.withdraw();
        let (frame, id) = (self.frame, self.id);
        std::mem::forget(self);
        // SAFETY: the guard held the latch exclusively; its pin and what is left of its latch go on to the new one.
        unsafe { frame.latch.downgrade() }
        PageRead { frame, id }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the guard holds the latch exclusively, and is borrowed so itself.
        unsafe { self.frame.bytes_mut() }
    }

    /// No record was appended for the page, or it was marked.
    fn withdraw(&mut self) {
        if std::mem::take(&mut self.announced) {
            self.dirty.withdraw(self.number);
        }
    }

    fn check_marked(&self) {
        debug_assert!(
            !self.changed || std::thread::panicking(),
            "{} was changed and not marked dirty",
            self.id
        );
    }
}

impl Deref for PageWrite<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the guard holds the latch exclusively.
        unsafe { &self.frame.bytes()[PAGE_HEADER_BYTES..] }
    }
}

impl DerefMut for PageWrite<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.changed = true;
        &mut self.bytes_mut()[PAGE_HEADER_BYTES..]
    }
}

impl Drop for PageWrite<'_> {
    fn drop(&mut self) {
        self.check_marked();
        self.withdraw();
        // SAFETY: the guard holds the latch exclusively.
        unsafe { self.frame.latch.unlock_exclusive() }
        self.frame.unpin();
    }
}

impl fmt::Debug for PageWrite<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageWrite({}, LSN {})", self.id, self.lsn())
    }
}
