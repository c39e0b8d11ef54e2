//! Text that lies in several records.

use crate::record::{LABEL_MAX, Marker, Record};

use super::LabelValue;

/// Collects the records of one label or name.
#[derive(Clone, Debug)]
pub struct Text {
    bytes: [u8; LABEL_MAX],
    len: usize,
    integer: Option<u64>,
}

impl Default for Text {
    fn default() -> Text {
        Text {
            bytes: [0; LABEL_MAX],
            len: 0,
            integer: None,
        }
    }
}

impl Text {
    /// Takes a [`Marker::Label`] or [`Marker::LabelInteger`] record; ignores any other.
    #[inline]
    pub fn push(&mut self, record: Record) {
        match record.as_marker() {
            Some(Marker::Label) => {
                let chunk = record.label_chunk();
                let text = chunk.split(|&byte| byte == 0).next().unwrap_or_default();
                let text = &text[..text.len().min(LABEL_MAX - self.len)];
                self.bytes[self.len..self.len + text.len()].copy_from_slice(text);
                self.len += text.len();
            }
            Some(Marker::LabelInteger) => self.integer = Some(record.start),
            _ => {}
        }
    }

    /// The collected label.
    #[inline]
    pub fn value(&self) -> LabelValue<'_> {
        match self.integer {
            Some(value) => LabelValue::Integer(value),
            None if self.len > 0 => LabelValue::Text(&self.bytes[..self.len]),
            None => LabelValue::None,
        }
    }

    /// Begins the next one.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
        self.integer = None;
    }
}
