//! Stack map frames (JVMS 4.7.4): what the verifier is told of the types at targets of branches.
//!
//! Frames are read into their full form, since each of the short forms says how a frame differs from the one before it. They
//! are written in full, too: a frame costs some bytes more, and only while the class is loaded.

use crate::descriptor::Parameter;
use crate::error::Error;
use crate::reader::{Put, Reader};

const WHAT: &str = "StackMapTable attribute";

/// Types in all frames of a method together, at most. The largest methods of javac have a hundredth of that.
pub(crate) const TYPES_MAX: usize = 1 << 22;

/// A verification type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Top,
    Int,
    Float,
    Double,
    Long,
    Null,
    UninitializedThis,
    /// Index of the class in the constant pool.
    Object(u16),
    /// Offset of the `new` that made the object.
    Uninitialized(u16),
}

impl Type {
    /// Slots of local variables that a value takes.
    pub(crate) fn slots(self) -> usize {
        match self {
            Self::Double | Self::Long => 2,
            _ => 1,
        }
    }

    /// The type of a parameter; `class` gives a class its index.
    pub(crate) fn of<E>(
        parameter: Parameter<'_>,
        class: impl FnOnce(&[u8]) -> Result<u16, E>,
    ) -> Result<Self, E> {
        Ok(match parameter {
            Parameter::Int => Self::Int,
            Parameter::Float => Self::Float,
            Parameter::Long => Self::Long,
            Parameter::Double => Self::Double,
            Parameter::Reference(name) => Self::Object(class(name)?),
        })
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(match reader.u8()? {
            0 => Self::Top,
            1 => Self::Int,
            2 => Self::Float,
            3 => Self::Double,
            4 => Self::Long,
            5 => Self::Null,
            6 => Self::UninitializedThis,
            7 => Self::Object(reader.u16()?),
            8 => Self::Uninitialized(reader.u16()?),
            _ => return Err(reader.malformed()),
        })
    }

    fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Top => out.push(0),
            Self::Int => out.push(1),
            Self::Float => out.push(2),
            Self::Double => out.push(3),
            Self::Long => out.push(4),
            Self::Null => out.push(5),
            Self::UninitializedThis => out.push(6),
            Self::Object(class) => {
                out.push(7);
                out.put_u16(class);
            }
            Self::Uninitialized(pc) => {
                out.push(8);
                out.put_u16(pc);
            }
        }
    }
}

/// The types at one offset. A long or double is one element of either list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StackMapFrame {
    pub(crate) pc: usize,
    pub(crate) locals: Vec<Type>,
    pub(crate) stack: Vec<Type>,
}

/// Reads the attribute; `locals` are those that the method begins with.
pub(crate) fn read(content: &[u8], mut locals: Vec<Type>) -> Result<Vec<StackMapFrame>, Error> {
    let mut reader = Reader::new(content, WHAT);
    let mut frames: Vec<StackMapFrame> = Vec::new();
    let mut types = 0;
    for _ in 0..reader.u16()? {
        let (delta, stack) = frame(&mut reader, &mut locals)?;
        // JVMS 4.7.4: all but the first frame are one further on than their delta says.
        let pc = frames.last().map_or(0, |last| last.pc + 1) + usize::from(delta);
        types += locals.len() + stack.len();
        if types > TYPES_MAX {
            return Err(reader.malformed());
        }
        frames.push(StackMapFrame {
            pc,
            locals: locals.clone(),
            stack,
        });
    }
    reader.end()?;
    Ok(frames)
}

/// Reads a frame: its delta and stack. It changes the locals of the frame before.
fn frame(reader: &mut Reader<'_>, locals: &mut Vec<Type>) -> Result<(u16, Vec<Type>), Error> {
    let kind = reader.u8()?;
    let mut stack = Vec::new();
    let delta = match kind {
        0..=63 => kind.into(),
        64..=127 => {
            stack.push(Type::read(reader)?);
            u16::from(kind) - 64
        }
        247 => {
            let delta = reader.u16()?;
            stack.push(Type::read(reader)?);
            delta
        }
        248..=250 => {
            let kept = locals
                .len()
                .checked_sub(251 - usize::from(kind))
                .ok_or_else(|| reader.malformed())?;
            locals.truncate(kept);
            reader.u16()?
        }
        251 => reader.u16()?,
        252..=254 => {
            let delta = reader.u16()?;
            for _ in 251..kind {
                locals.push(Type::read(reader)?);
            }
            delta
        }
        255 => {
            let delta = reader.u16()?;
            let mut list = || {
                (0..reader.u16()?)
                    .map(|_| Type::read(reader))
                    .collect::<Result<Vec<_>, _>>()
            };
            *locals = list()?;
            stack = list()?;
            delta
        }
        _ => return Err(reader.malformed()),
    };
    Ok((delta, stack))
}

/// Writes the attribute's content. Frames are sorted, and no two are at one offset.
pub(crate) fn write(frames: &[StackMapFrame]) -> Vec<u8> {
    let mut out = Vec::new();
    out.put_count(frames.len());
    let mut next = 0;
    for frame in frames {
        out.push(255);
        out.put_count(frame.pc - next);
        next = frame.pc + 1;
        for list in [&frame.locals, &frame.stack] {
            out.put_count(list.len());
            for &of in list {
                of.write(&mut out);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{StackMapFrame, Type, read, write};

    #[test]
    fn every_form_of_a_frame_is_read() {
        let attribute = [
            0,
            7, // frames
            5, // same, 5
            64 + 3,
            1, // same with an int on the stack, 9
            247,
            0,
            10,
            7,
            0,
            42, // same with an object on the stack, 20
            253,
            0,
            0,
            4,
            2, // two more locals, a long and a float, 21
            250,
            0,
            4, // one local less, 26
            251,
            1,
            0, // same, 283
            255,
            0,
            0,
            0,
            2,
            6,
            8,
            0,
            7,
            0,
            1,
            5, // full, 284
        ];
        let frames = read(&attribute, vec![Type::Int]).unwrap();
        let frame = |pc, locals: &[Type], stack: &[Type]| StackMapFrame {
            pc,
            locals: locals.to_vec(),
            stack: stack.to_vec(),
        };
        let expected = [
            frame(5, &[Type::Int], &[]),
            frame(9, &[Type::Int], &[Type::Int]),
            frame(20, &[Type::Int], &[Type::Object(42)]),
            frame(21, &[Type::Int, Type::Long, Type::Float], &[]),
            frame(26, &[Type::Int, Type::Long], &[]),
            frame(283, &[Type::Int, Type::Long], &[]),
            frame(
                284,
                &[Type::UninitializedThis, Type::Uninitialized(7)],
                &[Type::Null],
            ),
        ];
        assert_eq!(frames, expected);
        assert_eq!(
            read(&write(&frames), vec![]).unwrap(),
            expected,
            "written in full, and read again"
        );
    }

    #[test]
    fn frames_that_grow_without_end_are_refused() {
        // One frame of 65,535 locals, and as many that are the same.
        let mut attribute = vec![0xff, 0xff, 255, 0, 0, 0xff, 0xff];
        attribute.extend([1; 65_535]);
        attribute.extend([0, 0]);
        attribute.extend([0; 65_534]);
        assert!(read(&attribute, vec![]).is_err());
    }
}
