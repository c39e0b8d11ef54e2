//! The bytes that are inserted.
//!
//! ```text
//! head          sipush ID, invokestatic enter, istore BODY     where the body has a probe; a label is loaded before the call
//!               iconst_m1, istore CALLS                        where calls have probes
//! before a call sipush ID, invokestatic enter, istore CALLS
//! after it      iload CALLS, invokestatic exit
//! before return iload BODY, invokestatic exit
//! a handler     astore EXCEPTION, iload CALLS, invokestatic exit, goto resume
//!       swallow pop
//!        resume aload EXCEPTION                                the handler as it was
//! outer handler astore EXCEPTION, iload TOKEN, invokestatic fail, or exit where the body has no probe
//!        resume aload EXCEPTION, athrow
//!       swallow pop, goto resume
//! ```
//!
//! A handler continues whatever `exit` does: at the end of the stack `exit` may throw a `StackOverflowError`. A
//! handler that releases a lock covers itself, and would otherwise start again without end. On the normal path `exit`
//! needs no more stack than the `enter` that succeeded at the same depth.

use std::ops::Range;

use crate::constants::{Constants, Full};
use crate::method::Argument;
use crate::opcodes::{
    ALOAD, ASTORE, ATHROW, GOTO, I2L, ICONST_M1, ILOAD, INVOKESTATIC, ISTORE, LDC_W, LLOAD, POP,
    SIPUSH, WIDE,
};
use crate::probes::{ENTER, ENTER_WITH_NUMBER, ENTER_WITH_OBJECT, EXIT, FAIL, Helper, ProbeId};
use crate::reader::Put as _;

/// The local variables that are added, behind those of the method: a token each, which is an int at every instruction,
/// and the exception of a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Locals {
    /// The token of the call that was entered last.
    pub(crate) calls: Option<u16>,
    pub(crate) body: Option<u16>,
    pub(crate) exception: u16,
}

impl Locals {
    /// Locals after the first `used`; `None` where a method has no room for more.
    pub(crate) fn behind(used: u16, calls: bool, body: bool) -> Option<Self> {
        let for_body = used.checked_add(u16::from(calls))?;
        let exception = for_body.checked_add(u16::from(body))?;
        exception.checked_add(1)?;
        Some(Self {
            calls: calls.then_some(used),
            body: body.then_some(for_body),
            exception,
        })
    }

    /// Number of locals that are ints everywhere.
    pub(crate) fn tokens(&self) -> usize {
        usize::from(self.calls.is_some()) + usize::from(self.body.is_some())
    }

    /// The token that ends everything the method has entered.
    fn outermost(&self) -> u16 {
        self.body.or(self.calls).unwrap_or(self.exception)
    }
}

/// A piece in which `exit` is called and nothing it throws is seen. Offsets are those in the piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guarded {
    pub(crate) bytes: Vec<u8>,
    /// Code whose exceptions `swallow` handles.
    pub(crate) covered: Range<usize>,
    /// Here the stack has an exception that nobody wants.
    pub(crate) swallow: usize,
    /// Here the stack is empty, and the local variable has the exception.
    pub(crate) resume: usize,
}

/// Slots of the operand stack that a label takes, at most.
pub(crate) const LABEL_SLOTS: u16 = 2;

/// Makes the pieces of one method.
#[derive(Debug)]
pub(crate) struct Snippets {
    enter: u16,
    /// The label of the body's probe, and how that is entered with it.
    label: Option<(Argument, u16)>,
    exit: u16,
    /// How the method's probes are left by an exception that it does not catch.
    fail: u16,
    pub(crate) locals: Locals,
}

impl Snippets {
    pub(crate) fn new(
        helper: &Helper<'_>,
        locals: Locals,
        label: Option<Argument>,
        constants: &mut Constants<'_>,
    ) -> Result<Self, Full> {
        let class = helper.class.as_bytes();
        let enter = constants.method(class, ENTER.0, ENTER.1)?;
        let label = match label {
            Some(argument) => {
                let descriptor = match argument {
                    Argument::Int(_) | Argument::Long(_) => ENTER_WITH_NUMBER,
                    Argument::Object(_) => ENTER_WITH_OBJECT,
                };
                Some((argument, constants.method(class, ENTER.0, descriptor)?))
            }
            None => None,
        };
        let exit = constants.method(class, EXIT.0, EXIT.1)?;
        let fail = match locals.body {
            Some(_) => constants.method(class, FAIL.0, FAIL.1)?,
            None => exit,
        };
        Ok(Self {
            enter,
            label,
            exit,
            fail,
            locals,
        })
    }

    pub(crate) fn head(
        &self,
        body: Option<ProbeId>,
        constants: &mut Constants<'_>,
    ) -> Result<Vec<u8>, Full> {
        let mut out = Vec::new();
        if let (Some(local), Some(id)) = (self.locals.body, body) {
            put_id(id, constants, &mut out)?;
            let enter = self.label.map_or(self.enter, |(argument, enter)| {
                put_label(argument, &mut out);
                enter
            });
            put_enter(enter, local, &mut out);
        }
        if let Some(local) = self.locals.calls {
            out.push(ICONST_M1);
            put_local(ISTORE, local, &mut out);
        }
        Ok(out)
    }

