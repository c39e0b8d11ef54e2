//! Waits of a round's intervals, summed by waiting call site, kind of object, and holder.

use evenkeel_wire::{Object, ObjectKind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::critical::states::State;
use crate::sums::moments::co_moment;
use crate::sums::paths::{Paths, ROOT};

/// Rows kept, at most; all further combinations are counted in one row.
pub const ROWS_MAX: usize = 1 << 12;
/// Objects told apart for one combination, at most.
pub const OBJECTS_MAX: usize = 16;

/// Calls listed of a waiter, at most.
pub const WAITER_CALLS_MAX: usize = 4;

/// A wait on an interval's path.
#[derive(Clone, Debug)]
pub struct WaitSeen {
    /// Probes of the innermost [`WAITER_CALLS_MAX`] calls that wait, outermost first. They distinguish waits without
    /// separating each call path to them.
    pub waiter: Vec<u32>,
    /// The object waited for.
    pub object: Object,
    /// The thread that ended it, if known.
    pub holder: Option<Holder>,
    /// Duration, ticks.
    pub ticks: i64,
}

/// The thread that ended a wait.
#[derive(Clone, Debug)]
pub struct Holder {
    /// Probes of its open calls at the release, outermost first.
    pub calls: Vec<u32>,
    /// The interval, or other purpose, that it worked on.
    pub serving: State,
}

/// Key of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowKey {
    /// The calls that wait, a node of `WaitSums::stacks`.
    pub waiter: u32,
    /// The kind of object waited for.
    pub kind: ObjectKind,
    /// The holder: its open calls, a node of `WaitSums::stacks`, and the state that says what it worked on.
    pub holder: Option<(u32, State)>,
}

/// Sums of one row. X is the time that an interval spent in all its waits of the row, ticks.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Waits.
    pub count: u64,
    /// Sum of X.
    pub ticks: i128,
    /// Sum of X^2.
    pub squared: i128,
    /// Sum of X L.
    pub with_latency: i128,
    /// Ticks by object's key, for the first [`OBJECTS_MAX`].
    pub objects: Vec<(u64, i64)>,
    /// There were more objects.
    pub more_objects: bool,
}

impl Row {
    /// (n - 1) Cov(X, L) over `intervals` whose latencies add up to `latency`, ticks^2.
    pub fn latency_moment(&self, intervals: u64, latency: i128) -> f64 {
        co_moment(intervals, self.with_latency, self.ticks, latency)
    }

    /// (n - 1) Var(X), ticks^2.
    pub fn moment(&self, intervals: u64) -> f64 {
        co_moment(intervals, self.squared, self.ticks, self.ticks)
    }
}

/// All rows of a round.
#[derive(Debug, Default)]
pub struct WaitSums {
    rows: FxHashMap<RowKey, Row>,
    /// Combinations beyond [`ROWS_MAX`].
    others: Row,
    /// Calls that wait, and that release.
    stacks: Paths,
    /// The interval being added: ticks by row.
    present: Vec<(RowKey, i64)>,
}

impl WaitSums {
    /// No rows yet; the calls that `paths` leaves out are left out of the stacks ([`Paths::without`]).
    pub fn without(untimed: Vec<bool>) -> WaitSums {
        WaitSums {
            stacks: Paths::without(untimed),
            ..WaitSums::default()
        }
    }

    /// Adds the waits of one interval.
    pub fn add(&mut self, waits: &[WaitSeen], latency: i64) {
        self.present.clear();
        for wait in waits {
            let holder = wait.holder.as_ref();
            let key = RowKey {
                waiter: self.intern(&wait.waiter),
                kind: wait.object.kind,
                holder: holder.map(|holder| (self.intern(&holder.calls), holder.serving)),
            };
            self.row(key).count_wait(wait);
            match self.present.iter_mut().find(|(other, _)| *other == key) {
                Some((_, ticks)) => *ticks += wait.ticks,
                None => self.present.push((key, wait.ticks)),
            }
        }
        for (key, ticks) in std::mem::take(&mut self.present) {
            let (ticks, latency) = (i128::from(ticks), i128::from(latency));
            let row = self.row(key);
            row.ticks += ticks;
            row.squared += ticks * ticks;
            row.with_latency += ticks * latency;
        }
    }

    /// Adds the rows of another round. Two rows may differ only by calls that are left out. They stay separate, since
    /// one interval may have both, and the product of their times was not summed.
    pub fn merge(&mut self, other: &WaitSums) {
        let mut taken = FxHashSet::default();
        for (key, row) in other.rows() {
            let Some(key) = key else {
                self.others.merge(row);
                continue;
            };
            let calls = |node| other.stack(node);
            let holder = key.holder.map(|(node, serving)| (calls(node), serving));
            let mut made = |intern: fn(&mut WaitSums, &[u32]) -> u32| RowKey {
                waiter: intern(self, &calls(key.waiter)),
                kind: key.kind,
                holder: holder
                    .as_ref()
                    .map(|(calls, serving)| (intern(self, calls), *serving)),
            };
            let shorter = made(WaitSums::intern);
            let key = match taken.insert(shorter) {
                true => shorter,
                false => made(WaitSums::intern_whole),
            };
            self.row(key).merge(row);
        }
    }

