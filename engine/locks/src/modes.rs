//! Lock modes of multi-granularity locking: intention, shared and exclusive.
//!
//! The two matrices are those of Gray, Lorie, Putzolu and Traiger, "Granularity of Locks and Degrees of Consistency
//! in a Shared Data Base" (1976), tables 1 and 2. The papers of the schedules use `S` and `X` only.

/// A lock mode. The order of the variants is that of their discriminants and means nothing by itself; strength is given
/// by [`Mode::covers`].
#[allow(clippy::upper_case_acronyms)] // IS, IX, S, SIX and X are the field's own spelling.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Mode {
    /// Intention shared: shared locks will be taken on parts of the object.
    IS = 0,
    /// Intention exclusive: exclusive locks will be taken on parts of the object.
    IX = 1,
    /// Shared.
    S = 2,
    /// Shared, with the intention to lock parts exclusively.
    SIX = 3,
    /// Exclusive.
    X = 4,
}

/// Every mode, in the order of the discriminants.
pub const MODES: [Mode; Mode::COUNT] = [Mode::IS, Mode::IX, Mode::S, Mode::SIX, Mode::X];

use Mode::{IS, IX, S, SIX, X};

/// Modes that may not be held by two transactions at once, by row.
const CONFLICTS: [ModeSet; Mode::COUNT] = [
    ModeSet::of(&[X]),
    ModeSet::of(&[S, SIX, X]),
    ModeSet::of(&[IX, SIX, X]),
    ModeSet::of(&[IX, S, SIX, X]),
    ModeSet::of(&[IS, IX, S, SIX, X]),
];

/// Least mode that covers both: row is what is held, column what is asked for.
const SUPREMUM: [[Mode; Mode::COUNT]; Mode::COUNT] = [
    [IS, IX, S, SIX, X],
    [IX, IX, SIX, SIX, X],
    [S, SIX, S, SIX, X],
    [SIX, SIX, SIX, SIX, X],
    [X, X, X, X, X],
];

impl Mode {
    /// Number of modes.
    pub const COUNT: usize = 5;

    /// Whether two transactions may hold `self` and `other` on one object at the same time.
    pub const fn compatible(self, other: Mode) -> bool {
        !self.conflicts().contains(other)
    }

    /// The modes that another transaction may not hold beside `self`.
    pub const fn conflicts(self) -> ModeSet {
        CONFLICTS[self as usize]
    }

    /// The weakest mode that grants everything that `self` and `other` grant: the result of an upgrade.
    pub const fn supremum(self, other: Mode) -> Mode {
        SUPREMUM[self as usize][other as usize]
    }

    /// Whether a holder of `self` need not ask for `other` any more.
    pub const fn covers(self, other: Mode) -> bool {
        self.supremum(other) as u8 == self as u8
    }

    /// Whether several transactions may hold this mode at once (`IS`, `IX`, `S`).
    pub const fn is_shareable(self) -> bool {
        self.compatible(self)
    }

    /// The mode in which to lock the whole before a part is locked in `self`: `IS` for `IS` and `S`, else `IX` (Gray et al. 1976,
    /// section 2).
    #[must_use]
    pub const fn intention(self) -> Mode {
        match self {
            IS | S => IS,
            IX | SIX | X => IX,
        }
    }

    /// The mode with this discriminant.
    pub const fn from_index(index: usize) -> Option<Mode> {
        if index < Mode::COUNT {
            Some(MODES[index])
        } else {
            None
        }
    }
}

/// A set of modes, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ModeSet(u8);

impl ModeSet {
    /// No mode.
    pub const EMPTY: ModeSet = ModeSet(0);

    /// The set of `modes`.
    pub const fn of(modes: &[Mode]) -> ModeSet {
        let mut bits = 0;
        let mut at = 0;
        while at < modes.len() {
            bits |= 1 << modes[at] as u8;
            at += 1;
        }
        ModeSet(bits)
    }

    /// Whether `mode` is in the set.
    pub const fn contains(self, mode: Mode) -> bool {
        self.0 & (1 << mode as u8) != 0
    }

    /// Whether the set holds no mode.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Modes in either set.
    #[must_use]
    pub const fn union(self, other: ModeSet) -> ModeSet {
        ModeSet(self.0 | other.0)
    }