    /// Enters a probe, and keeps its token in `local`.
    pub(crate) fn enter(
        &self,
        local: u16,
        id: ProbeId,
        constants: &mut Constants<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Full> {
        put_id(id, constants, out)?;
        put_enter(self.enter, local, out);
        Ok(())
    }

    /// Leaves the probe whose token is in `local`.
    pub(crate) fn exit(&self, local: u16, out: &mut Vec<u8>) {
        put_exit(self.exit, local, out);
    }

    /// Keeps the exception, and leaves the probe: the common beginning of handlers.
    fn guarded(&self, exit: u16, local: u16) -> (Vec<u8>, Range<usize>) {
        let mut bytes = Vec::new();
        put_local(ASTORE, self.locals.exception, &mut bytes);
        let begin = bytes.len();
        put_exit(exit, local, &mut bytes);
        let covered = begin..bytes.len();
        (bytes, covered)
    }

    /// Precedes a handler of the method: the call that threw has ended. `None` where no call has a probe.
    pub(crate) fn handler(&self) -> Option<Guarded> {
        let (mut bytes, covered) = self.guarded(self.exit, self.locals.calls?);
        bytes.push(GOTO);
        bytes.put_u16(4);
        let swallow = bytes.len();
        bytes.push(POP);
        let resume = bytes.len();
        put_local(ALOAD, self.locals.exception, &mut bytes);
        Some(Guarded {
            bytes,
            covered,
            swallow,
            resume,
        })
    }

    /// The handler of what no handler of the method catches: it leaves all probes of the method, and throws on.
    pub(crate) fn outer_handler(&self) -> Guarded {
        let (mut bytes, covered) = self.guarded(self.fail, self.locals.outermost());
        let resume = bytes.len();
        put_local(ALOAD, self.locals.exception, &mut bytes);
        bytes.push(ATHROW);
        let swallow = bytes.len();
        bytes.push(POP);
        let back = i16::try_from(bytes.len() - resume).expect("a few bytes");
        bytes.push(GOTO);
        bytes.extend_from_slice(&(-back).to_be_bytes());
        Guarded {
            bytes,
            covered,
            swallow,
            resume,
        }
    }
}

/// Pushes a probe's number.
fn put_id(id: ProbeId, constants: &mut Constants<'_>, out: &mut Vec<u8>) -> Result<(), Full> {
    match i16::try_from(id) {
        Ok(id) => {
            out.push(SIPUSH);
            out.extend_from_slice(&id.to_be_bytes());
        }
        Err(_) => {
            out.push(LDC_W);
            out.put_u16(constants.integer(id)?);
        }
    }
    Ok(())
}

/// Pushes a label: at most [`LABEL_SLOTS`].
fn put_label(argument: Argument, out: &mut Vec<u8>) {
    match argument {
        Argument::Int(local) => {
            put_local(ILOAD, local, out);
            out.push(I2L);
        }
        Argument::Long(local) => put_local(LLOAD, local, out),
        Argument::Object(local) => put_local(ALOAD, local, out),
    }
}

/// Calls the method that enters the probe, and keeps the token in `local`.
fn put_enter(enter: u16, local: u16, out: &mut Vec<u8>) {
    out.push(INVOKESTATIC);
    out.put_u16(enter);
    put_local(ISTORE, local, out);
}

/// Calls a method that leaves the probe whose token is in `local`.
fn put_exit(exit: u16, local: u16, out: &mut Vec<u8>) {
    put_local(ILOAD, local, out);
    out.push(INVOKESTATIC);
    out.put_u16(exit);
}

/// A load or store of a local variable, behind `wide` where its index needs two bytes.
fn put_local(opcode: u8, local: u16, out: &mut Vec<u8>) {
    match u8::try_from(local) {
        Ok(local) => out.extend_from_slice(&[opcode, local]),
        Err(_) => {
            out.extend_from_slice(&[WIDE, opcode]);
            out.put_u16(local);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Guarded, Locals, Snippets};

    fn snippets(used: u16) -> Snippets {
        Snippets {
            enter: 0x0102,
            label: None,
            exit: 0x0304,
            fail: 0x0506,
            locals: Locals::behind(used, true, true).unwrap(),
        }
    }

    #[test]
    fn handlers_go_on_with_the_exception_they_caught() {
        // astore 9, iload 7, invokestatic exit, goto +4, pop, aload 9
        let bytes = vec![58, 9, 21, 7, 184, 3, 4, 167, 0, 4, 87, 25, 9];
        assert_eq!(
            snippets(7).handler(),
            Some(Guarded {
                bytes,
                covered: 2..7,
                swallow: 10,
                resume: 11
            })
        );
        // astore 9, iload 8, invokestatic fail, aload 9, athrow, pop, goto -4
        let bytes = vec![58, 9, 21, 8, 184, 5, 6, 25, 9, 191, 87, 167, 0xff, 0xfc];
        assert_eq!(
            snippets(7).outer_handler(),
            Guarded {
                bytes,
                covered: 2..7,
                swallow: 10,
                resume: 7
            }
        );
    }

    #[test]
    fn locals_beyond_the_255th_are_wide() {
        let mut out = Vec::new();
        snippets(0x1000).exit(0x1000, &mut out);
        assert_eq!(out, [196, 21, 0x10, 0, 184, 3, 4]);
        assert_eq!(
            Locals::behind(0xfffd, true, true),
            None,
            "the exception would need the index 65,535"
        );
        assert!(Locals::behind(0xfffc, true, true).is_some());
    }
}
