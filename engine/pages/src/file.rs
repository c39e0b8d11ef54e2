//! The page file: pages at their places, page 0 describing the file.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

use evenkeel_disk::{Access, AlignedBuffer, Create, Directory, File};

use crate::error::PageError;
use crate::id::PageId;
use crate::page::{PAGE_HEADER_BYTES, PageContent, check, seal};
use crate::sync::{AtomicU64, Mutex};

/// First bytes of the body of page 0, before the page size.
const MAGIC: [u8; 8] = *b"KeelPage";
/// Bytes by which the file grows at once.
const GROWTH_BYTES: u64 = 1 << 20;

/// The page file.
pub(crate) struct PageFile {
    file: Arc<dyn File>,
    page_bytes: usize,
    /// Bytes that have blocks on the disk, so that writing there does not find it full.
    allocated: AtomicU64,
    growing: Mutex<()>,
}

impl PageFile {
    /// Opens the file, or makes it.
    pub(crate) fn open(
        directory: &dyn Directory,
        name: &str,
        page_bytes: usize,
    ) -> Result<PageFile, PageError> {
        let file = directory
            .open(name, Access::Direct, Create::IfMissing)
            .map_err(PageError::io("opening it"))?;
        let len = file.len().map_err(PageError::io("asking for its length"))?;
        let opened = PageFile {
            file,
            page_bytes,
            allocated: AtomicU64::new((len / page_bytes as u64).max(1) * page_bytes as u64),
            growing: Mutex::new(()),
        };
        let mut description = AlignedBuffer::zeroed(page_bytes);
        if !opened.is_described(name, len, &mut description)? {
            opened.describe(&mut description);
        }
        // Always written again, and synced together with data that a killed process left in the operating system's
        // cache. A sync of that data may have failed, and the following steps rely on it.
        opened
            .write(PageId(0), &description)
            .map_err(PageError::io("describing it"))?;
        opened.sync().map_err(PageError::io("syncing it"))?;
        directory
            .sync()
            .map_err(PageError::io("syncing its directory"))?;
        Ok(opened)
    }

    /// Whether the file of this name has pages or is still to be made; changes nothing. An error if it cannot be
    /// opened.
    pub(crate) fn check(
        directory: &dyn Directory,
        name: &str,
        page_bytes: usize,
    ) -> Result<bool, PageError> {
        let Some(file) = existing(directory, name).map_err(PageError::io("opening it"))? else {
            return Ok(false);
        };
        let len = file.len().map_err(PageError::io("asking for its length"))?;
        let opened = PageFile {
            file,
            page_bytes,
            allocated: AtomicU64::new(0),
            growing: Mutex::new(()),
        };
        let mut description = AlignedBuffer::zeroed(page_bytes);
        opened.is_described(name, len, &mut description)
    }

    /// Whether page 0, which is read into `page`, describes such a file. It is written and synced before anything else,
    /// so a file that has no more than it may have been cut off there.
    fn is_described(&self, name: &str, len: u64, page: &mut [u8]) -> Result<bool, PageError> {
        self.read(PageId(0), page)?;
        let body = &page[PAGE_HEADER_BYTES..];
        let describes = body[..8] == MAGIC;
        let file = u32::from_le_bytes(body[8..12].try_into().expect("four bytes")) as usize;
        if describes && file != self.page_bytes && file.is_power_of_two() {
            let wanted = self.page_bytes;
            return Err(PageError::PageSize { file, wanted });
        }
        match check(page, PageId(0)) {
            Ok(_) if describes => return Ok(true),
            Err(error @ PageError::Version { .. }) => return Err(error),
            _ => {}
        }
        // What was cut off there is a page of zeros: all that it has is in the first sector, with the magic number.
        let is_foreign = !describes && page.iter().any(|&byte| byte != 0);
        if is_foreign || len > self.page_bytes as u64 {
            return Err(PageError::NoPageFile(name.to_owned()));
        }
        Ok(false)
    }

    fn describe(&self, page: &mut [u8]) {
        page.fill(0);
        page[PAGE_HEADER_BYTES..][..8].copy_from_slice(&MAGIC);
        page[PAGE_HEADER_BYTES + 8..][..4].copy_from_slice(&(self.page_bytes as u32).to_le_bytes());
        seal(page, PageId(0));
    }

    /// Reads a page, zeros beyond the end; does not check it.
    pub(crate) fn read(&self, page: PageId, into: &mut [u8]) -> Result<(), PageError> {
        let count = self
            .file
            .read_at(into, self.offset(page))
            .map_err(PageError::io("reading a page"))?;
        into[count..].fill(0);
        Ok(())
    }

    /// Reads and checks a page.
    pub(crate) fn read_checked(
        &self,
        page: PageId,
        into: &mut [u8],
    ) -> Result<PageContent, PageError> {
        self.read(page, into)?;
        check(into, page)
    }

    pub(crate) fn write(&self, page: PageId, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_at(bytes, self.offset(page))
    }

    pub(crate) fn sync(&self) -> std::io::Result<()> {
        self.file.sync_data()
    }

    fn offset(&self, page: PageId) -> u64 {
        page.0 * self.page_bytes as u64
    }

    /// Number of pages the file has room for.
    pub(crate) fn pages(&self) -> u64 {
        self.allocated.load(Acquire) / self.page_bytes as u64
    }

    /// Makes room for a page. A full disk is found here, where nothing has been changed yet, and not when the page is
    /// written.
    pub(crate) fn make_room(&self, page: PageId) -> Result<(), PageError> {
        let needed = self.offset(page) + self.page_bytes as u64;
        if self.allocated.load(Acquire) >= needed {
            return Ok(());
        }
        let _growing = self.growing.lock();
        let mut from = self.allocated.load(Acquire);
        let target = needed.next_multiple_of(GROWTH_BYTES);
        let zeros = AlignedBuffer::zeroed(GROWTH_BYTES as usize);
        while from < needed {
            let wish = (target - from).min(GROWTH_BYTES) as usize;
            let least = (needed - from).min(GROWTH_BYTES) as usize;
            let grown = match self.file.write_at(&zeros[..wish], from) {
                Ok(()) => wish,
                // The rest of a nearly full disk.
                Err(_) => {
                    let retried = self.file.write_at(&zeros[..least], from);
                    retried.map_err(PageError::io("growing it"))?;
                    least
                }
            };
            from += grown as u64;
            self.allocated.store(from, Release);
        }
        Ok(())
    }
}

/// The file of this name, if it exists.
pub(crate) fn existing(directory: &dyn Directory, name: &str) -> io::Result<Option<Arc<dyn File>>> {
    match directory.open(name, Access::Direct, Create::Never) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
