//! The `Code` attribute (JVMS 4.7.3) as its parts.

use crate::class::{Attribute, attributes, put_attributes};
use crate::error::Error;
use crate::reader::{Put, Reader};

/// An entry of the exception table: `start` to `end`, exclusively, is covered by `handler`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Covered {
    pub(crate) start: u16,
    pub(crate) end: u16,
    pub(crate) handler: u16,
    /// The class that is caught; 0 for all.
    pub(crate) catches: u16,
}

/// A method's code.
#[derive(Debug, Clone)]
pub(crate) struct Code<'a> {
    pub(crate) max_stack: u16,
    pub(crate) max_locals: u16,
    pub(crate) bytes: &'a [u8],
    pub(crate) exceptions: Vec<Covered>,
    pub(crate) attributes: Vec<Attribute<'a>>,
}

impl<'a> Code<'a> {
    pub(crate) fn read(content: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(content, "Code attribute");
        let (max_stack, max_locals) = (reader.u16()?, reader.u16()?);
        let length = usize::try_from(reader.u32()?).unwrap_or(usize::MAX);
        // JVMS 4.9.1: there is an instruction, and offsets fit 16 bits.
        if !(1..=0xffff).contains(&length) {
            return Err(reader.malformed());
        }
        let bytes = reader.take(length)?;
        let count = reader.u16()?;
        let exceptions = (0..count)
            .map(|_| {
                Ok(Covered {
                    start: reader.u16()?,
                    end: reader.u16()?,
                    handler: reader.u16()?,
                    catches: reader.u16()?,
                })
            })
            .collect::<Result<_, Error>>()?;
        let code = Self {
            max_stack,
            max_locals,
            bytes,
            exceptions,
            attributes: attributes(&mut reader)?,
        };
        reader.end()?;
        Ok(code)
    }

    /// The attribute's content: that which was read, where nothing was changed.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(2 * self.bytes.len());
        out.put_u16(self.max_stack);
        out.put_u16(self.max_locals);
        out.put_u32(u32::try_from(self.bytes.len()).expect("at most 65,535"));
        out.extend_from_slice(self.bytes);
        out.put_count(self.exceptions.len());
        for covered in &self.exceptions {
            out.put_u16(covered.start);
            out.put_u16(covered.end);
            out.put_u16(covered.handler);
            out.put_u16(covered.catches);
        }
        put_attributes(&mut out, &self.attributes);
        out
    }
}
