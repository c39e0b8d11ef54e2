//! Finishes a profile with the session's facts.

use crate::facts::RunFacts;
use crate::findings::unseen;
use crate::findings::warnings::Warning;
use crate::intervals::interval::Reason;
use crate::profile::{LeftOut, Profile, TRAP_NS};

/// Part of the intervals at or below which it is pointed out how few were recorded, ...
const RECORDED_FEW: f64 = 0.1;
/// ... if the standard error of the first factor's share is above this.
const SE_HIGH: f64 = 0.02;

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
    profile.overhead.stops = facts.stops;
    profile.details.clone_from(&facts.details);
    let few_recorded = few_recorded(profile);
    if let Some(Warning::OnlyCounted(_)) = few_recorded {
        // The analysis knows records only.
        let warnings = &mut profile.warnings;
        warnings.retain(|warning| *warning != Warning::NoIntervals);
    }
    profile.warnings.extend(few_recorded);
    profile.warnings.extend(facts.warnings.iter().cloned());
}

/// [`Warning::FewRecorded`] or [`Warning::OnlyCounted`], if it holds for this profile.
fn few_recorded(profile: &Profile) -> Option<Warning> {
    let left = profile.sampled_out + profile.discarded;
    let recorded = profile.intervals_seen.saturating_sub(left);
    if recorded == 0 && profile.sampled_out > 0 {
        return Some(Warning::OnlyCounted(profile.sampled_out));
    }
    let se = profile.factors.first().map_or(0.0, |factor| factor.se);
    let is_small = recorded as f64 <= RECORDED_FEW * profile.intervals_seen as f64;
    (is_small && profile.sampled_out > 0 && se > SE_HIGH).then_some(Warning::FewRecorded {
        recorded,
        sampled_out: profile.sampled_out,
        se,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Factor;

    fn profile(sampled_out: u64, se: f64) -> Profile {
        Profile {
            intervals_seen: 10_000,
            discarded: 100,
            sampled_out,
            factors: vec![Factor {
                se,
                ..Factor::default()
            }],
            ..Profile::default()
        }
    }

    #[test]
    fn few_recorded_are_pointed_out_where_it_shows() {
        let few = Warning::FewRecorded {
            recorded: 900,
            sampled_out: 9_000,
            se: 0.04,
        };
        assert_eq!(few_recorded(&profile(9_000, 0.04)), Some(few));
        assert_eq!(few_recorded(&profile(9_000, 0.01)), None);
        assert_eq!(few_recorded(&profile(5_000, 0.04)), None);
        assert_eq!(few_recorded(&profile(0, 0.04)), None);
        let only_counted = few_recorded(&profile(9_900, 0.0));
        assert_eq!(only_counted, Some(Warning::OnlyCounted(9_900)));
    }
}
