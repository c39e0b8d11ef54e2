//! An interval's label, out of an argument of the function that begins it.

use core::sync::atomic::Ordering::Relaxed;

use evenkeel_patch::x86_64::kernel::is_readable;
use evenkeel_patch::x86_64::stubs::Registers;
use evenkeel_wire::record::{LABEL_CHUNK, LABEL_MAX};
use evenkeel_wire::{Label, Marker, Probe, Record};

use crate::arena::Arena;

const PAGE: u64 = 4096;

/// Fills in the label's records and returns how many they are.
pub fn read(probe: &Probe, registers: &Registers, arena: Arena, labels: &mut [Record]) -> usize {
    let argument = || registers.argument(probe.label_argument);
    if probe.label == Label::Integer as u8 {
        labels[0] = Record::marker(Marker::LabelInteger, argument(), 0);
        return 1;
    }
    if probe.label != Label::Text as u8 {
        return 0;
    }
    let mut text = [0u8; LABEL_MAX];
    let Some(len) = copy_text(argument(), &mut text) else {
        arena.control().labels_unread.fetch_add(1, Relaxed);
        return 0;
    };
    let chunks = text[..len].chunks(LABEL_CHUNK);
    let count = chunks.len();
    for (label, chunk) in labels.iter_mut().zip(chunks) {
        *label = Record::from_label_chunk(chunk);
    }
    count
}

/// Copies text up to its zero and returns its length. Nothing where the pointer leads nowhere: the kernel is asked once a
/// page, for a fifth of what it takes to have it copy. (It could be unmapped between question and copy only by another
/// thread, under the function that was just called with it.)
fn copy_text(from: u64, into: &mut [u8]) -> Option<usize> {
    for (at, byte) in into.iter_mut().enumerate() {
        let address = from.wrapping_add(at as u64);
        if (at == 0 || address.is_multiple_of(PAGE)) && !is_readable(address) {
            return (at > 0).then_some(at);
        }
        // SAFETY: the page can be read.
        *byte = unsafe { (address as *const u8).read_volatile() };
        if *byte == 0 {
            return Some(at);
        }
    }
    Some(into.len())
}
