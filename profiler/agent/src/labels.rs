//! An interval's label: where an argument of the function that begins it leads to, or one of a function called inside, or a variable.

use core::sync::atomic::Ordering::Relaxed;

use evenkeel_patch::arch::stubs::Registers;
use evenkeel_patch::kernel::is_readable;
use evenkeel_wire::record::{LABEL_CHUNK, LABEL_MAX};
use evenkeel_wire::{Label, LabelValue, Probe, Record};

use crate::arena::Arena;
use crate::modules;

const PAGE: u64 = 4096;

/// The label of an interval, at its place in the target. It is copied from there into the ring without a
/// buffer, because clearing one would call the C library (see [`crate::boundaries`]).
#[derive(Clone, Copy)]
pub enum FoundLabel {
    /// None wanted, or none that could be read.
    Nothing,
    /// An integer.
    Integer(u64),
    /// Readable text.
    Text(Text),
}

/// Readable text of the target.
#[derive(Clone, Copy)]
pub struct Text {
    from: u64,
    len: usize,
    /// Letters are read as lower case.
    folded: bool,
}

/// The target has no memory there.
struct Unreadable;

impl FoundLabel {
    /// Readable text at an address.
    pub fn text(from: u64, len: usize) -> FoundLabel {
        let folded = false;
        FoundLabel::Text(Text { from, len, folded })
    }

    /// Looks for the label that the probe wants.
    pub fn read(probe: &Probe, registers: &Registers, arena: Arena) -> FoundLabel {
        let label = Label::of(probe);
        if label == Label::None {
            return FoundLabel::Nothing;
        }
        let found = match value(probe, registers) {
            Ok(Some(value)) => found(label, value),
            Ok(None) => return FoundLabel::Nothing,
            Err(Unreadable) => None,
        };
        found.unwrap_or_else(|| {
            arena.control().labels_unread.fetch_add(1, Relaxed);
            FoundLabel::Nothing
        })
    }

    /// The label with its text copied into a buffer.
    pub fn copied<'a>(&self, buffer: &'a mut [u8; LABEL_MAX]) -> LabelValue<'a> {
        match *self {
            FoundLabel::Nothing => LabelValue::None,
            FoundLabel::Integer(value) => LabelValue::Integer(value),
            FoundLabel::Text(text) => {
                for (at, byte) in buffer[..text.len].iter_mut().enumerate() {
                    // SAFETY: the text can be read.
                    *byte = unsafe { text.byte(at) };
                }
                LabelValue::Text(&buffer[..text.len])
            }
        }
    }

    /// Number of its records.
    pub fn records(&self) -> usize {
        match *self {
            FoundLabel::Nothing => 0,
            FoundLabel::Integer(_) => 1,
            FoundLabel::Text(text) => text.len.div_ceil(LABEL_CHUNK),
        }
    }

    /// A record among them.
    pub fn record(&self, index: usize) -> Record {
        match *self {
            FoundLabel::Nothing => Record::from_label_words(0, 0),
            FoundLabel::Integer(value) => Record::integer_label(value),
            FoundLabel::Text(text) => text.chunk(index * LABEL_CHUNK),
        }
    }
}

/// What a label is made of that begins with this value; nothing where the value should be the address of text and is not.
fn found(label: Label, value: u64) -> Option<FoundLabel> {
    match label {
        Label::None => Some(FoundLabel::Nothing),
        Label::Integer => Some(FoundLabel::Integer(value)),
        Label::Int => Some(FoundLabel::Integer(i64::from(value as i32) as u64)),
        Label::Text | Label::Word | Label::Request => Some(FoundLabel::Text(Text {
            from: value,
            len: text_len(value, label)?,
            folded: label == Label::Word,
        })),
    }
}

/// The value that the probe's argument or variable leads to. Nothing where a pointer on the way is null: a variable or member has
/// no label then.
fn value(probe: &Probe, registers: &Registers) -> Result<Option<u64>, Unreadable> {
    let mut value = match probe.label_variable {
        0 => registers.argument(probe.label_argument),
        variable => modules::address(probe.module, variable).ok_or(Unreadable)?,
    };
    let mut step = 0;
    while let Some(offset) = probe.label_members.offset(step) {
        if value == 0 {
            return Ok(None);
        }
        value = member(value.wrapping_add(u64::from(offset)))?;
        step += 1;
    }
    Ok((step == 0 || value != 0 || !is_text(probe)).then_some(value))
}

fn is_text(probe: &Probe) -> bool {
    !matches!(Label::of(probe), Label::Integer | Label::Int)
}

/// The word at an address that may lead nowhere.
fn member(address: u64) -> Result<u64, Unreadable> {
    let is_there =
        is_readable(address) && (address.is_multiple_of(8) || is_readable(address.wrapping_add(7)));
    if !is_there {
        return Err(Unreadable);
    }
    // SAFETY: the pages of its first and its last byte can be read.
    Ok(unsafe { word(address) })
}

impl Text {
    /// The record of the text from `at` on.
    fn chunk(&self, at: usize) -> Record {
        let (from, len) = (self.from.wrapping_add(at as u64), self.len - at);
        if len >= LABEL_CHUNK && !self.folded {
            // SAFETY: the text can be read. Bytes 0 to 7, and 5 to 12.
            let (low, high) = unsafe { (word(from), word(from.wrapping_add(5))) };
            return Record::from_label_words(low, high >> 24);
        }
        let (mut low, mut high) = (0, 0);
        let mut index = 0;
        while index < len && index < LABEL_CHUNK {
            // SAFETY: the text can be read.
            let byte = u64::from(unsafe { self.byte(at + index) });
            match index {
                0..8 => low |= byte << (8 * index),
                _ => high |= byte << (8 * (index - 8)),
            }
            index += 1;
        }
        Record::from_label_words(low, high)
    }

    /// One of its bytes. The read is volatile also so that the compiler does not make a call of the C library of several.
    ///
    /// # Safety
    /// The text can be read.
    unsafe fn byte(&self, at: usize) -> u8 {
        let address = self.from.wrapping_add(at as u64) as *const u8;
        // SAFETY: the caller's.
        let byte = unsafe { address.read_volatile() };
        match byte {
            b'A'..=b'Z' if self.folded => byte | 0x20,
            byte => byte,
        }
    }
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

/// Length of a text up to its end, at most [`LABEL_MAX`]. Nothing where the pointer leads nowhere: the kernel is asked once
/// a page, for a fifth of what it takes to have it copy. (It could be unmapped between question and copy only by another
/// thread, under the function that was just called with it.)
fn text_len(from: u64, label: Label) -> Option<usize> {
    let mut at = 0;
    while at < LABEL_MAX {
        let address = from.wrapping_add(at as u64);
        if (at == 0 || address.is_multiple_of(PAGE)) && !is_readable(address) {
            return (at > 0).then_some(at);
        }
        // An aligned word lies in one page.
        let is_whole = label == Label::Text && address.is_multiple_of(8);
        // SAFETY: the page can be read.
        if is_whole && !has_zero_byte(unsafe { word(address) }) {
            at += 8;
            continue;
        }
        // SAFETY: the page can be read.
        if ends(label, unsafe { (address as *const u8).read_volatile() }) {
            return Some(at);
        }
        at += 1;
    }
    Some(LABEL_MAX)
}

/// Whether this byte ends a label: a zero, and what follows a command, or the path of an HTTP request (RFC 9112, 3).
fn ends(label: Label, byte: u8) -> bool {
    match label {
        Label::Word => byte <= b' ',
        Label::Request => byte < b' ' || matches!(byte, b'?' | b'#'),
        _ => byte == 0,
    }
}
