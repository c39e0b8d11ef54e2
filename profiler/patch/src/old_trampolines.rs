//! Trampolines of sessions that are over, by the site they were made for.
//!
//! They are never freed, since a thread may be inside. The next session that hooks the same site alike takes them
//! again, under its own probe's number. So the memory of a process does not grow with the number of its sessions. A
//! trampoline fits if the site, its instruction and the displaced code are the same; only its probe's number is not
//! code.

use evenkeel_wire::{Displaced, PROBES_MAX, Probe};

use crate::site::Made;
use crate::table::Hashed;

const TABLES: usize = 7;

type Slots = Hashed<Slot, TABLES>;

const _: () = assert!(Slots::slots(TABLES - 1) >= 2 * PROBES_MAX);

#[derive(Clone, Copy)]
#[repr(C)]
struct Slot {
    /// 0: free.
    address: u64,
    /// Hash of everything that decides the code.
    identity: u64,
    made: Made,
}

/// All of them.
pub struct OldTrampolines {
    slots: Slots,
}

impl OldTrampolines {
    /// Remembers nothing.
    pub const fn new() -> OldTrampolines {
        OldTrampolines {
            slots: Hashed::new(),
        }
    }

    /// Slots of a table, up to the first that is free or has this site.
    fn slot(&self, table: usize, address: u64, identity: u64) -> Option<*mut Slot> {
        self.slots.places(table, address).find(|&slot| {
            // SAFETY: in a table that is there for good; zeros are a free slot.
            let slot = unsafe { &*slot };
            slot.address == 0 || (slot.address, slot.identity) == (address, identity)
        })
    }

    /// The code made for a site earlier.
    pub fn find(&self, address: u64, identity: u64) -> Option<Made> {
        (0..TABLES).find_map(|table| {
            let slot = self.slot(table, address, identity)?;
            // SAFETY: as above.
            let slot = unsafe { &*slot };
            (slot.address != 0).then_some(slot.made)
        })
    }

    /// Remembers it, if there is room. It was not found.
    pub fn remember(&mut self, address: u64, identity: u64, made: Made) {
        let table = self.slots.with_room();
        if let Some(slot) = table.and_then(|table| self.slot(table, address, identity)) {
            let remembered = Slot {
                address,
                identity,
                made,
            };
            // SAFETY: as above, and the caller's lock keeps others out.
            unsafe { slot.write(remembered) };
        }
    }
}

/// Hash of everything that decides the code of a hook, except for its place: FNV-1a.
pub fn identity(probe: &Probe, bias: u64, displaced: Option<(&Displaced, Option<&Probe>)>) -> u64 {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    hash.probe(probe, bias);
    if let Some((displaced, call)) = displaced {
        for piece in &displaced.pieces[..displaced.count as usize] {
            hash.bytes(&piece.bytes[..usize::from(piece.len)]);
            hash.bytes(&[piece.len, piece.fix, piece.at, piece.origin]);
            hash.bytes(&piece.target.to_le_bytes());
        }
        hash.bytes(&displaced.len.to_le_bytes());
        hash.bytes(&displaced.resume.to_le_bytes());
        hash.bytes(&displaced.boundaries.to_le_bytes());
        if let Some(call) = call {
            hash.probe(call, bias);
        }
    }
    hash.0
}

struct Hash(u64);

impl Hash {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn probe(&mut self, probe: &Probe, bias: u64) {
        self.bytes(&[probe.form, probe.role, probe.len]);
        self.bytes(&probe.operand.to_bytes());
        self.bytes(&probe.bytes);
        for word in [probe.address, probe.target, bias] {
            self.bytes(&word.to_le_bytes());
        }
    }
}
