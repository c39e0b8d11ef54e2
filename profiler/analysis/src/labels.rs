//! Labels of intervals, put together from their records.

use evenkeel_wire::record::{LABEL_MAX, Marker, Record};

/// The label as the agent copied it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawLabel<'a> {
    /// No label.
    None,
    /// The value of an integer argument.
    Integer(u64),
    /// Text without its terminating zero, at most [`LABEL_MAX`] bytes of it.
    Text(&'a [u8]),
}

/// Collects the records of one label.
#[derive(Clone, Debug, Default)]
pub struct LabelBuffer {
    text: Vec<u8>,
    is_text: bool,
    integer: Option<u64>,
}

impl LabelBuffer {
    /// Takes a [`Marker::Label`] or [`Marker::LabelInteger`] record; ignores any other.
    pub fn push(&mut self, record: Record) {
        match record.as_marker() {
            Some(Marker::Label) => {
                self.is_text = true;
                let chunk = record.label_chunk();
                let text = chunk.split(|&byte| byte == 0).next().unwrap_or_default();
                let room = LABEL_MAX - self.text.len();
                self.text.extend_from_slice(&text[..text.len().min(room)]);
            }
            Some(Marker::LabelInteger) => self.integer = Some(record.start),
            _ => {}
        }
    }

    /// The label so far.
    pub fn label(&self) -> RawLabel<'_> {
        match self.integer {
            Some(value) => RawLabel::Integer(value),
            None if self.is_text => RawLabel::Text(&self.text),
            None => RawLabel::None,
        }
    }

    /// Begins the next label.
    pub fn clear(&mut self) {
        self.text.clear();
        self.is_text = false;
        self.integer = None;
    }
}
