//! Numbers out of a record.

/// The unread rest of a record.
pub struct Fields<'a>(pub &'a [u8]);

impl Fields<'_> {
    /// The next 32 bits.
    pub fn u32(&mut self) -> Option<u32> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*field))
    }

    /// The next 64 bits.
    pub fn u64(&mut self) -> Option<u64> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*field))
    }
}
