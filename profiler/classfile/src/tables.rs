//! Tables of a method's code that hold offsets: lines (JVMS 4.7.12), local variables and their types (4.7.13, 4.7.14).

use crate::error::Error;
use crate::layout::Layout;
use crate::reader::{Put as _, Reader};

const LINES: &str = "LineNumberTable attribute";
const VARIABLES: &str = "LocalVariableTable attribute";

/// A line begins at an offset of the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) pc: u16,
    pub(crate) line: u16,
}

/// Reads a line number table.
pub(crate) fn lines(content: &[u8]) -> Result<Vec<Line>, Error> {
    let mut reader = Reader::new(content, LINES);
    let count = reader.u16()?;
    let lines = (0..count)
        .map(|_| {
            Ok(Line {
                pc: reader.u16()?,
                line: reader.u16()?,
            })
        })
        .collect::<Result<_, Error>>()?;
    reader.end()?;
    Ok(lines)
}

/// The source line of an offset: that which begins last at or before it. The lines are sorted by offset.
pub(crate) fn line_at(lines: &[Line], pc: usize) -> Option<u16> {
    let behind = lines.partition_point(|line| usize::from(line.pc) <= pc);
    Some(lines[behind.checked_sub(1)?].line)
}

/// A line number table for code that was laid out.
pub(crate) fn move_lines(content: &[u8], layout: &Layout) -> Result<Vec<u8>, Error> {
    let lines = lines(content)?;
    let mut out = Vec::with_capacity(content.len());
    out.put_count(lines.len());
    for (number, line) in lines.iter().enumerate() {
        let at = layout.begins(line.pc.into());
        let at = at.ok_or(Error::Malformed {
            what: LINES,
            at: 2 + 4 * number,
        })?;
        out.put_count(at);
        out.put_u16(line.line);
    }
    Ok(out)
}

/// A table of local variables, or of their types, for code that was laid out.
pub(crate) fn move_variables(content: &[u8], layout: &Layout) -> Result<Vec<u8>, Error> {
    let mut reader = Reader::new(content, VARIABLES);
    let mut out = Vec::with_capacity(content.len());
    let count = reader.u16()?;
    out.put_u16(count);
    for _ in 0..count {
        move_range(&mut reader, layout, &mut out)?;
        out.extend_from_slice(reader.take(6)?);
    }
    reader.end()?;
    Ok(out)
}

/// A start and a length.
pub(crate) fn move_range(
    reader: &mut Reader<'_>,
    layout: &Layout,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let (start, length) = (usize::from(reader.u16()?), usize::from(reader.u16()?));
    let begin = layout.begins(start).ok_or_else(|| reader.malformed())?;
    let end = layout
        .begins(start + length)
        .ok_or_else(|| reader.malformed())?;
    out.put_count(begin);
    out.put_count(end - begin);
    Ok(())
}
