//! The text of an interval's label, out of a string of Java.

use core::mem::MaybeUninit;
use core::sync::atomic::Ordering::Relaxed;

use evenkeel_wire::record::LABEL_MAX;

use crate::arena;
use crate::jvm::vm::{Jni, Object};
use crate::labels::FoundLabel;

/// Bytes of modified UTF-8 that a character takes, at most.
const CHARACTER: usize = 3;
/// Bytes that a label needs, with the zero that the JVM may add.
pub const BUFFER: usize = LABEL_MAX * CHARACTER + 1;

/// The label of a string, copied into `buffer`. No string is a label that could not be read.
pub fn text(jni: Jni, string: Object, buffer: &mut [MaybeUninit<u8>; BUFFER]) -> FoundLabel {
    let Some(characters) = jni.string_len(string) else {
        arena::get().control().labels_unread.fetch_add(1, Relaxed);
        return FoundLabel::Nothing;
    };
    let characters = characters.min(LABEL_MAX);
    let written = buffer.as_mut_ptr().cast::<u8>();
    let len = jni.string_bytes(string, characters, written);
    FoundLabel::text(written as u64, whole_characters(written, len))
}

/// Bytes up to [`LABEL_MAX`] that end with a character's end.
fn whole_characters(bytes: *const u8, len: usize) -> usize {
    /// Of a byte that continues a character, the upper two bits are these.
    const CONTINUES: u8 = 0b1000_0000;
    if len <= LABEL_MAX {
        return len;
    }
    let begins = |at: &usize| {
        // SAFETY: below the length that was written.
        let byte = unsafe { bytes.add(*at).read() };
        byte & 0b1100_0000 != CONTINUES
    };
    (0..=LABEL_MAX).rev().find(begins).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_labels_end_with_a_character() {
        let text = "€".repeat(LABEL_MAX);
        let len = whole_characters(text.as_ptr(), text.len());
        assert_eq!(len, LABEL_MAX / 3 * 3);
        assert_eq!(whole_characters(text.as_ptr(), 6), 6);
    }
}
