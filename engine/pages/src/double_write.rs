//! Protection from torn pages: the double-write area, as InnoDB's.
//!
//! A batch of pages is first written to the double-write file and synced, then to its places and synced. A power
//! failure during the first leaves the places untouched; one during the second leaves images of the whole batch, from
//! which opening repairs what is broken. PostgreSQL's alternative, full-page images in the log, makes the log several
//! times as long after every checkpoint. Commits that wait for the log would pay in bursts, and this project is about
//! their variance. Here the background writer pays, by one more sync a batch.
//!
//! Opening writes the last batch again, to the area and to the places, whether its pages look intact or not. Data
//! that is read may exist only in the operating system's cache. After a kill no thread has synced it; after a failed
//! sync Linux has marked the pages clean. Redo would believe the LSNs read, the next checkpoint would release their
//! log records, and the next power failure would take the pages. All batches before the last were synced, so no other
//! batch is affected.
//!
//! The file is made with an empty batch, whose magic number is durable before the first is written. Whatever a power
//! failure leaves of a batch begins with the magic number. So a file that begins with zeros and holds anything else
//! is foreign, and is not overwritten.
//!
//! ```text
//! | crc 4 | magic 4 | count 4 | 4 | (page 8, crc of image 4, 4) x count | .. one page | image | image | ...
//! ```

use std::sync::Arc;

use evenkeel_disk::{Access, AlignedBuffer, Create, Directory, File, is_blank};

use crate::error::PageError;
use crate::file::{self, PageFile};
use crate::id::PageId;
use crate::page::{PageContent, check, lsn};

/// The most pages of a batch.
pub(crate) const BATCH_PAGES: usize = 64;
/// The last byte is the [version](VERSION)'s digit.
const MAGIC: u32 = 0x4B44_5731;
/// Version of the format.
const VERSION: u32 = (MAGIC & 0xFF) - b'0' as u32;
const ENTRY_BYTES: usize = 16;

/// Images of pages, in the layout of the file.
pub(crate) struct Batch {
    bytes: AlignedBuffer,
    page_bytes: usize,
    pages: Vec<PageId>,
}

impl Batch {
    pub(crate) fn new(page_bytes: usize) -> Batch {
        Batch {
            bytes: AlignedBuffer::zeroed((1 + BATCH_PAGES) * page_bytes),
            page_bytes,
            pages: Vec::with_capacity(BATCH_PAGES),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.pages.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.pages.len() == BATCH_PAGES
    }

    /// Adds an image, to be filled in and sealed by the caller.
    pub(crate) fn add(&mut self, page: PageId) -> &mut [u8] {
        self.pages.push(page);
        let start = self.pages.len() * self.page_bytes;
        &mut self.bytes[start..start + self.page_bytes]
    }

    /// The image added last.
    pub(crate) fn last_mut(&mut self) -> &mut [u8] {
        let start = self.pages.len() * self.page_bytes;
        &mut self.bytes[start..start + self.page_bytes]
    }

    pub(crate) fn pages(&self) -> impl Iterator<Item = PageId> {
        self.pages.iter().copied()
    }

    fn images(&self) -> impl Iterator<Item = (PageId, &[u8])> {
        let images = self.bytes[self.page_bytes..].chunks_exact(self.page_bytes);
        self.pages.iter().copied().zip(images)
    }

    fn describe(&mut self) {
        let crcs: Vec<u32> = self
            .images()
            .map(|(_, image)| crc32fast::hash(image))
            .collect();
        let description = &mut self.bytes[..self.page_bytes];
        description.fill(0);
        description[4..8].copy_from_slice(&MAGIC.to_le_bytes());
        description[8..12].copy_from_slice(&(self.pages.len() as u32).to_le_bytes());
        let entries = description[ENTRY_BYTES..].chunks_exact_mut(ENTRY_BYTES);
        for (entry, (page, crc)) in entries.zip(self.pages.iter().zip(crcs)) {
            entry[..8].copy_from_slice(&page.0.to_le_bytes());
            entry[8..12].copy_from_slice(&crc.to_le_bytes());
        }
        let crc = crc32fast::hash(&description[4..]);
        description[..4].copy_from_slice(&crc.to_le_bytes());
    }
}

/// The double-write file. The thread that has borrowed it exclusively may write batches.
pub(crate) struct DoubleWrite {
    file: Arc<dyn File>,
    failed: Option<PageError>,
}

impl DoubleWrite {
    /// Opens the area, repairs from it what the last power failure tore, and returns how many pages that were.
    pub(crate) fn open(
        directory: &dyn Directory,
        name: &str,
        pages: &PageFile,
        page_bytes: usize,
    ) -> Result<(DoubleWrite, u64), PageError> {
        let file = directory
            .open(name, Access::Direct, Create::IfMissing)
            .map_err(PageError::io("opening the double-write file"))?;
        directory
            .sync()
            .map_err(PageError::io("syncing its directory"))?;
        let mut batch = Batch::new(page_bytes);
        let count = file
            .read_at(&mut batch.bytes, 0)
            .map_err(PageError::io("reading the double-write file"))?;
        let is_short = count < batch.bytes.len();
        let listed = described(&batch.bytes, page_bytes);
        if listed.is_empty() {
            // Not to be lost by the next power failure: the beginning that tells whose it is.
            batch.describe();
        }
        if is_short || listed.is_empty() {
            // New, or cut off while it was made; its blocks are taken now, so that a full disk cannot stop a batch.
            let len = if is_short {
                batch.bytes.len()
            } else {
                page_bytes
            };
            file.write_at(&batch.bytes[..len], 0)
                .map_err(PageError::io("making the double-write file"))?;
            file.sync_data()
                .map_err(PageError::io("making the double-write file"))?;
        }
        let opened = DoubleWrite { file, failed: None };
        let repaired = opened.write_again(&mut batch, &listed, pages)?;
        Ok((opened, repaired))
    }

