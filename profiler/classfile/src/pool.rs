//! The constant pool (JVMS 4.4): read in place, looked up by index.

use std::borrow::Cow;

use crate::error::Error;
use crate::reader::Reader;
use crate::utf8;

/// Tags of constants that are looked into (JVMS table 4.4-A).
pub(crate) mod tag {
    pub(crate) const UTF8: u8 = 1;
    pub(crate) const INTEGER: u8 = 3;
    pub(crate) const LONG: u8 = 5;
    pub(crate) const DOUBLE: u8 = 6;
    pub(crate) const CLASS: u8 = 7;
    pub(crate) const METHOD: u8 = 10;
    pub(crate) const INTERFACE_METHOD: u8 = 11;
    pub(crate) const NAME_AND_TYPE: u8 = 12;
    pub(crate) const INVOKE_DYNAMIC: u8 = 18;
}

/// The constants of a class.
#[derive(Debug, Clone)]
pub(crate) struct Pool<'a> {
    /// All entries, one behind another, as they lie in the file.
    bytes: &'a [u8],
    /// Where the entry of an index begins, its tag; `None` for index 0 and for the second index of a long or double.
    entries: Vec<Option<usize>>,
}

/// The method that a constant names. A dynamic call has no class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MethodRef<'a> {
    pub(crate) class: Option<&'a [u8]>,
    pub(crate) name: &'a [u8],
    pub(crate) descriptor: &'a [u8],
}

impl<'a> Pool<'a> {
    /// Reads `constant_pool_count` and the pool out of `file`, whose `reader` stands there.
    pub(crate) fn read(file: &'a [u8], reader: &mut Reader<'a>) -> Result<Self, Error> {
        let count = usize::from(reader.u16()?);
        let begin = reader.at();
        let mut entries = vec![None];
        while entries.len() < count {
            entries.push(Some(reader.at() - begin));
            let tag = reader.u8()?;
            let length = match tag {
                tag::UTF8 => usize::from(reader.u16()?),
                tag::CLASS | 8 | 16 | 19 | 20 => 2,
                15 => 3,
                tag::INTEGER | 4 | 9..=12 | 17 | tag::INVOKE_DYNAMIC => 4,
                tag::LONG | tag::DOUBLE => 8,
                _ => return Err(reader.malformed()),
            };
            reader.take(length)?;
            if matches!(tag, tag::LONG | tag::DOUBLE) {
                entries.push(None);
            }
        }
        Ok(Self {
            bytes: &file[begin..reader.at()],
            entries,
        })
    }

    /// The entries as they lie in the file.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// `constant_pool_count`: one more than the largest index. A long at the end may exceed what the file said by one.
    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    /// Tags and contents of all entries, by index. A string's content is without its length.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u16, u8, &'a [u8])> {
        (0..=u16::MAX)
            .zip(&self.entries)
            .filter_map(|(index, entry)| entry.map(|at| (index, self.bytes[at], self.content(at))))
    }

    fn content(&self, at: usize) -> &'a [u8] {
        let mut reader = Reader::new(&self.bytes[at..], "constant");
        let read = |reader: &mut Reader<'a>| -> Result<&'a [u8], Error> {
            let length = match reader.u8()? {
                tag::UTF8 => usize::from(reader.u16()?),
                _ => reader.remaining().min(8),
            };
            reader.take(length)
        };
        read(&mut reader).expect("its bounds were checked when the pool was read")
    }

    fn entry(&self, index: u16, tags: &[u8], expected: &'static str) -> Result<&'a [u8], Error> {
        self.entries
            .get(usize::from(index))
            .copied()
            .flatten()
            .filter(|&at| tags.contains(&self.bytes[at]))
            .map(|at| self.content(at))
            .ok_or(Error::Constant { index, expected })
    }

    /// Two indices of an entry that has them.
    fn pair(&self, index: u16, tags: &[u8], expected: &'static str) -> Result<(u16, u16), Error> {
        let mut reader = Reader::new(self.entry(index, tags, expected)?, "constant");
        Ok((reader.u16()?, reader.u16()?))
    }

    /// A string in modified UTF-8.
    pub(crate) fn utf8(&self, index: u16) -> Result<&'a [u8], Error> {
        self.entry(index, &[tag::UTF8], "a string")
    }

    /// A string, decoded.
    pub(crate) fn text(&self, index: u16) -> Result<Cow<'a, str>, Error> {
        Ok(utf8::decode(self.utf8(index)?))
    }

    /// The binary name of a class, with slashes; a descriptor for an array.
    pub(crate) fn class(&self, index: u16) -> Result<&'a [u8], Error> {
        let mut reader = Reader::new(self.entry(index, &[tag::CLASS], "a class")?, "constant");
        self.utf8(reader.u16()?)
    }

    /// The method that an `invoke*` instruction names.
    pub(crate) fn method(&self, index: u16) -> Result<MethodRef<'a>, Error> {
        let tags = [tag::METHOD, tag::INTERFACE_METHOD, tag::INVOKE_DYNAMIC];
        let (owner, name_and_type) = self.pair(index, &tags, "a method")?;
        let dynamic = self
            .entry(index, &[tag::INVOKE_DYNAMIC], "a dynamic call")
            .is_ok();
        let class = if dynamic {
            None
        } else {
            Some(self.class(owner)?)
        };
        let (name, descriptor) =
            self.pair(name_and_type, &[tag::NAME_AND_TYPE], "a name and type")?;
        Ok(MethodRef {
            class,
            name: self.utf8(name)?,
            descriptor: self.utf8(descriptor)?,
        })
    }
}
