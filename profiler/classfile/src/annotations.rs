//! Annotations of types within code (JVMS 4.7.20): those of local variables, casts, `new` and the like hold offsets.

use crate::error::Error;
use crate::layout::Layout;
use crate::reader::{Put as _, Reader};
use crate::tables::move_range;

/// Annotations within annotations, at most.
const DEPTH_MAX: u32 = 64;

/// A `Runtime(In)VisibleTypeAnnotations` attribute of code that was laid out, and whose exception table has `handlers` more entries
/// in front.
pub(crate) fn move_type_annotations(
    content: &[u8],
    layout: &Layout,
    handlers: usize,
) -> Result<Vec<u8>, Error> {
    let mut reader = Reader::new(content, "type annotations");
    let mut out = Vec::with_capacity(content.len());
    let count = reader.u16()?;
    out.put_u16(count);
    for _ in 0..count {
        move_target(&mut reader, layout, handlers, &mut out)?;
        // The rest of the annotation holds no offsets, so it is copied.
        let rest = reader.clone();
        let begin = reader.at();
        let path = reader.u8()?;
        reader.take(2 * usize::from(path))?;
        annotation(&mut reader, DEPTH_MAX)?;
        let length = reader.at() - begin;
        out.extend_from_slice(rest.clone().take(length)?);
    }
    reader.end()?;
    Ok(out)
}

/// Target type and target (JVMS 4.7.20.1).
fn move_target(
    reader: &mut Reader<'_>,
    layout: &Layout,
    handlers: usize,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let kind = reader.u8()?;
    out.push(kind);
    match kind {
        // Of a class or method: no offsets, and not in code.
        0x00 | 0x01 | 0x16 => out.extend_from_slice(reader.take(1)?),
        0x10 | 0x11 | 0x12 | 0x17 => out.extend_from_slice(reader.take(2)?),
        0x13..=0x15 => {}
        // A local variable, or a resource of a `try`.
        0x40 | 0x41 => {
            let count = reader.u16()?;
            out.put_u16(count);
            for _ in 0..count {
                move_range(reader, layout, out)?;
                out.extend_from_slice(reader.take(2)?);
            }
        }
        // A parameter of a `catch`, by its number in the exception table.
        0x42 => {
            let number = usize::from(reader.u16()?) + handlers;
            out.put_u16(u16::try_from(number).map_err(|_| reader.malformed())?);
        }
        // An instruction: `instanceof`, `new`, a method reference; with a type's number, casts and type arguments.
        0x43..=0x4b => {
            let pc = reader.u16()?;
            out.put_count(layout.own(pc.into()).ok_or_else(|| reader.malformed())?);
            if kind >= 0x47 {
                out.extend_from_slice(reader.take(1)?);
            }
        }
        _ => return Err(reader.malformed()),
    }
    Ok(())
}

/// Passes over an annotation (JVMS 4.7.16).
fn annotation(reader: &mut Reader<'_>, depth: u32) -> Result<(), Error> {
    reader.take(2)?;
    for _ in 0..reader.u16()? {
        reader.take(2)?;
        value(reader, depth)?;
    }
    Ok(())
}

/// Passes over the value of an element (JVMS 4.7.16.1).
fn value(reader: &mut Reader<'_>, depth: u32) -> Result<(), Error> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(reader.malformed());
    };
    match reader.u8()? {
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' | b's' | b'c' => {
            reader.take(2)?;
        }
        b'e' => {
            reader.take(4)?;
        }
        b'@' => annotation(reader, depth)?,
        b'[' => {
            for _ in 0..reader.u16()? {
                value(reader, depth)?;
            }
        }
        _ => return Err(reader.malformed()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::move_type_annotations;
    use crate::instructions::decode;
    use crate::layout::{Insertions, Layout};

    /// `nop; new #1; return`, with two bytes inserted at the beginning and one before the `new`.
    fn layout() -> Layout {
        let instructions = decode(&[0, 187, 0, 1, 177]).unwrap();
        let inserted = Insertions {
            head: vec![0, 0],
            before: [(1, vec![0])].into(),
            ..Insertions::default()
        };
        Layout::of(&instructions, &inserted).unwrap()
    }

    #[test]
    fn every_kind_of_offset_is_moved() {
        let annotation = |target: &[u8]| {
            // one annotation: the target, a path of one step, type 9, and a nested, an enum and an array value
            let mut bytes = vec![0, 1];
            bytes.extend_from_slice(target);
            bytes.extend([1, 3, 0, 0, 9, 0, 3]);
            bytes.extend([0, 1, b'@', 0, 2, 0, 0]);
            bytes.extend([0, 3, b'e', 0, 4, 0, 5]);
            bytes.extend([0, 6, b'[', 0, 1, b's', 0, 7]);
            bytes
        };
        let moved = |target: &[u8]| move_type_annotations(&annotation(target), &layout(), 3);
        assert_eq!(
            moved(&[0x44, 0, 1]),
            Ok(annotation(&[0x44, 0, 4])),
            "the `new` itself"
        );
        assert_eq!(
            moved(&[0x47, 0, 4, 2]),
            Ok(annotation(&[0x47, 0, 7, 2])),
            "a cast"
        );
        assert_eq!(
            moved(&[0x42, 0, 5]),
            Ok(annotation(&[0x42, 0, 8])),
            "three more handlers in front"
        );
        // from 1 to the end
        assert_eq!(
            moved(&[0x40, 0, 1, 0, 1, 0, 4, 0, 2]),
            Ok(annotation(&[0x40, 0, 1, 0, 3, 0, 5, 0, 2]))
        );
        assert_eq!(moved(&[0x17, 0, 1]), Ok(annotation(&[0x17, 0, 1])));
        assert!(moved(&[0x44, 0, 9]).is_err(), "beyond the code");
        assert!(moved(&[0x50, 0, 0]).is_err(), "an unknown target");
    }
}
