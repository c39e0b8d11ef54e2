//! What several recordings have in common: one table of call sites, the paths that all of them timed, one clock.

use evenkeel_analysis::Analysis;
use evenkeel_analysis::fleet::joint::Scouted;
use evenkeel_analysis::sites::SiteTable;

use crate::Meta;
use crate::identity::{Identities, Timed};
use crate::part::Part;
use crate::translation::{Translation, clock, ratio};

/// Sites named in a warning, at most.
const NAMED_MAX: usize = 3;

/// Recordings that are taken together.
pub(crate) struct Union<'a> {
    pub(crate) parts: Vec<&'a Part>,
    /// Call sites of all.
    pub(crate) sites: SiteTable,
    /// By recording: its probes among the call sites of all.
    probes: Vec<Vec<u32>>,
    /// By recording that has intervals: the call sites that it timed.
    timed: Vec<Timed>,
    /// By call site of all: a recording did not time it.
    untimed: Vec<bool>,
}

/// The recording whose clock is that of all. One without intervals may not even say what it is of.
pub(crate) fn first<'a>(parts: &[&'a Part]) -> &'a Part {
    let mut useful = parts.iter().filter(|part| part.scouted.is_some());
    useful.next().unwrap_or(&parts[0])
}

impl<'a> Union<'a> {
    pub(crate) fn of(parts: Vec<&'a Part>) -> Union<'a> {
        let first = first(&parts);
        let mut useful = parts.iter().filter(|part| part.scouted.is_some());
        let by_address = useful.all(|part| part.meta.build == first.meta.build);
        let mut identities = Identities::default();
        let probes: Vec<Vec<u32>> = parts
            .iter()
            .map(|part| identities.add(&part.sites, &part.meta.build, by_address))
            .collect();
        let mut sites = identities.table;
        sites.root.clone_from(&first.sites.root);
        let heights = parts.iter().map(|part| part.sites.root_height);
        sites.root_height = heights.max().unwrap_or(0);
        let timed = parts.iter().zip(&probes).filter_map(|(part, probes)| {
            let called = part.scouted.as_ref()?.called.iter();
            let called = called.filter_map(|&id| probes.get(id as usize).copied());
            Some(Timed::of(&sites, probes, called))
        });
        let timed: Vec<Timed> = timed.collect();
        let by_all = |(id, site)| timed.iter().all(|timed| timed.times(id, site));
        let untimed = (0..).zip(&sites.sites).map(|site| !by_all(site)).collect();
        Union {
            parts,
            sites,
            probes,
            timed,
            untimed,
        }
    }

    /// What explains them.
    pub(crate) fn meta(&self) -> Meta {
        let first = first(&self.parts);
        let mut meta = first.meta.clone();
        let others = self
            .parts
            .iter()
            .filter(|part| !std::ptr::eq(**part, first));
        others.for_each(|part| meta.merge(&part.meta));
        meta.warnings.extend(self.empty());
        meta.warnings.extend(self.left_out());
        meta
    }

    /// An analysis of all of them, in their order.
    pub(crate) fn analysis(&self) -> Analysis {
        let renumbered = self.parts.iter().zip(&self.probes);
        let renumbered: Vec<(&Scouted, &[u32])> = renumbered
            .filter_map(|(part, probes)| Some((part.scouted.as_ref()?, &probes[..])))
            .collect();
        Analysis::joint(&renumbered, &self.untimed)
    }

    /// From the records of a recording to those of all. `ticks_per_ns`: of the common clock.
    pub(crate) fn translation(&self, at: usize, ticks_per_ns: f64) -> Translation {
        let own = self.parts[at].meta.ticks_per_ns;
        Translation {
            probes: self.probes[at].clone(),
            clock: clock(ticks_per_ns, own),
            ratio: ratio(ticks_per_ns, own),
            recording: at as u64,
        }
    }

    /// Says which recordings add nothing.
    fn empty(&self) -> impl Iterator<Item = String> {
        let empty = self.parts.iter().filter(|part| part.scouted.is_none());
        empty.map(|part| {
            format!(
                "{} holds no complete interval and adds nothing: record for longer, or with the server under load",
                part.path.display()
            )
        })
    }

    /// Says what is not in the paths because some recordings did not time it.
    fn left_out(&self) -> Option<String> {
        let called = |id| self.timed.iter().any(|one| one.called(id));
        let is_left_out = |&id: &u32| self.untimed[id as usize] && called(id);
        let all = 0..self.sites.sites.len() as u32;
        let left_out: Vec<u32> = all.filter(is_left_out).collect();
        if left_out.is_empty() {
            return None;
        }
        let named = left_out.iter().take(NAMED_MAX);
        let names: Vec<&str> = named
            .map(|&id| self.sites.sites[id as usize].callee.as_str())
            .collect();
        let is_all = left_out.len() <= NAMED_MAX;
        Some(format!(
            "{} call sites were timed in some of the recordings only and count as their callers' own time ({}{}): look at each \
             recording by itself for what lies below them, or record for longer, until all have opened the same functions",
            left_out.len(),
            names.join(", "),
            if is_all { "" } else { ", .." }
        ))
    }
}
