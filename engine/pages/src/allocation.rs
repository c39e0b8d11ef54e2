//! Which pages are in use: bitmaps in pages of their own, changed and recovered like any other page.
//!
//! The file is divided into regions of as many pages as one map page has bits. Page 1 of each region is its map; page
//! 0 of the first describes the file, and of the others is left out. A set bit is a page in use.

use std::sync::atomic::Ordering::Relaxed;

use evenkeel_log::Lsn;

use crate::Pool;
use crate::error::PageError;
use crate::guards::PageWrite;
use crate::id::PageId;
use crate::page::PAGE_HEADER_BYTES;
use crate::pool::{Absent, PageUse};

/// A region's map page, and the first page that can be in use after it.
const MAP_PAGE: u64 = 1;
const FIRST_PAGE: u64 = 2;

/// A change of the allocation map, to be logged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// The pages that come into use, or go out of it.
    pub pages: Vec<PageId>,
    /// The map's page, which holds the bits of all of them.
    pub map_page: PageId,
    /// LSN of the map page's last change, which the record depends on.
    pub map_lsn: Lsn,
}

impl Pool {
    /// Takes a page into use. `log` is called under the map's latch, appends the record from which
    /// [`redo_allocate`](Pool::redo_allocate) can do the same again, and returns its LSN. The page comes exclusively
    /// latched, its body zeros. The record may say more, for example how a tree comes to use the page; then the
    /// caller changes and marks the pages concerned with the LSN returned.
    ///
    /// # Errors
    /// Those of `log`, after which nothing has happened; [`PageError::Io`] if the disk is full.
    pub fn allocate<E: From<PageError>>(
        &self,
        log: impl FnOnce(&Allocation) -> Result<Lsn, E>,
    ) -> Result<PageWrite<'_>, E> {
        let mut pages = self.allocate_many(1, log)?;
        Ok(pages.pop().expect("one page was asked for"))
    }

    /// Allocates `count` pages by one record, at most as many as a region has.
    ///
    /// # Errors
    /// As [`allocate`](Pool::allocate).
    pub fn allocate_many<E: From<PageError>>(
        &self,
        count: usize,
        log: impl FnOnce(&Allocation) -> Result<Lsn, E>,
    ) -> Result<Vec<PageWrite<'_>>, E> {
        // What is known to be in use is not looked at again: an allocation takes the same time however long the file is.
        let mut first_free = self.first_free.load(Relaxed);
        loop {
            let region = first_free / self.region_pages();
            let map_page = PageId(region * self.region_pages() + MAP_PAGE);
            self.file.make_room(map_page)?;
            let mut map = self.write_as(map_page, Absent::Zeros)?;
            let free = self.free_in(&map, first_free, count);
            if free.len() < count {
                let next_region = (region + 1) * self.region_pages();
                // Only a region without any free page is skipped from now on.
                if free.is_empty() {
                    self.raise_first_free(first_free, next_region);
                }
                first_free = next_region;
                continue;
            }
            let pages = free
                .iter()
                .map(|&page| self.new_page(page))
                .collect::<Result<Vec<PageWrite<'_>>, PageError>>()?;
            let allocation = Allocation {
                pages: free,
                map_page,
                map_lsn: map.lsn(),
            };
            let lsn = log(&allocation)?;
            self.change_map(&mut map, &allocation.pages, true, lsn);
            // All up to the last are in use now.
            let last = allocation.pages.last().map_or(first_free, |page| page.0);
            self.raise_first_free(first_free, last + 1);
            return Ok(pages.into_iter().map(zeroed).collect());
        }
    }

    /// Takes a page out of use; nobody may use it any more. As for [`allocate`](Pool::allocate), `log` appends the
    /// record.
    ///
    /// # Errors
    /// Those of `log`, after which nothing has happened, and of reading the map.
    pub fn free<E: From<PageError>>(
        &self,
        page: PageId,
        log: impl FnOnce(&Allocation) -> Result<Lsn, E>,
    ) -> Result<(), E> {
        let mut map = self.map_of(page)?;
        let allocation = Allocation {
            pages: vec![page],
            map_page: map.id(),
            map_lsn: map.lsn(),
        };
        let lsn = log(&allocation)?;
        self.change_map(&mut map, &allocation.pages, false, lsn);
        // Before the map's latch goes: whoever raises it has seen the page.
        self.first_free.fetch_min(page.0, Relaxed);
        Ok(())
    }

    /// No page before `to` is free, as none before `from` was: called with the latch of the map in which both lie, or
    /// of the one before `to`. If a page was freed in between, before `from`, that counts.
    fn raise_first_free(&self, from: u64, to: u64) {
        let _ = self.first_free.compare_exchange(from, to, Relaxed, Relaxed);
    }

    /// Does an allocation again, unless the map has it already.
    ///
    /// # Errors
    /// Of reading the map.
    pub fn redo_allocate(&self, pages: &[PageId], lsn: Lsn) -> Result<(), PageError> {
        self.redo_map(pages, true, lsn)
    }

    /// Frees pages again, unless the map has it already.
    ///
    /// # Errors
    /// Of reading the map.
    pub fn redo_free(&self, pages: &[PageId], lsn: Lsn) -> Result<(), PageError> {
        self.redo_map(pages, false, lsn)
    }

    fn redo_map(&self, pages: &[PageId], used: bool, lsn: Lsn) -> Result<(), PageError> {
        let Some(&first) = pages.first() else {
            return Ok(());
        };
        // As for the pages themselves: see `write_for_redo`.
        self.file
            .make_room(PageId(first.0 - first.0 % self.region_pages() + MAP_PAGE))?;
        let mut map = self.map_of(first)?;
        if map.lsn() < lsn {
            self.change_map(&mut map, pages, used, lsn);
        }
        Ok(())
    }

    /// Whether a page is in use.
    ///
    /// # Errors
    /// Of reading the map.
    pub fn is_allocated(&self, page: PageId) -> Result<bool, PageError> {
        let bit = page.0 % self.region_pages();
        let map = self.map_of(page)?;
        Ok(bit < FIRST_PAGE || is_set(&map, bit))
    }

    /// Number of pages in use, maps not counted.
    ///
    /// # Errors
    /// Of reading the maps.
    pub fn allocated_pages(&self) -> Result<u64, PageError> {
        let mut count = 0;
        let regions = self.file.pages().div_ceil(self.region_pages());
        for region in 0..regions {
            let map = self.map_of(PageId(region * self.region_pages()))?;
            count += map
                .iter()
                .map(|byte| u64::from(byte.count_ones()))
                .sum::<u64>();
        }
        Ok(count)
    }

    /// Reads every page in use; how many there are, maps not counted.
    ///
    /// # Errors
    /// The first page's that is damaged or cannot be read.
    pub fn verify(&self) -> Result<u64, PageError> {
        let mut count = 0;
        for region in 0..self.file.pages().div_ceil(self.region_pages()) {
            let first = region * self.region_pages();
            let in_use: Vec<PageId> = {
                let map = self.map_of(PageId(first))?;
                let bits = (FIRST_PAGE..self.region_pages()).filter(|&bit| is_set(&map, bit));
                bits.map(|bit| PageId(first + bit)).collect()
            };
            for &page in &in_use {
                match self.read(page) {
                    Ok(_) => {}
                    // Freed since the map was read.
                    Err(_) if !self.is_allocated(page)? => {}
                    Err(error) => return Err(error),
                }
            }
            count += in_use.len() as u64;
        }
        Ok(count)
    }

    fn region_pages(&self) -> u64 {
        8 * (self.page_bytes - PAGE_HEADER_BYTES) as u64
    }

    fn map_of(&self, page: PageId) -> Result<PageWrite<'_>, PageError> {
        let region = page.0 / self.region_pages();
        self.write_as(
            PageId(region * self.region_pages() + MAP_PAGE),
            Absent::Zeros,
        )
    }

    /// Up to `count` free pages of the region in which `first` lies, from there on.
    fn free_in(&self, map: &[u8], first: u64, count: usize) -> Vec<PageId> {
        let (region, bit) = (first / self.region_pages(), first % self.region_pages());
        let mut free = Vec::with_capacity(count);
        let mut bit = bit.max(FIRST_PAGE);
        while bit < self.region_pages() && free.len() < count {
            if bit.is_multiple_of(8) && map[(bit / 8) as usize] == 0xFF {
                bit += 8;
                continue;
            }
            if !is_set(map, bit) {
                free.push(PageId(region * self.region_pages() + bit));
            }
            bit += 1;
        }
        free
    }

    fn change_map(&self, map: &mut PageWrite<'_>, pages: &[PageId], used: bool, lsn: Lsn) {
        for page in pages {
            let bit = page.0 % self.region_pages();
            let mask = 1 << (bit % 8);
            let byte = &mut map[(bit / 8) as usize];
            *byte = if used { *byte | mask } else { *byte & !mask };
        }
        map.mark_dirty(lsn);
    }

    /// A page that is about to come into use, with whatever body it had.
    fn new_page(&self, page: PageId) -> Result<PageWrite<'_>, PageError> {
        self.file.make_room(page)?;
        let frame = self.fetch(page, PageUse::Write, Absent::New)?;
        let at = &self.frames[frame as usize];
        Ok(PageWrite::new(&self.dirty, frame, at, page))
    }
}

fn is_set(map: &[u8], bit: u64) -> bool {
    map[(bit / 8) as usize] & (1 << (bit % 8)) != 0
}

fn zeroed(mut page: PageWrite<'_>) -> PageWrite<'_> {
    page.fill(0);
    page
}
