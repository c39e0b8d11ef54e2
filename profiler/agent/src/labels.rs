//! An interval's label, out of an argument of the function that begins it or of one that is called inside, or where a variable points to.

use core::sync::atomic::Ordering::Relaxed;

use evenkeel_patch::arch::stubs::Registers;
use evenkeel_patch::kernel::is_readable;
use evenkeel_wire::record::{LABEL_CHUNK, LABEL_MAX};
use evenkeel_wire::{Label, LabelValue, Probe, Record};

use crate::arena::Arena;
use crate::modules;

const PAGE: u64 = 4096;

/// The label of an interval that begins, at its place in the target. It is copied from there into the ring without a
/// buffer, because clearing one would call the C library (see [`crate::boundaries`]).
#[derive(Clone, Copy)]
pub enum Found {
    /// None wanted, or none that could be read.
    Nothing,
    /// An integer.
    Integer(u64),
    /// An address, and a number of readable bytes of text there.
    Text(u64, usize),
}

impl Found {
    /// Looks for the label that the probe wants.
    pub fn read(probe: &Probe, registers: &Registers, arena: Arena) -> Found {
        let argument = || registers.argument(probe.label_argument);
        if probe.label == Label::Integer as u8 {
            return Found::Integer(argument());
        }
        let from = match probe.label {
            kind if kind == Label::Text as u8 => Some(argument()),
            kind if kind == Label::Variable as u8 => variable(probe),
            _ => return Found::Nothing,
        };
        // A variable that points nowhere has no label now.
        if from == Some(0) && probe.label == Label::Variable as u8 {
            return Found::Nothing;
        }
        match from.and_then(|from| Some((from, text_len(from)?))) {
            Some((from, len)) => Found::Text(from, len),
            None => {
                arena.control().labels_unread.fetch_add(1, Relaxed);
                Found::Nothing
            }
        }
    }

    /// The label with its text copied into a buffer.
    pub fn copied<'a>(&self, buffer: &'a mut [u8; LABEL_MAX]) -> LabelValue<'a> {
        match *self {
            Found::Nothing => LabelValue::None,
            Found::Integer(value) => LabelValue::Integer(value),
            Found::Text(from, len) => {
                for (at, byte) in buffer[..len].iter_mut().enumerate() {
                    // SAFETY: the text can be read.
                    *byte = unsafe { (from.wrapping_add(at as u64) as *const u8).read_volatile() };
                }
                LabelValue::Text(&buffer[..len])
            }
        }
    }

    /// Number of its records.
    pub fn records(&self) -> usize {
        match *self {
            Found::Nothing => 0,
            Found::Integer(_) => 1,
            Found::Text(_, len) => len.div_ceil(LABEL_CHUNK),
        }
    }

    /// A record among them.
    pub fn record(&self, index: usize) -> Record {
        match *self {
            Found::Nothing => Record::from_label_words(0, 0),
            Found::Integer(value) => Record::integer_label(value),
            Found::Text(from, len) => {
                let at = index * LABEL_CHUNK;
                chunk(from.wrapping_add(at as u64), (len - at).min(LABEL_CHUNK))
            }
        }
    }
}

/// Where the variable points to that the probe's module has for its label. Nothing where the module is not known, or its memory gone.
fn variable(probe: &Probe) -> Option<u64> {
    let address = modules::address(probe.module, probe.label_variable)?;
    let is_word = address.is_multiple_of(8) && is_readable(address);
    // SAFETY: an aligned word lies in one page, which can be read.
    is_word.then(|| unsafe { word(address) })
}

/// The record of the `len` bytes of text at `from`, which can be read. Reads are volatile also so that the compiler does not
/// make a call of the C library of them.
fn chunk(from: u64, len: usize) -> Record {
    if len == LABEL_CHUNK {
        // SAFETY: the caller's. Bytes 0 to 7, and 5 to 12.
        let (low, high) = unsafe { (word(from), word(from.wrapping_add(5))) };
        return Record::from_label_words(low, high >> 24);
    }
    let (mut low, mut high) = (0, 0);
    for at in 0..len as u64 {
        // SAFETY: the caller's.
        let byte = u64::from(unsafe { (from.wrapping_add(at) as *const u8).read_volatile() });
        match at {
            0..8 => low |= byte << (8 * at),
            _ => high |= byte << (8 * (at - 8)),
        }
    }
    Record::from_label_words(low, high)
}

/// Eight bytes at any address.
///
/// # Safety
/// They can be read.
unsafe fn word(from: u64) -> u64 {
    #[repr(C, packed)]
    struct Word(u64);
    // SAFETY: the caller's; a packed structure needs no alignment.
    unsafe { (from as *const Word).read_volatile().0 }
}

/// Whether one of a word's bytes is zero (Warren, Hacker's Delight, 6-1).
fn has_zero_byte(word: u64) -> bool {
    const ONES: u64 = u64::MAX / 0xff;
    word.wrapping_sub(ONES) & !word & (ONES << 7) != 0
}

/// Length of a text up to its zero, at most [`LABEL_MAX`]. Nothing where the pointer leads nowhere: the kernel is asked once
/// a page, for a fifth of what it takes to have it copy. (It could be unmapped between question and copy only by another
/// thread, under the function that was just called with it.)
fn text_len(from: u64) -> Option<usize> {
    let mut at = 0;
    while at < LABEL_MAX {
        let address = from.wrapping_add(at as u64);
        if (at == 0 || address.is_multiple_of(PAGE)) && !is_readable(address) {
            return (at > 0).then_some(at);
        }
        // An aligned word lies in one page.
        // SAFETY: the page can be read.
        if address.is_multiple_of(8) && !has_zero_byte(unsafe { word(address) }) {
            at += 8;
            continue;
        }
        // SAFETY: the page can be read.
        if unsafe { (address as *const u8).read_volatile() } == 0 {
            return Some(at);
        }
        at += 1;
    }
    Some(LABEL_MAX)
}