    /// Interns all calls, even those that are left out.
    fn intern_whole(&mut self, calls: &[u32]) -> u32 {
        let step = |above, &probe| self.stacks.child(above, probe).unwrap_or(above);
        calls.iter().fold(ROOT, step)
    }

    fn intern(&mut self, calls: &[u32]) -> u32 {
        let step = |above, &probe| match self.stacks.is_untimed(probe) {
            true => above,
            false => self.stacks.child(above, probe).unwrap_or(above),
        };
        calls.iter().fold(ROOT, step)
    }

    fn row(&mut self, key: RowKey) -> &mut Row {
        if self.rows.len() >= ROWS_MAX && !self.rows.contains_key(&key) {
            return &mut self.others;
        }
        self.rows.entry(key).or_default()
    }

    /// All rows. The last one has no key: it sums the combinations that did not fit, if any.
    pub fn rows(&self) -> impl Iterator<Item = (Option<&RowKey>, &Row)> {
        let others = (self.others.count > 0).then_some((None, &self.others));
        self.rows
            .iter()
            .map(|(key, row)| (Some(key), row))
            .chain(others)
    }

    /// Probes of a waiter's or a holder's calls, outermost first.
    pub fn stack(&self, mut node: u32) -> Vec<u32> {
        let mut probes = Vec::new();
        while node != ROOT {
            let path = self.stacks.get(node);
            probes.extend(path.probe);
            node = path.parent;
        }
        probes.reverse();
        probes
    }
}

impl Row {
    fn count_wait(&mut self, wait: &WaitSeen) {
        self.count += 1;
        self.add_object(wait.object.key, wait.ticks);
    }

    fn add_object(&mut self, key: u64, waited: i64) {
        let is_full = self.objects.len() >= OBJECTS_MAX;
        match self.objects.iter_mut().find(|(other, _)| *other == key) {
            Some((_, ticks)) => *ticks += waited,
            None if is_full => self.more_objects = true,
            None => self.objects.push((key, waited)),
        }
    }

    /// Adds the waits of other intervals.
    fn merge(&mut self, other: &Row) {
        self.count += other.count;
        self.ticks += other.ticks;
        self.squared += other.squared;
        self.with_latency += other.with_latency;
        for &(key, ticks) in &other.objects {
            self.add_object(key, ticks);
        }
        self.more_objects |= other.more_objects;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(site: u32, key: u64, ticks: i64) -> WaitSeen {
        WaitSeen {
            waiter: vec![site],
            object: Object {
                key,
                kind: ObjectKind::Mutex,
            },
            holder: Some(Holder {
                calls: vec![3, 4],
                serving: State::Unrecorded,
            }),
            ticks,
        }
    }

    /// Two intervals of 10 and 30 ticks wait 4 (in two waits) and 12: X and L move together, Cov = (12 - 8)(30 - 20) *
    /// 2 = 80.
    #[test]
    fn waits_of_an_interval_are_one_value() {
        let mut sums = WaitSums::default();
        sums.add(&[wait(1, 7, 1), wait(1, 8, 3)], 10);
        sums.add(&[wait(1, 7, 12)], 30);
        let (key, row) = sums.rows().next().unwrap();
        assert_eq!((row.count, row.ticks), (3, 16));
        assert_eq!(row.latency_moment(2, 40), 80.0);
        assert_eq!(row.moment(2), 32.0);
        assert_eq!(row.objects, [(7, 13), (8, 3)]);
        assert_eq!(sums.stack(key.unwrap().holder.unwrap().0), [3, 4]);
        assert_eq!(sums.stack(key.unwrap().waiter), [1]);
    }

    #[test]
    fn bounded() {
        let mut sums = WaitSums::default();
        for n in 0..2 * ROWS_MAX as u32 {
            let holder = Holder {
                calls: vec![200 + n / 128],
                serving: State::Unrecorded,
            };
            let wait = WaitSeen {
                holder: Some(holder),
                ..wait(n % 128, 1, 1)
            };
            sums.add(&[wait], 5);
        }
        assert_eq!(sums.rows().count(), ROWS_MAX + 1);
        assert_eq!(
            sums.rows().map(|(_, row)| row.count).sum::<u64>(),
            2 * ROWS_MAX as u64
        );
        (0..100).for_each(|key| sums.add(&[wait(1, key, 1)], 5));
        assert!(sums.rows().all(|(_, row)| row.objects.len() <= OBJECTS_MAX));
    }
}
