//! Finishes a profile with what the session knows beside the records.

use crate::facts::RunFacts;
use crate::findings::unseen;
use crate::findings::warnings::Warning;
use crate::intervals::interval::Reason;
use crate::profile::{LeftOut, Profile, TRAP_NS};

/// Adds it, but for the calls that were not timed: by these the tree is named.
pub(super) fn finish(profile: &mut Profile, facts: &RunFacts) {
    let Profile { tree, .. } = profile;
    profile.unseen = facts
        .unopened
        .as_ref()
        .map(|unopened| unseen::unseen(tree, unopened));
    for (reason, count) in [
        (Reason::RingFull, facts.missed),
        (Reason::PlanChanged, facts.unplanned),
    ] {
        if count > 0 {
            let reasons = &mut profile.discarded_by_reason;
            *reasons.entry(LeftOut::Known(reason)).or_default() += count;
            profile.discarded += count;
            profile.intervals_seen += count;
        }
    }
    if facts.spans {
        // What services do with their time, spans do not say.
        profile.time_spent.clear();
    }
    profile.sampled_out = facts.sampled_out;
    profile.intervals_seen += facts.sampled_out;
    let all_ns = profile.mean_ns * profile.intervals_seen as f64;
    profile.overhead.traps = facts.traps;
    profile.overhead.trapping_fraction = facts.traps as f64 * TRAP_NS / all_ns.max(TRAP_NS);
    profile.names.clone_from(&facts.names);
    profile.outside.clone_from(&facts.outside);
    profile.failed.clone_from(&facts.failed);
    let few_recorded = Warning::few_recorded(profile);
    if let Some(Warning::OnlyCounted(_)) = few_recorded {
        // The analysis knows records only.
        let warnings = &mut profile.warnings;
        warnings.retain(|warning| *warning != Warning::NoIntervals);
    }
    profile.warnings.extend(few_recorded);
    profile.warnings.extend(facts.warnings.iter().cloned());
}