    /// Whether [`open`](DoubleWrite::open) may write over the file, which is not changed: what was made begins with the magic number, or
    /// holds zeros.
    pub(crate) fn check(
        directory: &dyn Directory,
        name: &str,
        page_bytes: usize,
    ) -> Result<(), PageError> {
        let Some(file) = file::existing(directory, name)
            .map_err(PageError::io("opening the double-write file"))?
        else {
            return Ok(());
        };
        let len = file.len().map_err(PageError::io(
            "asking for the length of the double-write file",
        ))?;
        let mut page = AlignedBuffer::zeroed(page_bytes);
        file.read_at(&mut page, 0)
            .map_err(PageError::io("reading the double-write file"))?;
        let magic = u32::from_le_bytes(page[4..8].try_into().expect("four bytes"));
        let version = (magic & 0xFF).wrapping_sub(u32::from(b'0'));
        if magic >> 8 == MAGIC >> 8 && magic != MAGIC && version < 10 {
            return Err(PageError::DoubleWriteVersion {
                name: name.to_owned(),
                found: version,
                known: VERSION,
            });
        }
        let fits = len <= ((1 + BATCH_PAGES) * page_bytes) as u64;
        let is_own = fits
            && (magic == MAGIC
                || is_blank(&*file).map_err(PageError::io("reading the double-write file"))?);
        match is_own {
            true => Ok(()),
            false => Err(PageError::NoDoubleWriteFile(name.to_owned())),
        }
    }

    /// Writes the batch that was found in the area, of the pages `places`, to their places. Writes it to the area
    /// first if it is whole. Returns how many pages were broken. If it is not whole, the power failed before any page
    /// was touched, or the area has decayed. Intact images then replace broken pages, and nothing else.
    fn write_again(
        &self,
        found: &mut Batch,
        listed: &[(PageId, u32)],
        pages: &PageFile,
    ) -> Result<u64, PageError> {
        found.pages = listed.iter().map(|&(page, _)| page).collect();
        let intact: Vec<bool> = found
            .images()
            .zip(listed)
            .map(|((page, image), &(_, crc))| {
                crc32fast::hash(image) == crc && check(image, page).is_ok()
            })
            .collect();
        let whole = intact.iter().all(|&intact| intact);
        if listed.is_empty() {
            return Ok(0);
        }
        if whole {
            self.write_area(found)
                .map_err(PageError::io("writing the double-write file again"))?;
        }
        let mut repaired = 0;
        let mut in_place = AlignedBuffer::zeroed(found.page_bytes);
        let images = found.images().zip(intact).filter(|&(_, intact)| intact);
        for ((page, image), _) in images {
            pages.read(page, &mut in_place)?;
            let broken = !matches!(check(&in_place, page), Ok(PageContent::Page));
            repaired += u64::from(broken);
            // A newer page means that the area is of another time: somebody copied files one by one.
            if broken || whole && lsn(&in_place) <= lsn(image) {
                pages.make_room(page)?;
                pages
                    .write(page, image)
                    .map_err(PageError::io("repairing a torn page"))?;
            }
        }
        pages
            .sync()
            .map_err(PageError::io("repairing torn pages"))?;
        Ok(repaired)
    }

    fn write_area(&self, batch: &Batch) -> std::io::Result<()> {
        let used = (1 + batch.len()) * batch.page_bytes;
        self.file.write_at(&batch.bytes[..used], 0)?;
        self.file.sync_data()
    }

    /// Writes a batch so that no power failure can tear its pages. The pages must have [room](PageFile::make_room).
    pub(crate) fn write(&mut self, batch: &mut Batch, pages: &PageFile) -> Result<(), PageError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        batch.describe();
        let written = self.write_twice(batch, pages);
        // After a failure parts of pages may be in place, and the area must keep their images: no other batch may
        // overwrite it. And after a failed sync nothing written before is certain.
        self.failed = written.clone().err();
        written
    }

    fn write_twice(&self, batch: &Batch, pages: &PageFile) -> Result<(), PageError> {
        self.write_area(batch)
            .map_err(PageError::failed("writing the double-write file"))?;
        for (page, image) in batch.images() {
            pages
                .write(page, image)
                .map_err(PageError::failed("writing pages"))?;
        }
        pages.sync().map_err(PageError::failed("syncing pages"))
    }
}

/// The pages of the batch in the area and their images' checksums; none if its first page is not intact.
fn described(area: &[u8], page_bytes: usize) -> Vec<(PageId, u32)> {
    let word = |at: usize| u32::from_le_bytes(area[at..at + 4].try_into().expect("four bytes"));
    if area.len() < page_bytes
        || word(4) != MAGIC
        || word(0) != crc32fast::hash(&area[4..page_bytes])
        || word(8) as usize > BATCH_PAGES
    {
        return Vec::new();
    }
    let entries = area[ENTRY_BYTES..]
        .chunks_exact(ENTRY_BYTES)
        .take(word(8) as usize);
    let decode = |entry: &[u8]| {
        let page = u64::from_le_bytes(entry[..8].try_into().expect("eight bytes"));
        (
            PageId(page),
            u32::from_le_bytes(entry[8..12].try_into().expect("four bytes")),
        )
    };
    entries.map(decode).collect()
}
