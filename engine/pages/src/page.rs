//! The layout of a page on the disk.
//!
//! ```text
//! 0      4         8    16    24
//! | crc | version | id | LSN | body ...           little endian; crc: over everything after it
//! ```
//! The id tells a page written to the wrong place, the checksum one that was torn or has decayed. A page of zeros has
//! never been written.

use evenkeel_log::Lsn;

use crate::error::PageError;
use crate::id::PageId;

/// Bytes of a page before its body.
pub const PAGE_HEADER_BYTES: usize = 24;
/// Version of the format. Checksum and version keep their places in all versions, so that a page of another one is distinguished
/// from a damaged one.
const VERSION: u32 = 1;

/// The LSN of the last change to the page.
pub(crate) fn lsn(page: &[u8]) -> Lsn {
    Lsn(u64_at(page, 16))
}

pub(crate) fn set_lsn(page: &mut [u8], lsn: Lsn) {
    page[16..24].copy_from_slice(&lsn.0.to_le_bytes());
}

/// Makes a page that has only a body and an LSN ready to be written.
pub(crate) fn seal(page: &mut [u8], id: PageId) {
    page[4..8].copy_from_slice(&VERSION.to_le_bytes());
    page[8..16].copy_from_slice(&id.0.to_le_bytes());
    let crc = crc32fast::hash(&page[4..]);
    page[..4].copy_from_slice(&crc.to_le_bytes());
}

/// Result of reading a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PageContent {
    /// The page that was written.
    Page,
    /// Nothing was written there yet.
    Zeros,
}

/// Checks a page that was read from the place of `id`.
pub(crate) fn check(page: &[u8], id: PageId) -> Result<PageContent, PageError> {
    let crc = u32::from_le_bytes(page[..4].try_into().expect("four bytes"));
    if crc == 0 && page.iter().all(|&byte| byte == 0) {
        return Ok(PageContent::Zeros);
    }
    let version = u32::from_le_bytes(page[4..8].try_into().expect("four bytes"));
    let what = if crc != crc32fast::hash(&page[4..]) {
        "its checksum does not match".to_owned()
    } else if version != VERSION {
        return Err(PageError::Version {
            page: id,
            found: version,
            known: VERSION,
        });
    } else if u64_at(page, 8) != id.0 {
        format!("it holds page {}", u64_at(page, 8))
    } else {
        return Ok(PageContent::Page);
    };
    Err(PageError::Corrupt { page: id, what })
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_changed_bit_and_any_other_place_is_noticed(bit in 0usize..8 * 4096, body: u8, id: u64, other: u64) {
            let mut page = vec![body; 4096];
            set_lsn(&mut page, Lsn(7));
            seal(&mut page, PageId(id));
            prop_assert_eq!(check(&page, PageId(id)).unwrap(), PageContent::Page);
            prop_assert_eq!(lsn(&page), Lsn(7));
            prop_assert!(other == id || check(&page, PageId(other)).is_err());
            page[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(check(&page, PageId(id)).is_err());
        }
    }

    #[test]
    fn zeros_are_distinguished_from_a_broken_page() {
        let mut page = vec![0; 4096];
        assert_eq!(check(&page, PageId(3)).unwrap(), PageContent::Zeros);
        page[4095] = 1;
        assert!(check(&page, PageId(3)).is_err());
    }
}
