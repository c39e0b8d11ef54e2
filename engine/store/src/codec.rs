//! Reading and writing the small fixed-layout integers that rows, log records and the catalog are made of.
//!
//! All integers are little endian. Reading never panics: what is too short is `None`, and the caller says what is corrupt.

/// Appends to a byte buffer.
pub(crate) trait Write {
    fn u8(&mut self, value: u8);
    fn u16(&mut self, value: u16);
    fn u32(&mut self, value: u32);
    fn u64(&mut self, value: u64);
    /// A length (2 bytes) and that many bytes.
    fn short_bytes(&mut self, bytes: &[u8]);
    /// A length (2 bytes if below FFFF, else FFFF and 4 bytes) and that many bytes, less than 4 GiB.
    fn long_bytes(&mut self, bytes: &[u8]);
}

impl Write for Vec<u8> {
    fn u8(&mut self, value: u8) {
        self.push(value);
    }

    fn u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn short_bytes(&mut self, bytes: &[u8]) {
        self.u16(u16::try_from(bytes.len()).expect("keys and rows are shorter than a page"));
        self.extend_from_slice(bytes);
    }

    fn long_bytes(&mut self, bytes: &[u8]) {
        match u16::try_from(bytes.len()) {
            Ok(len) if len != LONG => self.u16(len),
            _ => {
                self.u16(LONG);
                self.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
            }
        }
        self.extend_from_slice(bytes);
    }
}

/// Marks a length of four bytes.
const LONG: u16 = u16::MAX;

/// Takes values off the front of a byte slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'b>(pub(crate) &'b [u8]);

impl<'b> Reader<'b> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn short_bytes(&mut self) -> Option<&'b [u8]> {
        let len = self.u16()?;
        self.take(len as usize)
    }

    pub(crate) fn long_bytes(&mut self) -> Option<&'b [u8]> {
        let len = match self.u16()? {
            LONG => self.u32()? as usize,
            len => usize::from(len),
        };
        self.take(len)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.short_bytes()?.to_vec()).ok()
    }
}
