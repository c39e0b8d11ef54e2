//! Trampolines of sessions that are over, by the site they were made for.
//!
//! They are never freed, since a thread may be inside. The next session that hooks the same site alike takes them
//! again, under its own probe's number. So the memory of a process does not grow with the number of its sessions. A
//! trampoline fits if the site, its instruction and the displaced code are the same; only its probe's number is not
//! code.

use evenkeel_wire::{Displaced, Probe};

use crate::region::away;
use crate::site::Made;

/// Sites remembered: a power of two, twice what the largest plan has.
const SLOTS: usize = 1 << 19;
/// Slots looked at for one site.
const STEPS_MAX: usize = 64;

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
    slots: *mut Slot,
}

impl OldTrampolines {
    /// Remembers nothing.
    pub const fn new() -> OldTrampolines {
        OldTrampolines {
            slots: core::ptr::null_mut(),
        }
    }

    /// Maps the table. Without it every session makes its own.
    pub fn prepare(&mut self) {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let bytes = SLOTS * size_of::<Slot>();
        // SAFETY: fresh anonymous memory; zero is a free slot.
        let table = unsafe { libc::mmap(away(bytes) as *mut _, bytes, protection, flags, -1, 0) };
        if table != libc::MAP_FAILED {
            self.slots = table.cast();
        }
    }

    fn slot(&mut self, address: u64, identity: u64) -> Option<&mut Slot> {
        if self.slots.is_null() {
            return None;
        }
        let first = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
        // SAFETY: mapped whole, and the caller's lock keeps others out.
        let slots = unsafe { core::slice::from_raw_parts_mut(self.slots, SLOTS) };
        let is_it =
            |slot: &Slot| slot.address == 0 || (slot.address, slot.identity) == (address, identity);
        let mut steps = (0..STEPS_MAX).map(|step| (first + step) % SLOTS);
        let at = steps.find(|&at| is_it(&slots[at]))?;
        Some(&mut slots[at])
    }

    /// The code made for a site earlier.
    pub fn find(&mut self, address: u64, identity: u64) -> Option<Made> {
        let slot = self.slot(address, identity)?;
        (slot.address != 0).then_some(slot.made)
    }

    /// Remembers it, if there is room.
    pub fn remember(&mut self, address: u64, identity: u64, made: Made) {
        if let Some(slot) = self.slot(address, identity) {
            *slot = Slot {
                address,
                identity,
                made,
            };
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
