//! A class file as its parts (JVMS 4.1): attributes stay bytes until somebody looks into them.

use std::borrow::Cow;

use crate::error::Error;
use crate::pool::Pool;
use crate::reader::{Put, Reader};

const MAGIC: u32 = 0xcafe_babe;

/// An attribute (JVMS 4.7): a name in the constant pool, and bytes.
#[derive(Debug, Clone)]
pub(crate) struct Attribute<'a> {
    pub(crate) name: u16,
    pub(crate) content: Cow<'a, [u8]>,
}

/// A field or method (JVMS 4.5, 4.6).
#[derive(Debug, Clone)]
pub(crate) struct Member<'a> {
    pub(crate) flags: u16,
    pub(crate) name: u16,
    pub(crate) descriptor: u16,
    pub(crate) attributes: Vec<Attribute<'a>>,
}

/// A class file that was read. [`Class::write`] gives the same bytes again.
#[derive(Debug, Clone)]
pub struct Class<'a> {
    minor: u16,
    pub(crate) major: u16,
    pub(crate) pool: Pool<'a>,
    flags: u16,
    this: u16,
    super_class: u16,
    interfaces: Vec<u16>,
    fields: Vec<Member<'a>>,
    pub(crate) methods: Vec<Member<'a>>,
    attributes: Vec<Attribute<'a>>,
}

impl<'a> Class<'a> {
    /// Reads a class file; code is looked into only when it is asked for.
    ///
    /// # Errors
    ///
    /// Bytes that are no class file, or whose outer structure is damaged.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes, "class file");
        if reader.u32().ok() != Some(MAGIC) {
            return Err(Error::NotAClassFile);
        }
        let (minor, major) = (reader.u16()?, reader.u16()?);
        let said = reader.clone().u16()?;
        let pool = Pool::read(bytes, &mut reader)?;
        // The pool ends in the first half of a long, or the count is 0, which has no meaning.
        if pool.count() != usize::from(said) {
            return Err(reader.malformed());
        }
        let (flags, this, super_class) = (reader.u16()?, reader.u16()?, reader.u16()?);
        let count = reader.u16()?;
        let interfaces = (0..count).map(|_| reader.u16()).collect::<Result<_, _>>()?;
        let class = Self {
            minor,
            major,
            pool,
            flags,
            this,
            super_class,
            interfaces,
            fields: members(&mut reader)?,
            methods: members(&mut reader)?,
            attributes: attributes(&mut reader)?,
        };
        reader.end()?;
        class.pool.class(class.this)?;
        Ok(class)
    }

    /// The class file, byte for byte as it was read.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        self.write_with(self.pool.count(), &[], &self.methods)
    }

    /// The class file with more constants, and with other methods.
    pub(crate) fn write_with(
        &self,
        constants: usize,
        added: &[u8],
        methods: &[Member<'_>],
    ) -> Vec<u8> {
        let mut out = Vec::with_capacity(2 * self.pool.bytes().len() + added.len());
        out.put_u32(MAGIC);
        out.put_u16(self.minor);
        out.put_u16(self.major);
        out.put_count(constants);
        out.extend_from_slice(self.pool.bytes());
        out.extend_from_slice(added);
        out.put_u16(self.flags);
        out.put_u16(self.this);
        out.put_u16(self.super_class);
        out.put_count(self.interfaces.len());
        for &interface in &self.interfaces {
            out.put_u16(interface);
        }
        put_members(&mut out, &self.fields);
        put_members(&mut out, methods);
        put_attributes(&mut out, &self.attributes);
        out
    }

    /// The class's binary name, as `java/util/Map$Entry`.
    #[must_use]
    pub fn name(&self) -> Cow<'a, str> {
        crate::utf8::decode(self.this_name())
    }

    /// Name of the source file, as `Map.java`, where the class says it (JVMS 4.7.10).
    #[must_use]
    pub fn source_file(&self) -> Option<Cow<'a, str>> {
        let is_it =
            |attribute: &&Attribute<'_>| self.pool.utf8(attribute.name) == Ok(&b"SourceFile"[..]);
        let attribute = self.attributes.iter().find(is_it)?;
        let index = Reader::new(&attribute.content, "SourceFile").u16().ok()?;
        self.pool.text(index).ok()
    }

    /// Its name in modified UTF-8.
    pub(crate) fn this_name(&self) -> &'a [u8] {
        self.pool
            .class(self.this)
            .expect("checked when the class was read")
    }

    /// Name of the class above, if there is one.
    pub(crate) fn super_name(&self) -> Option<&'a [u8]> {
        self.pool.class(self.super_class).ok()
    }
}

fn members<'a>(reader: &mut Reader<'a>) -> Result<Vec<Member<'a>>, Error> {
    let count = reader.u16()?;
    (0..count)
        .map(|_| {
            Ok(Member {
                flags: reader.u16()?,
                name: reader.u16()?,
                descriptor: reader.u16()?,
                attributes: attributes(reader)?,
            })
        })
        .collect()
}

/// Reads `attributes_count` and the attributes.
pub(crate) fn attributes<'a>(reader: &mut Reader<'a>) -> Result<Vec<Attribute<'a>>, Error> {
    let count = reader.u16()?;
    (0..count)
        .map(|_| {
            let name = reader.u16()?;
            let length = reader.u32()?;
            // More than there can be where a length does not fit.
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            Ok(Attribute {
                name,
                content: Cow::Borrowed(reader.take(length)?),
            })
        })
        .collect()
}

fn put_members(out: &mut Vec<u8>, members: &[Member<'_>]) {
    out.put_count(members.len());
    for member in members {
        out.put_u16(member.flags);
        out.put_u16(member.name);
        out.put_u16(member.descriptor);
        put_attributes(out, &member.attributes);
    }
}

/// Writes `attributes_count` and the attributes.
pub(crate) fn put_attributes(out: &mut Vec<u8>, attributes: &[Attribute<'_>]) {
    out.put_count(attributes.len());
    for attribute in attributes {
        out.put_u16(attribute.name);
        out.put_u32(u32::try_from(attribute.content.len()).expect("bounded by its reader"));
        out.extend_from_slice(&attribute.content);
    }
}
