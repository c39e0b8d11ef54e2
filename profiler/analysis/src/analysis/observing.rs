//! Access to single intervals, for formats that sum them themselves ([`crate::fleet::observed`]).

use super::Analysis;
use super::intake::Intake;
use crate::findings::not_opened::NotOpened;
use crate::fleet::joint::JOINT_ROUND;
use crate::fleet::minutes::RoundMinute;
use crate::fleet::observed::{Basis, Observed, ObservedMinute, Observing};
use crate::intervals::classes::ClassTable;
use crate::profile::Unpatched;
use crate::sites::SiteTable;
use crate::sums::node_names::NodeNames;
use crate::sums::parts::VarianceTree;
use crate::sums::paths::Paths;

impl Intake {
    /// Brings the intervals that were added to the paths of the round that they count in: of several recordings those
    /// of all.
    pub(super) fn place_observed(&mut self) {
        let Some(observing) = &mut self.observed else {
            return;
        };
        let mut pending = std::mem::take(&mut observing.pending);
        if let Some(joint) = &self.joint
            && let Some(all) = self.rounds.detail_mut(JOINT_ROUND)
        {
            pending = joint.place(pending, &mut all.paths);
            pending.iter_mut().for_each(|it| it.round = JOINT_ROUND);
        }
        observing.placed.append(&mut pending);
    }

    /// A minute was added to what the selected round `at` of the recording at hand has.
    pub(super) fn observe_minute(&mut self, at: usize, began_unix_ns: u64, minute: RoundMinute) {
        let (Some(observing), Some(joint)) = (&mut self.observed, &self.joint) else {
            return;
        };
        let Some(all) = self.rounds.detail_mut(JOINT_ROUND) else {
            return;
        };
        let (sums, classes) = joint.place_sums(at, minute.sums, minute.classes, &mut all.paths);
        observing.minutes.push(ObservedMinute {
            began_unix_ns,
            sums,
            classes,
        });
    }
}

impl Analysis {
    /// Keeps the intervals that are added, one by one, until [`Analysis::take_observed`]. To be called before the first
    /// record.
    pub fn observe(&mut self) {
        self.intake.observed = Some(Observing::default());
    }

    /// Like the above, with the critical path of each interval that belongs to a span of a trace.
    pub fn observe_pieces(&mut self) {
        self.intake.observed = Some(Observing {
            pieces: true,
            ..Observing::default()
        });
    }

    /// The intervals that were added since this was last asked, in order of their numbers.
    pub fn take_observed(&mut self) -> Vec<Observed> {
        self.intake.place_observed();
        let observing = self.intake.observed.as_mut();
        observing
            .map(|it| std::mem::take(&mut it.placed))
            .unwrap_or_default()
    }

    /// The minutes of sums that were added since this was last asked, of recordings taken together: those of the rounds
    /// that count, on the paths of the profile.
    pub fn take_minutes(&mut self) -> Vec<ObservedMinute> {
        let observing = self.intake.observed.as_mut();
        observing
            .map(|it| std::mem::take(&mut it.minutes))
            .unwrap_or_default()
    }

    /// Call paths of recordings taken together.
    pub fn joint_paths(&self) -> Option<&Paths> {
        self.intake.joint.as_ref()?;
        self.paths_of(JOINT_ROUND)
    }

    /// The intervals and paths that a profile rests on; `None` without intervals.
    pub fn basis(&self) -> Option<Basis> {
        self.intake
            .rounds
            .basis(&self.intake.plans, &self.intake.latencies)
    }

    /// Call paths of a round; nothing where its sums were dropped.
    pub fn paths_of(&self, round: usize) -> Option<&Paths> {
        Some(&self.intake.rounds.detail(round)?.paths)
    }

    /// Names of classes.
    pub fn classes(&self) -> &ClassTable {
        &self.assembler.classes
    }

    /// Calls `describe` with the variance tree of the profile, in which these calls were not timed; `None` without
    /// intervals.
    pub fn with_tree<T>(
        &self,
        sites: &SiteTable,
        unpatched: &[Unpatched],
        describe: impl FnOnce(&VarianceTree<'_>) -> T,
    ) -> Option<T> {
        let rounds = &self.intake.rounds;
        let (at, base) = rounds.chosen(&self.intake.latencies)?;
        let combined = rounds.combined(&self.intake.plans, (at, base));
        let combined = combined
            .as_ref()
            .filter(|all| all.together.rounds.len() > 1);
        let detail = combined.map_or(base, |all| &all.detail);
        let total = detail.sums.blocks.total();
        let not_opened = NotOpened::of(sites, unpatched);
        let names = NodeNames::new(&detail.paths, sites).with_classes(&self.assembler.classes);
        let tree = VarianceTree::new(names, &total);
        Some(describe(&tree.with_not_opened(&not_opened)))
    }
}
