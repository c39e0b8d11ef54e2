//! The common part of several recordings: one table of call sites, the paths that all of them timed, one clock.

use evenkeel_analysis::Analysis;
use evenkeel_analysis::findings::warnings::Warning;
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

/// The recording whose clock all others are converted to. A recording without intervals may lack even its subject.
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
            let scouted = part.scouted.as_ref()?;
            let of_all = |ids: &[u32]| -> Vec<u32> {
                let known = ids.iter().filter_map(|&id| probes.get(id as usize));
                known.copied().collect()
            };
            let timed = scouted.timed.as_deref().map(of_all);
            let timed = timed.as_ref().unwrap_or(probes);
            Some(Timed::of(&sites, timed, &of_all(&scouted.called)))
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

    /// Their joint facts.
    pub(crate) fn meta(&self) -> Meta {
        let first = first(&self.parts);
        let is_first = |part: &Part| std::ptr::eq(part, first);
        let mut all = self.parts.iter().zip(&self.probes);
        let (_, own) = all.find(|(part, _)| is_first(part)).expect("one of them");
        let mut meta = translated(&first.meta, own);
        let others = self.parts.iter().zip(&self.probes);
        for (part, own) in others.filter(|(part, _)| !is_first(part)) {
            meta.merge(&translated(&part.meta, own));
        }
        let warnings = &mut meta.facts.warnings;
        warnings.extend(self.empty());
        warnings.extend(self.left_out());
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

    /// Which recordings add nothing.
    fn empty(&self) -> impl Iterator<Item = Warning> {
        let empty = self.parts.iter().filter(|part| part.scouted.is_none());
        empty.map(|part| Warning::RecordingEmpty {
            path: part.path.display().to_string(),
        })
    }

    /// Calls that are left out of the paths because some recordings did not time them.
    fn left_out(&self) -> Option<Warning> {
        let called = |id| self.timed.iter().any(|one| one.called(id));
        let is_left_out = |&id: &u32| self.untimed[id as usize] && called(id);
        let all = 0..self.sites.sites.len() as u32;
        let left_out: Vec<u32> = all.filter(is_left_out).collect();
        let named = left_out.iter().take(NAMED_MAX);
        let callee = |&id: &u32| self.sites.sites[id as usize].callee.clone();
        (!left_out.is_empty()).then(|| Warning::TimedInSome {
            sites: left_out.len(),
            callees: named.map(callee).collect(),
        })
    }
}

/// Facts of a recording, with its `probes` as numbers among the call sites of all.
fn translated(meta: &Meta, probes: &[u32]) -> Meta {
    let mut meta = meta.clone();
    let of_all = |id: u32| probes.get(id as usize).copied();
    for call in &mut meta.facts.unpatched {
        call.probe = call.probe.and_then(of_all);
    }
    if let Some(unopened) = &mut meta.facts.unopened {
        // Without a probe it is of the interval's own function.
        unopened.retain_mut(|it| match it.probe {
            Some(id) => {
                it.probe = of_all(id);
                it.probe.is_some()
            }
            None => true,
        });
    }
    meta
}
