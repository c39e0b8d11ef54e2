//! The group-commit delay: when a committer that could write its batch at once waits a moment for others to join it.
//!
//! Committers that one sync has released come back together, each with its next transaction. If the first of them
//! wrote at once, the others would just miss its batch. Two clients would then wait for each other's sync and their
//! own, and every sync would serve one commit. So a batch waits for as many committers as were present around the
//! last sync, but no longer than a small part of a sync. The idea is that of Helland et al., "Group Commit Timers and
//! High Volume Transaction Systems" (HPTS 1987), with a timer set from observation. The committer that completes the
//! batch writes it, so that nobody has to be woken for that; if it does not come, whoever waited longest does.

use std::time::Duration;

/// A batch waits this part of the time that writing and syncing one takes.
const PART: u64 = 8;
/// A wait is never longer.
const LONGEST: Duration = Duration::from_millis(1);
/// Below, falling asleep and waking up would cost more than a larger group is worth. The model checker's disk takes no time.
const SHORTEST: Duration = if cfg!(feature = "shuttle") {
    Duration::ZERO
} else {
    Duration::from_micros(20)
};
/// After this many waits in vain in a row, the number of batches that do not wait stops doubling.
const IN_VAIN_MAX: u32 = 6;

/// The caller that needs a record written. A batch is delayed for committers only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Caller {
    /// A transaction that commits, and comes back with the next.
    Committer,
    /// Anybody else.
    Other,
}

/// Facts of one stream about its committers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GroupCommitDelay {
    /// Committers in the batch that is collecting.
    present: usize,
    /// Committers in the batch that is being written, or was last.
    sealed: usize,
    /// Number of committers to wait for.
    expected: usize,
    /// Average time of writing and syncing a batch.
    write_ns: u64,
    /// Delays in vain since the last that was not.
    in_vain: u32,
    /// Batches yet to come that are not delayed.
    undelayed: u32,
}

impl GroupCommitDelay {
    /// A committer has its record in the batch that is collecting. Its number there.
    pub(crate) fn arrive(&mut self) -> usize {
        self.present += 1;
        self.present
    }

    /// The time that a committer waits before it writes the batch; `None` if it does not wait.
    pub(crate) fn delay(&self) -> Option<Duration> {
        let part = Duration::from_nanos(self.write_ns / PART).min(LONGEST);
        let worth_it = self.present < self.expected && self.undelayed == 0 && part >= SHORTEST;
        worth_it.then_some(part)
    }

    /// A committer that came as number `arrived` has waited as long as it should.
    pub(crate) fn give_up(&mut self, arrived: usize) {
        self.expected = 0;
        self.in_vain = match self.present > arrived {
            true => 0,
            false => (self.in_vain + 1).min(IN_VAIN_MAX),
        };
        self.undelayed = (1 << self.in_vain) - 1;
    }

    /// The batch that was collecting is about to be written.
    pub(crate) fn seal(&mut self) {
        self.sealed = std::mem::take(&mut self.present);
        self.undelayed = self.undelayed.saturating_sub(1);
    }

    /// The sealed batch is durable: the committers it releases may come back, and others have arrived.
    pub(crate) fn released(&mut self, write_ns: u64) {
        self.expected = self.sealed + self.present;
        self.write_ns = match self.write_ns {
            0 => write_ns,
            average => average - average / 8 + write_ns / 8,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNC_NS: u64 = 4_000_000;
    const DELAY: Option<Duration> = Some(Duration::from_micros(500));

    fn batch(group: &mut GroupCommitDelay, committers: usize) {
        for _ in 0..committers {
            group.arrive();
        }
        group.seal();
    }

    #[test]
    fn a_committer_alone_never_waits() {
        let mut group = GroupCommitDelay::default();
        for _ in 0..3 {
            group.arrive();
            assert_eq!(group.delay(), None);
            group.seal();
            group.released(SYNC_NS);
        }
    }

    /// Two take turns: while the first syncs, the second comes. From then on both are waited for, an eighth of a sync.
    #[test]
    fn two_that_took_turns_come_to_share_a_sync() {
        let mut group = GroupCommitDelay::default();
        batch(&mut group, 1);
        group.arrive();
        group.released(SYNC_NS);
        assert_eq!(group.delay(), DELAY);
        group.arrive();
        assert_eq!(group.delay(), None, "both are there");
        group.seal();
        group.released(SYNC_NS);
        group.arrive();
        assert_eq!(group.delay(), DELAY);
    }

    /// After one, two, three waits in vain 1, 3, 7 batches do not wait, this one among them. When others come it begins anew.
    #[test]
    fn waits_in_vain_become_rare() {
        let mut group = GroupCommitDelay::default();
        let undelayed = [false, false, false, true, false].map(|others_come| {
            batch(&mut group, 2);
            group.released(SYNC_NS);
            let arrived = group.arrive();
            if others_come {
                group.arrive();
            }
            group.give_up(arrived);
            group.undelayed
        });
        assert_eq!(undelayed, [1, 3, 7, 0, 1]);
        group.expected = 9;
        assert_eq!(group.delay(), None, "this batch is not delayed");
        group.seal();
        assert_eq!(group.delay(), DELAY);
    }

    #[test]
    fn a_quick_device_is_not_waited_for_and_a_slow_one_not_long() {
        for (sync_ns, delay) in [(100_000, None), (1 << 40, Some(LONGEST))] {
            let mut group = GroupCommitDelay::default();
            batch(&mut group, 2);
            group.released(sync_ns);
            group.arrive();
            assert_eq!(group.delay(), delay);
        }
    }
}