    /// Modes in both sets.
    #[must_use]
    pub const fn intersection(self, other: ModeSet) -> ModeSet {
        ModeSet(self.0 & other.0)
    }

    /// Modes in exactly one of the sets.
    #[must_use]
    pub const fn difference_of(self, other: ModeSet) -> ModeSet {
        ModeSet(self.0 ^ other.0)
    }

    /// The set with `mode` added.
    #[must_use]
    pub const fn with(self, mode: Mode) -> ModeSet {
        ModeSet(self.0 | (1 << mode as u8))
    }

    /// The modes of the set.
    pub fn iter(self) -> impl Iterator<Item = Mode> {
        MODES.into_iter().filter(move |&mode| self.contains(mode))
    }
}

/// Number of requests or grants in each mode.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ModeCounts {
    counts: [u32; Mode::COUNT],
    /// The modes whose count is not zero: asked for far more often than counts change.
    present: ModeSet,
}

/// [`ModeCounts::one`] of every mode: read as a whole, where counting up from zero would be written in pieces.
const ONE: [ModeCounts; Mode::COUNT] = {
    let mut ones = [ModeCounts {
        counts: [0; Mode::COUNT],
        present: ModeSet::EMPTY,
    }; Mode::COUNT];
    let mut at = 0;
    while at < Mode::COUNT {
        ones[at].counts[at] = 1;
        ones[at].present = ModeSet::EMPTY.with(MODES[at]);
        at += 1;
    }
    ones
};

impl ModeCounts {
    /// A single one of `mode`.
    pub fn one(mode: Mode) -> ModeCounts {
        ONE[mode as usize]
    }

    /// Counts one more of `mode`.
    pub fn add(&mut self, mode: Mode) {
        self.counts[mode as usize] += 1;
        self.present = self.present.with(mode);
    }

    /// Counts one less of `mode`.
    pub fn remove(&mut self, mode: Mode) {
        let count = &mut self.counts[mode as usize];
        *count = count.checked_sub(1).expect("what is removed was counted");
        if *count == 0 {
            self.present = ModeSet(self.present.0 & !(1 << mode as u8));
        }
    }

    /// The number of `mode`.
    pub fn count(&self, mode: Mode) -> u32 {
        self.counts[mode as usize]
    }

    /// The modes that occur at least once.
    pub fn present(&self) -> ModeSet {
        self.present
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compatibility_matrix_is_grays() {
        // Rows and columns IS IX S SIX X; Gray et al. 1976, table 1.
        let expected = ["yyyyn", "yynnn", "ynynn", "ynnnn", "nnnnn"];
        for (a, row) in MODES.into_iter().zip(expected) {
            for (b, cell) in MODES.into_iter().zip(row.chars()) {
                assert_eq!(a.compatible(b), cell == 'y', "{a:?} with {b:?}");
                assert_eq!(
                    a.compatible(b),
                    b.compatible(a),
                    "compatibility is symmetric"
                );
            }
        }
    }

    #[test]
    fn the_supremum_is_the_least_upper_bound() {
        for a in MODES {
            for b in MODES {
                let sup = a.supremum(b);
                assert!(sup.covers(a) && sup.covers(b));
                assert_eq!(sup, b.supremum(a));
                for c in MODES.into_iter().filter(|c| c.covers(a) && c.covers(b)) {
                    assert!(
                        c.covers(sup),
                        "{sup:?} is not least for {a:?} and {b:?}: {c:?}"
                    );
                }
            }
        }
        assert_eq!(IX.supremum(S), SIX);
    }

    #[test]
    fn one_of_a_mode_is_that_mode_counted_once() {
        for mode in MODES {
            let mut counted = ModeCounts::default();
            counted.add(mode);
            assert_eq!(ModeCounts::one(mode), counted);
        }
    }

    #[test]
    fn a_stronger_mode_conflicts_with_at_least_as_much() {
        for a in MODES {
            for b in MODES.into_iter().filter(|b| b.covers(a)) {
                assert_eq!(a.conflicts().union(b.conflicts()), b.conflicts());
            }
        }
    }
}
