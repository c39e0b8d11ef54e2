//! Calls that stand as their callers' own time: those that only other rounds have timed, and those that the session
//! could not.

use super::rounds_together;
use crate::findings::reasons::NotTimed;
use crate::inputs::Inputs;
use crate::profile::Unpatched;
use crate::rounds::other_rounds;
use crate::sites::{Function, Site};
use crate::sums::parts::{Part, VarianceTree};

/// All of them, each once. The session knows why a call was not timed; the analysis, only that it was not.
pub(super) fn unpatched(inputs: &Inputs<'_>, tree: &VarianceTree<'_>) -> Vec<Unpatched> {
    let mut all = hidden(inputs);
    for call in untimed(inputs, tree) {
        if all.iter().all(|known| known.probe != call.probe) {
            all.push(call);
        }
    }
    let Some(facts) = inputs.facts else {
        return all;
    };
    all.retain(|call| {
        facts
            .unpatched
            .iter()
            .all(|known| known.probe != call.probe)
    });
    all.extend(facts.unpatched.iter().cloned());
    all
}

/// Calls that not all rounds taken together have timed, and whose time stands as their callers' own.
fn hidden(inputs: &Inputs<'_>) -> Vec<Unpatched> {
    let reason = match rounds_together(inputs)[..] {
        // Several recordings: their rounds are not listed.
        [] => NotTimed::OnlyInSomeRecordings,
        _ => NotTimed::OnlyInRound(inputs.round_index + 1),
    };
    let probes = inputs.together.iter().flat_map(|together| &together.hidden);
    let unpatched = probes.filter_map(|&probe| {
        let site = inputs.sites.sites.get(probe as usize)?;
        Some(Unpatched {
            site: format!("{} at {}", site.callee_shown(), site.site),
            reason: reason.clone(),
            hides_time: true,
            probe: Some(probe),
            within: site.holder(),
        })
    });
    unpatched.collect()
}

/// Calls that another round has timed, and that stand as their callers' own here.
fn untimed(inputs: &Inputs<'_>, tree: &VarianceTree<'_>) -> Vec<Unpatched> {
    let Some(planted) = &inputs.planted_throughout else {
        return Vec::new();
    };
    let calls = other_rounds::untimed(tree, planted, &inputs.elsewhere);
    let unpatched = calls.into_iter().filter_map(|call| {
        let site = inputs.sites.sites.get(call.probe as usize)?;
        let place = match site.site.as_str() {
            "" => format!(
                "entry of {} called by {}",
                site.callee_shown(),
                tree.name(Part::Call(call.caller))
            ),
            place => format!("{} at {place}", site.callee_shown()),
        };
        let caller = || match tree.site(call.caller) {
            Some(caller) => Site::called(caller),
            None => Function::named(&tree.name(Part::Call(call.caller))),
        };
        Some(Unpatched {
            site: place,
            reason: NotTimed::TimedInRound(call.round + 1),
            hides_time: true,
            probe: Some(call.probe),
            within: Some(site.holder().unwrap_or_else(caller)),
        })
    });
    unpatched.collect()
}
