//! What stacks of slow intervals add to the findings: what they show inside of a finding's function, and a finding of their own where
//! the profile does not explain what they show.

use crate::findings::Finding;
use crate::profile::Profile;
use crate::sites::Kind;
use crate::slow::Evidence;
use crate::slow::model::{SeenInside, SlowPath};

/// Adds it.
pub(super) fn add(profile: &mut Profile, slow: &Evidence, ticks_per_ns: f64) {
    profile.slow_stacks = slow.summary(ticks_per_ns);
    for finding in &mut profile.findings {
        finding.seen_inside = slow.inside(&finding.function);
    }
    let explains_all = profile.explains_a_part().is_none();
    let Some(stacks) = profile.slow_stacks.as_ref().filter(|_| !explains_all) else {
        return;
    };
    if let Some(finding) = finding(&stacks.common, stacks.stacks) {
        let is_named = |other: &Finding| {
            let below = other
                .seen_inside
                .iter()
                .flat_map(|inside| &inside.functions);
            other.function == finding.function
                || below.into_iter().any(|name| *name == finding.function)
        };
        if !profile.findings.iter().any(is_named) {
            profile.findings.insert(0, finding);
        }
    }
}

/// A finding without a share: nobody has timed it. It is of the deepest function of the path that has a name, below the interval's.
fn finding(common: &SlowPath, of_stacks: u64) -> Option<Finding> {
    let below = common.functions.get(1..)?;
    let is_named = |name: &&String| !name.starts_with("0x");
    let function = below.iter().rfind(is_named)?;
    let at = below.iter().rposition(|name| name == function)?;
    let called_by = below[..at].iter().rfind(is_named).cloned();
    let headline = match &called_by {
        Some(caller) => format!("{function} called by {caller}"),
        None => function.clone(),
    };
    Some(Finding {
        headline,
        function: function.clone(),
        called_by,
        kind: Kind::Call,
        seen_only: true,
        seen_inside: Some(SeenInside {
            functions: below[at..].to_vec(),
            stacks: common.stacks,
            intervals: common.intervals,
            of_stacks,
        }),
        paths: vec![common.functions.join(" > ")],
        ..Finding::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_function_with_a_name_is_found() {
        let path = |names: &[&str]| SlowPath {
            functions: names.iter().map(|name| (*name).to_owned()).collect(),
            stacks: 5,
            intervals: 2,
            share: 0.9,
        };
        let found = finding(
            &path(&["statement", "insert", "0x10", "cleanup", "0x20"]),
            6,
        )
        .unwrap();
        assert_eq!(found.headline, "cleanup called by insert");
        let inside = found.seen_inside.unwrap();
        assert_eq!((inside.stacks, inside.of_stacks), (5, 6));
        assert!(finding(&path(&["statement"]), 6).is_none());
        assert!(finding(&path(&[]), 6).is_none());
    }
}
