//! What of the plan could not be done, and why.

use std::collections::HashSet;
use std::sync::atomic::Ordering::*;

use evenkeel_analysis::profile::Unpatched;
use evenkeel_wire::{Form, Refusal, Role, Wanted};

use super::Plan;
use crate::arena::Arena;

/// Why a call is not timed any more.
const MADE_ROOM: &str =
    "it made room for others that tell more; a higher --max-probes times it, too";

/// Why a call is not timed where it is, though its time is known.
const AT_CALLEES_ENTRY: &str =
    "it lies under the hook at the function's entry; whom it calls is timed at the entry instead";

impl Plan {
    /// Everything that could not be planted, with the agents' refusals.
    pub fn unpatched(&self, arena: &Arena) -> Vec<Unpatched> {
        let probes = || self.probes.iter().zip(&self.sites.sites);
        let on: HashSet<&str> = probes()
            .filter(|(planned, _)| planned.wanted != Wanted::Off)
            .map(|(_, site)| site.site.as_str())
            .collect();
        let is_back = |noted: &&Unpatched| noted.hides_time && on.contains(site_of(&noted.site));
        let still: Vec<&Unpatched> = self
            .unpatched
            .iter()
            .filter(|noted| !is_back(noted))
            .collect();
        let is_noted: HashSet<&str> = still.iter().map(|noted| site_of(&noted.site)).collect();
        let made_room = probes().filter(|(planned, site)| {
            let was_call = planned.was_taken_out && planned.form != Form::Entry;
            was_call && !is_noted.contains(site.site.as_str())
        });
        let made_room = made_room.map(|(_, site)| Unpatched {
            site: site.site.clone(),
            reason: MADE_ROOM.to_owned(),
            hides_time: true,
        });
        let mut all: Vec<Unpatched> = still.iter().copied().cloned().chain(made_room).collect();
        for (probe, site) in arena.probes().iter().zip(&self.sites.sites) {
            if let Some(reason) = refusal(probe.refused.load(Relaxed)) {
                let site = if site.site.is_empty() {
                    format!("entry of {}", site.callee)
                } else {
                    site.site.clone()
                };
                all.push(Unpatched {
                    hides_time: !site.starts_with("entry of "),
                    site,
                    reason: reason.to_owned(),
                });
            }
        }
        all
    }

    /// Why agents could not hook the interval's boundaries.
    pub fn refused_boundaries(&self, arena: &Arena) -> impl Iterator<Item = String> {
        let probes = arena.probes().iter().zip(&self.probes);
        let boundaries = probes.filter(|(_, planned)| planned.role != Role::Inner);
        boundaries.filter_map(|(probe, _)| Some(refusal(probe.refused.load(Relaxed))?.to_owned()))
    }

    /// Keeps a site that cannot be timed, with its reason, and whether its time stands in its caller's own.
    pub fn note_unpatched(&mut self, site: String, reason: String, hides_time: bool) {
        let unpatched = Unpatched {
            site,
            reason,
            hides_time,
        };
        if self.is_noted.insert(unpatched.clone()) {
            self.unpatched.push(unpatched);
        }
    }

    /// Keeps that whom a call leads to is timed at its entry, instead of that the call hides time.
    pub(crate) fn note_at_entry(&mut self, site: &str) {
        for noted in self.unpatched.iter_mut().filter(|noted| noted.site == site) {
            noted.hides_time = false;
            AT_CALLEES_ENTRY.clone_into(&mut noted.reason);
        }
    }

    /// Keeps that a call hides time, instead of that whom it calls is timed at its entry, or yet to be found out.
    pub(crate) fn note_hidden(&mut self, site: &str, reason: String) {
        self.unpatched
            .retain(|noted| noted.hides_time || noted.site != site);
        self.note_unpatched(site.to_owned(), reason, true);
    }
}

/// The site of what was noted: `caller+0x1f`, or `callee at caller+0x1f`.
fn site_of(noted: &str) -> &str {
    noted.rsplit_once(" at ").map_or(noted, |(_, site)| site)
}

/// Why an agent refused a probe, by the number that it left there.
fn refusal(code: u32) -> Option<&'static str> {
    Some(match code {
        code if code == Refusal::None as u32 => return None,
        code if code == Refusal::BytesDiffer as u32 => {
            "the code in memory is not the file's (changed by another tool?)"
        }
        code if code == Refusal::NoNearMemory as u32 => "no free memory within two gigabytes of it",
        code if code == Refusal::NotWritable as u32 => "the system does not let code be changed",
        code if code == Refusal::NoBarrier as u32 => {
            "other threads run, and the kernel offers no membarrier"
        }
        code if code == Refusal::Architecture as u32 => "not supported on this architecture",
        code if code == Refusal::NotOfForm as u32 => {
            "an instruction of this kind cannot be changed in this way; please report this"
        }
        _ => "no place for a jump that other threads can safely meet",
    })
}
