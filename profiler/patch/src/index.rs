//! Which probe a breakpoint belongs to: tables of addresses that handlers of signals read while they are written.

use core::sync::atomic::{AtomicU32, Ordering::*};

use evenkeel_wire::PROBES_MAX;
use evenkeel_wire::arch::code::JUMP_BYTES;

use crate::table::Hashed;

const TABLES: usize = 5;

type Slots = Hashed<AtomicU32, TABLES>;

const _: () = assert!(PROBES_MAX << 3 < 1 << 31 && Slots::slots(TABLES - 1) > 2 * PROBES_MAX);

/// A slot has a probe's number, and which byte of its site the address is.
pub struct SiteIndex {
    slots: Slots,
}

impl SiteIndex {
    /// Without memory, and so without sites.
    pub const fn new() -> SiteIndex {
        SiteIndex {
            slots: Hashed::new(),
        }
    }

    /// False if there is no memory.
    pub fn prepare(&mut self) -> bool {
        self.slots.prepare(0)
    }

    /// Forgets all sites.
    pub fn clear(&mut self) {
        self.slots.clear();
    }

    /// The slots of a table in which an address is looked for, in order.
    fn places(&self, table: usize, address: u64) -> impl Iterator<Item = &AtomicU32> {
        let places = self.slots.places(table, address);
        // SAFETY: in a table that is there for good; zeros are a number.
        places.map(|slot| unsafe { &*slot })
    }

    /// Makes every boundary of a site findable. False when there is no room, which only a library that was loaded at
    /// thousands of addresses can bring about.
    pub fn insert(&self, id: u32, address: u64, boundaries: u32) -> bool {
        (0..JUMP_BYTES as u64)
            .filter(|offset| boundaries >> offset & 1 == 1)
            .all(|offset| self.insert_one(id << 3 | offset as u32 | 1 << 31, address + offset))
    }

    fn insert_one(&self, key: u32, address: u64) -> bool {
        let is_there = |number| {
            let taken = self.places(number, address).map(|slot| slot.load(Relaxed));
            taken
                .take_while(|&present| present != 0)
                .any(|present| present == key)
        };
        if (0..TABLES).any(is_there) {
            return true;
        }
        let table = self.slots.with_room().into_iter();
        let mut places = table.flat_map(|table| self.places(table, address));
        let free = places.find(|slot| slot.load(Relaxed) == 0);
        free.inspect(|slot| slot.store(key, Release)).is_some()
    }

    /// The probe with a boundary at `address`, if there is one; `site` is where a probe's site now lies.
    pub fn find(&self, address: u64, site: impl Fn(u32) -> u64) -> Option<u32> {
        let of_table = |number| {
            let taken = self.places(number, address).map(|slot| slot.load(Acquire));
            taken
                .take_while(|&present| present != 0)
                .find_map(|present| {
                    let id = (present & 0x7fff_ffff) >> 3;
                    (site(id) + u64::from(present & 7) == address).then_some(id)
                })
        };
        (0..TABLES).find_map(of_table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every site is found while tables are added, and after the last of its kind is in; nothing that was not put in.
    #[test]
    fn sites_are_found_in_every_table() {
        let mut index = SiteIndex::new();
        assert_eq!(index.find(7, |_| 7), None, "without memory");
        assert!(index.prepare());
        let site = |id: u32| 0x5555_0000_0000 + 28 * u64::from(id);
        for id in 0..100_000 {
            assert!(index.insert(id, site(id), 0b1001) && index.insert(id, site(id), 0b1001));
            let asked = id / 2;
            assert_eq!(index.find(site(asked) + 3, site), Some(asked));
        }
        assert!((0..100_000).all(|id| index.find(site(id), site) == Some(id)));
        assert_eq!(index.find(site(5) + 1, site), None);
        index.clear();
        assert_eq!(index.find(site(5), site), None);
        assert!(index.insert(5, site(5), 1) && index.find(site(5), site) == Some(5));
    }

    /// A plan as sessions make it takes a few pages, not one for each site.
    #[test]
    fn a_few_sites_take_a_few_pages() {
        let mut index = SiteIndex::new();
        assert!(index.prepare());
        for id in 0..2_000 {
            assert!(index.insert(id, 0x5555_0000_0000 + 999 * u64::from(id), 1));
        }
        assert_eq!(index.slots.with_room(), Some(0));
    }
}
