//! Classes of the intervals that stay on their thread, by serial number.

use std::collections::VecDeque;

/// Intervals whose class is remembered, at most; older ones were served too long ago to be met by a walk.
pub(crate) const REMEMBERED_MAX: usize = 1 << 20;

/// Classes by serial number, the newest [`REMEMBERED_MAX`].
#[derive(Debug, Default)]
pub struct Serials {
    classes: VecDeque<u16>,
    gone: u64,
}

impl Serials {
    /// The next number; its class is that of no label until it is known.
    pub(crate) fn issue(&mut self) -> u64 {
        if self.classes.len() == REMEMBERED_MAX {
            self.classes.pop_front();
            self.gone += 1;
        }
        self.classes.push_back(0);
        self.gone + self.classes.len() as u64 - 1
    }

    /// Notes the class of an interval.
    pub fn classify(&mut self, serial: u64, class: u16) {
        let at = serial.checked_sub(self.gone);
        if let Some(known) = at.and_then(|at| self.classes.get_mut(at as usize)) {
            *known = class;
        }
    }

    /// The class of an interval; that of no label where it is not known.
    pub(crate) fn class_of(&self, serial: u64) -> u16 {
        let at = serial.checked_sub(self.gone);
        at.and_then(|at| self.classes.get(at as usize))
            .copied()
            .unwrap_or(0)
    }
}
