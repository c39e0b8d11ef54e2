//! The methods of a class, and the calls they make.

use std::borrow::Cow;

use crate::class::{Class, Member};
use crate::code::Code;
use crate::descriptor::{self, Parameter};
use crate::error::Error;
use crate::instructions::{self, Instruction};
use crate::opcodes::{self, INVOKEDYNAMIC, INVOKEINTERFACE, INVOKESPECIAL, INVOKESTATIC};
use crate::pool::Pool;
use crate::tables::{self, Line};

const NATIVE: u16 = 0x0100;
const ABSTRACT: u16 = 0x0400;
const STATIC: u16 = 0x0008;
const BRIDGE: u16 = 0x0040;

/// A method of a class.
#[derive(Debug, Clone, Copy)]
pub struct Method<'c, 'a> {
    class: &'c Class<'a>,
    member: &'c Member<'a>,
    index: usize,
}

/// The way in which a call finds its target (JVMS 6.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallKind {
    /// By the receiver's class.
    Virtual,
    /// The named method itself: of the class above, a private one, or a constructor.
    Special,
    /// A static method.
    Static,
    /// By the receiver's class, which has the named interface.
    Interface,
    /// A bootstrap method decides: lambdas, joined strings.
    Dynamic,
}

/// An instruction that calls a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSite {
    /// Offset in the method's code.
    pub pc: u16,
    /// Source line, where the class has lines.
    pub line: Option<u16>,
    /// The way of finding the target.
    pub kind: CallKind,
    /// Binary name of the class that is named, with slashes, or the descriptor of an array. A dynamic call names none.
    pub class: Option<String>,
    /// Name of the method that is named.
    pub method: String,
    /// Its descriptor.
    pub descriptor: String,
}

/// An argument of a method: the local variable that has it when the method begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// An `int`, or what Java widens to one.
    Int(u16),
    /// A `long`.
    Long(u16),
    /// An object or array.
    Object(u16),
}

impl<'a> Class<'a> {
    /// All methods, in the file's order.
    pub fn methods(&self) -> impl ExactSizeIterator<Item = Method<'_, 'a>> {
        self.methods
            .iter()
            .enumerate()
            .map(|(index, member)| Method {
                class: self,
                member,
                index,
            })
    }
}

impl<'a> Method<'_, 'a> {
    /// Number of the method in its class.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Name of the method: `<init>` for constructors.
    ///
    /// # Errors
    ///
    /// A damaged constant pool.
    pub fn name(&self) -> Result<Cow<'a, str>, Error> {
        self.class.pool.text(self.member.name)
    }

    /// Types of its parameters and of its result, as `(ILjava/lang/String;)V`.
    ///
    /// # Errors
    ///
    /// A damaged constant pool.
    pub fn descriptor(&self) -> Result<Cow<'a, str>, Error> {
        self.class.pool.text(self.member.descriptor)
    }

    /// Whether it has no `this`.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.member.flags & STATIC != 0
    }

    /// The object whose method it is. A constructor has none when it begins.
    #[must_use]
    pub fn this(&self) -> Option<Argument> {
        let is_constructor = self.class.pool.utf8(self.member.name) == Ok(b"<init>");
        (!self.is_static() && !is_constructor).then_some(Argument::Object(0))
    }

    /// Whether the compiler made it to call a method of the same name whose types are more special.
    #[must_use]
    pub fn is_bridge(&self) -> bool {
        self.member.flags & BRIDGE != 0
    }

    /// Its argument of this number, as in the source: 0 is the first, and `this` has none. Nothing where there is none, or
    /// where it is a `float` or `double`.
    ///
    /// # Errors
    ///
    /// A damaged descriptor.
    pub fn argument(&self, number: usize) -> Result<Option<Argument>, Error> {
        let parameters = descriptor::parameters(self.class.pool.utf8(self.member.descriptor)?)?;
        let slots = |parameter: &Parameter<'_>| match parameter {
            Parameter::Long | Parameter::Double => 2,
            Parameter::Int | Parameter::Float | Parameter::Reference(_) => 1,
        };
        let Some(parameter) = parameters.get(number) else {
            return Ok(None);
        };
        let before = parameters[..number].iter().map(slots);
        let this = u16::from(!self.is_static());
        let local = before.fold(this, u16::saturating_add);
        Ok(match parameter {
            Parameter::Int => Some(Argument::Int(local)),
            Parameter::Long => Some(Argument::Long(local)),
            Parameter::Reference(_) => Some(Argument::Object(local)),
            Parameter::Float | Parameter::Double => None,
        })
    }

    /// Whether it has code: it is neither abstract nor native.
    #[must_use]
    pub fn has_code(&self) -> bool {
        self.member.flags & (NATIVE | ABSTRACT) == 0
    }

    /// The calls it makes, in the order of its code.
    ///
    /// # Errors
    ///
    /// Damaged code. A method without code makes no calls.
    pub fn call_sites(&self) -> Result<Vec<CallSite>, Error> {
        let Some(content) = code_of(self.member, &self.class.pool)? else {
            return Ok(Vec::new());
        };
        let code = Code::read(content)?;
        let lines = lines_of(&code, &self.class.pool)?;
        let instructions = instructions::decode(code.bytes)?;
        let calls = instructions
            .iter()
            .filter(|instruction| opcodes::is_call(instruction.opcode()));
        calls
            .map(|instruction| site(instruction, &lines, &self.class.pool))
            .collect()
    }
}

fn site(instruction: &Instruction<'_>, lines: &[Line], pool: &Pool<'_>) -> Result<CallSite, Error> {
    let method = pool.method(instruction.constant())?;
    let text = |bytes| crate::utf8::decode(bytes).into_owned();
    Ok(CallSite {
        pc: u16::try_from(instruction.pc).expect("code is at most 65,535 bytes"),
        line: tables::line_at(lines, instruction.pc),
        kind: match instruction.opcode() {
            INVOKESPECIAL => CallKind::Special,
            INVOKESTATIC => CallKind::Static,
            INVOKEINTERFACE => CallKind::Interface,
            INVOKEDYNAMIC => CallKind::Dynamic,
            _ => CallKind::Virtual,
        },
        class: method.class.map(text),
        method: text(method.name),
        descriptor: text(method.descriptor),
    })
}

/// Content of a method's `Code` attribute.
pub(crate) fn code_of<'m>(
    member: &'m Member<'_>,
    pool: &Pool<'_>,
) -> Result<Option<&'m [u8]>, Error> {
    for attribute in &member.attributes {
        if pool.utf8(attribute.name)? == b"Code" {
            return Ok(Some(&attribute.content));
        }
    }
    Ok(None)
}

/// All lines of a method, sorted by offset: it may have several tables, in any order.
pub(crate) fn lines_of(code: &Code<'_>, pool: &Pool<'_>) -> Result<Vec<Line>, Error> {
    let mut lines = Vec::new();
    for attribute in &code.attributes {
        if pool.utf8(attribute.name)? == b"LineNumberTable" {
            lines.extend(tables::lines(&attribute.content)?);
        }
    }
    lines.sort_by_key(|line| line.pc);
    Ok(lines)
}
