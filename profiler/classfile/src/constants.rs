//! New constants behind those of a class: each once, and none that the class has.

use std::borrow::Cow;

use foldhash::{HashMap, HashMapExt as _};

use crate::pool::{Pool, tag};
use crate::reader::{Put as _, Reader};

/// The pool has its 65,534 constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// The constants of a class, and those that are added.
#[derive(Debug)]
pub(crate) struct Constants<'a> {
    strings: HashMap<Cow<'a, [u8]>, u16>,
    /// Other constants by tag and content: the indices that they consist of, or the number.
    others: HashMap<(u8, u32), u16>,
    added: Vec<u8>,
    count: usize,
}

impl<'a> Constants<'a> {
    pub(crate) fn of(pool: &Pool<'a>) -> Self {
        let mut strings = HashMap::new();
        let mut others = HashMap::new();
        for (index, tag, content) in pool.entries() {
            match tag {
                tag::UTF8 => {
                    strings.entry(Cow::Borrowed(content)).or_insert(index);
                }
                tag::CLASS => {
                    if let Ok(name) = Reader::new(content, "constant").u16() {
                        others.entry((tag, name.into())).or_insert(index);
                    }
                }
                tag::INTEGER | tag::METHOD | tag::NAME_AND_TYPE => {
                    if let Ok(value) = Reader::new(content, "constant").u32() {
                        others.entry((tag, value)).or_insert(index);
                    }
                }
                _ => {}
            }
        }
        Self {
            strings,
            others,
            added: Vec::new(),
            count: pool.count(),
        }
    }

    /// The entries that follow those of the class.
    pub(crate) fn added(&self) -> &[u8] {
        &self.added
    }

    /// The pool's `constant_pool_count`.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    fn next(&mut self) -> Result<u16, Full> {
        // The count is a u16, too, and one more than the last index.
        let index = u16::try_from(self.count)
            .ok()
            .filter(|&index| index < u16::MAX)
            .ok_or(Full)?;
        self.count += 1;
        Ok(index)
    }

    /// A string in modified UTF-8. One of more than 65,535 bytes has no room in any pool.
    pub(crate) fn utf8(&mut self, text: &[u8]) -> Result<u16, Full> {
        let length = u16::try_from(text.len()).map_err(|_| Full)?;
        if let Some(&index) = self.strings.get(text) {
            return Ok(index);
        }
        let index = self.next()?;
        self.added.push(tag::UTF8);
        self.added.put_u16(length);
        self.added.extend_from_slice(text);
        self.strings.insert(Cow::Owned(text.to_vec()), index);
        Ok(index)
    }

    fn other(&mut self, tag: u8, value: u32) -> Result<u16, Full> {
        if let Some(&index) = self.others.get(&(tag, value)) {
            return Ok(index);
        }
        let index = self.next()?;
        self.added.push(tag);
        if tag == tag::CLASS {
            self.added.put_u16(u16::try_from(value).expect("an index"));
        } else {
            self.added.put_u32(value);
        }
        self.others.insert((tag, value), index);
        Ok(index)
    }

    /// A class by its binary name, or an array by its descriptor.
    pub(crate) fn class(&mut self, name: &[u8]) -> Result<u16, Full> {
        let name = self.utf8(name)?;
        self.other(tag::CLASS, name.into())
    }

    /// A number of 32 bits.
    pub(crate) fn integer(&mut self, value: u32) -> Result<u16, Full> {
        self.other(tag::INTEGER, value)
    }

    /// A method of a class.
    pub(crate) fn method(
        &mut self,
        class: &[u8],
        name: &[u8],
        descriptor: &[u8],
    ) -> Result<u16, Full> {
        let class = self.class(class)?;
        let (name, descriptor) = (self.utf8(name)?, self.utf8(descriptor)?);
        let name_and_type = self.other(tag::NAME_AND_TYPE, pair(name, descriptor))?;
        self.other(tag::METHOD, pair(class, name_and_type))
    }
}

fn pair(first: u16, second: u16) -> u32 {
    u32::from(first) << 16 | u32::from(second)
}
