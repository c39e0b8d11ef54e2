//! Telling a file that was made and not yet written to from somebody else's.
//!
//! A file may be opened for overwriting only if nobody else needs it. A power failure may leave any of the sectors
//! written since the last sync, so a first sector of zeros proves nothing by itself. Therefore the files of pages,
//! log and store follow a rule: **the beginning with the magic number is durable before anything else is written that
//! is not zeros.** A file that begins with zeros and holds anything else is then foreign. A [file of zeros](is_blank)
//! may be overwritten.

use std::io;

use crate::{AlignedBuffer, File};

/// Read at once.
const PIECE_BYTES: usize = 64 << 10;

/// Whether a file holds nothing but zeros, or nothing at all. It is read as far as it does.
///
/// # Errors
/// What the disk says.
pub fn is_blank(file: &dyn File) -> io::Result<bool> {
    let mut piece = AlignedBuffer::zeroed(PIECE_BYTES);
    let mut at = 0;
    loop {
        let count = file.read_at(&mut piece, at)?;
        if piece[..count].iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        if count < PIECE_BYTES {
            return Ok(true);
        }
        at += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::FaultDisk;
    use crate::{Access, Create};

    #[test]
    fn one_byte_anywhere_is_found() {
        let disk = FaultDisk::new();
        let file = disk.root().open("f", Access::Direct, Create::New).unwrap();
        assert!(is_blank(&*file).unwrap());
        let len = 3 * PIECE_BYTES as u64;
        file.set_len(len).unwrap();
        assert!(is_blank(&*file).unwrap());
        for at in [0, 511, PIECE_BYTES as u64, len - 1] {
            disk.damage("f", at, 1);
            assert!(!is_blank(&*file).unwrap());
            disk.damage("f", at, 1);
        }
    }
}
