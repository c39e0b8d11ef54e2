//! Adds the evidence of slow intervals' stacks to the findings. Stacks show calls inside of a finding's function, or
//! become a separate finding where the profile does not explain them.

use crate::findings::Finding;
use crate::findings::call_path::{CallPath, Step};
use crate::findings::plumbing::is_plumbing;
use crate::profile::{Node, Profile};
use crate::sites::{Kind, is_unnamed};
use crate::slow::Evidence;
use crate::slow::holder;
use crate::slow::model::{SeenInside, SlowPath};
use crate::sums::parts::own_time_names;

/// Stacks that are evidence for the whole interval: one stall may be seen in several.
const STACKS_MIN: u64 = 5;
/// Most of the variance.
const MOST: f64 = 0.5;
/// Nearly all of a caller's variance.
const NEARLY_ALL: f64 = 0.9;

/// Adds it.
pub(super) fn add(profile: &mut Profile, slow: &Evidence, ticks_per_ns: f64) {
    profile.slow_stacks = slow.summary(ticks_per_ns);
    for finding in &mut profile.findings {
        finding.seen_inside = match slow.shows(&finding.function) {
            true => slow.inside(&finding.function),
            false => inside_of_caller(finding, &profile.tree, slow),
        };
    }
    add_inside_of_interval(profile);
    add_unexplained(profile);
}

/// A function that ends in a jump to another is on no stack. What stacks show inside of its caller is inside of it, if it
/// has nearly all of the caller's variance.
fn inside_of_caller(finding: &Finding, tree: &Node, slow: &Evidence) -> Option<SeenInside> {
    let path = finding.paths.first()?;
    let is = |node: &Node, step: &Step| {
        let place = step.site.as_ref().map(|site| &site.place);
        node.name == step.function && place.is_none_or(|place| *place == node.site)
    };
    let mut nodes = vec![tree];
    for step in path.0.iter().skip(1) {
        let mut below = nodes.last()?.children.iter();
        nodes.push(below.find(|node| is(node, step))?);
    }
    // Time without a processor is no call, and nothing is inside of it.
    let called = nodes.pop().filter(|node| node.probe.is_some())?;
    let callers = nodes.into_iter().rev();
    let mut callers = callers.take_while(|caller| called.share >= NEARLY_ALL * caller.share);
    let mut inside = callers.find_map(|caller| slow.inside(&caller.name))?;
    let is_above = |name: &String| path.0.iter().any(|step| step.function == *name);
    let above = inside.functions.iter().take_while(|name| is_above(name));
    inside.functions.drain(..above.count());
    (!inside.functions.is_empty()).then_some(inside)
}

/// Where calls of the interval itself are not expanded, what most slow intervals have in common is inside of it.
fn add_inside_of_interval(profile: &mut Profile) {
    let Some(stacks) = &profile.slow_stacks else {
        return;
    };
    let common = &stacks.common;
    let own = own_time_names(&profile.tree.name);
    let of_interval = profile
        .findings
        .iter_mut()
        .find(|finding| finding.kind == Kind::Body && own.contains(&finding.function));
    if let Some(finding) = of_interval
        && common.functions.len() > 1
        && common.stacks >= STACKS_MIN
    {
        finding.seen_inside = Some(SeenInside {
            functions: common.functions[1..].to_vec(),
            stacks: common.stacks,
            intervals: common.intervals,
            of_stacks: stacks.stacks,
        });
    }
}

/// Adds what stacks show and the findings do not explain. Either the profile is of other intervals, or it has too few
/// slow ones to attribute their time.
fn add_unexplained(profile: &mut Profile) {
    let Some(stacks) = &profile.slow_stacks else {
        return;
    };
    let part = profile.explains_a_part();
    let missing = part.map_or(0.0, |missing| missing.share);
    let shares = profile
        .findings
        .iter()
        .map(|finding| finding.share.max(0.0));
    let unexplained = 1.0 - (1.0 - missing) * shares.sum::<f64>().min(1.0);
    let is_evidence = unexplained > MOST && stacks.common.stacks >= STACKS_MIN;
    if part.is_none() && !is_evidence {
        return;
    }
    // What it may hold of all variance, and what the others do.
    let most = unexplained * stacks.common.share;
    let findings = profile.findings.iter();
    let larger = findings.take_while(|other| (1.0 - missing) * other.share >= most);
    let place = larger.count();
    if let Some(finding) = finding(&stacks.common, stacks.stacks) {
        let told = match unexplained > MOST {
            // The findings are of other intervals: what comes first has to be of the slow ones.
            true => place.max(1),
            false => usize::MAX,
        };
        let mut others = profile.findings.iter().take(told);
        if !others.any(|other| names(other, &finding.function)) {
            profile.findings.insert(place, finding);
        }
    }
}

/// Whether a finding is of a function, or says that it was seen inside of it.
fn names(finding: &Finding, function: &str) -> bool {
    let below = finding.seen_inside.iter();
    let mut below = below.flat_map(|inside| &inside.functions);
    finding.function == function || below.any(|name| name == function)
}

/// A finding without a share: nobody has timed it. It is of the deepest function of the path, below the interval's,
/// that has a name and does something for itself; else of the deepest that has a name.
fn finding(common: &SlowPath, of_stacks: u64) -> Option<Finding> {
    let whole = common.functions.get(1..)?;
    let (below, _) = holder::split(whole);
    let is_named = |name: &&String| !is_unnamed(name);
    let tells = |name: &&String| is_named(name) && !is_plumbing(name);
    let function = below.iter().rfind(tells);
    let function = function.or_else(|| below.iter().rfind(is_named))?;
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
            functions: whole[at..].to_vec(),
            stacks: common.stacks,
            intervals: common.intervals,
            of_stacks,
        }),
        paths: vec![CallPath(common.functions.iter().map(Step::of).collect())],
        ..Finding::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{NotSeenInside, Sampling};
    use crate::slow::SlowStack;
    use crate::slow::model::SlowStacks;

    /// The findings of a profile that represents `part` of the variance: wait has seven tenths of that, insert two.
    /// Stacks show this function inside of insert, for nine tenths of the time.
    fn findings_with(part: f64, seen: &str) -> Vec<String> {
        findings_of(part, [0.7, 0.2], seen, 0)
    }

    /// The same with these shares, and so many stacks.
    fn findings_of(part: f64, shares: [f64; 2], seen: &str, stacks: u64) -> Vec<String> {
        let named = |function: &str, share| Finding {
            function: function.to_owned(),
            share,
            ..Finding::default()
        };
        let mut insert = named("insert", shares[1]);
        insert.seen_inside = Some(SeenInside {
            functions: vec!["flush".to_owned()],
            ..SeenInside::default()
        });
        let sampling = Sampling {
            slow_not_seen_inside: NotSeenInside {
                share: 1.0 - part,
                ..NotSeenInside::default()
            },
            ..Sampling::default()
        };
        let common = SlowPath {
            functions: ["statement", "insert", seen].map(str::to_owned).to_vec(),
            share: 0.9,
            stacks,
            ..SlowPath::default()
        };
        let mut profile = Profile {
            findings: vec![named("wait", shares[0]), insert],
            sampling: Some(sampling),
            slow_stacks: Some(SlowStacks {
                common,
                ..SlowStacks::default()
            }),
            ..Profile::default()
        };
        add_unexplained(&mut profile);
        let findings = profile.findings.into_iter();
        let line = |finding: Finding| match finding.seen_only {
            true => format!("{} seen", finding.function),
            false => finding.function,
        };
        findings.map(line).collect()
    }

    #[test]
    fn what_slow_intervals_show_stands_where_its_part_of_the_variance_would() {
        let known = findings_with(0.7, "flush");
        assert_eq!(known, ["wait", "insert"], "insert says it");
        let of_others = findings_with(0.01, "flush");
        assert_eq!(of_others, ["flush seen", "wait", "insert"]);
        let half = findings_with(0.7, "parse");
        assert_eq!(half, ["wait", "parse seen", "insert"], "0.49, 0.33, 0.14");
    }

    #[test]
    fn where_too_few_slow_intervals_were_timed_their_stacks_come_first() {
        let found = |shares, stacks| findings_of(1.0, shares, "flush", stacks);
        assert_eq!(found([0.3, 0.1], 5), ["flush seen", "wait", "insert"]);
        assert_eq!(found([0.3, 0.1], 4), ["wait", "insert"], "too few stacks");
        assert_eq!(found([0.4, 0.2], 5), ["wait", "insert"], "explained");
    }

    #[test]
    fn what_is_not_expanded_of_the_interval_shows_what_stacks_have_in_common() {
        let inside = |stacks| {
            let mut profile = Profile {
                findings: vec![Finding {
                    function: "recv..write (not expanded)".to_owned(),
                    kind: Kind::Body,
                    ..Finding::default()
                }],
                slow_stacks: Some(SlowStacks {
                    stacks: 8,
                    common: SlowPath {
                        functions: ["serve", "run", "compute"].map(str::to_owned).to_vec(),
                        stacks,
                        ..SlowPath::default()
                    },
                    ..SlowStacks::default()
                }),
                ..Profile::default()
            };
            profile.tree.name = "recv..write".to_owned();
            add_inside_of_interval(&mut profile);
            profile.findings.swap_remove(0).seen_inside
        };
        let seen = inside(5).unwrap();
        assert_eq!(seen.functions, ["run", "compute"]);
        assert_eq!((seen.stacks, seen.of_stacks), (5, 8));
        assert_eq!(inside(4), None);
    }

    /// scan has jumped on to next. Two stacks show what next does; scan has this share of the variance, and fetch all.
    fn inside_of_scan(share: f64, probe: Option<u32>) -> Option<Vec<String>> {
        let mut slow = Evidence::default();
        let stack = SlowStack {
            functions: ["run", "fetch", "next", "lock"].map(str::to_owned).to_vec(),
            age: 10,
            unseen: 10,
            ..SlowStack::default()
        };
        slow.add(&stack, 1.0);
        let node = |name: &str, share, children| Node {
            name: name.to_owned(),
            share,
            children,
            ..Node::default()
        };
        let scan = Node {
            probe,
            ..node("scan", share, Vec::new())
        };
        let tree = node("run", 1.0, vec![node("fetch", 1.0, vec![scan])]);
        let path = ["run", "fetch", "scan"].map(Step::of);
        let finding = Finding {
            function: "scan".to_owned(),
            paths: vec![CallPath(path.to_vec())],
            ..Finding::default()
        };
        inside_of_caller(&finding, &tree, &slow).map(|inside| inside.functions)
    }

    #[test]
    fn what_a_function_has_jumped_to_is_inside_of_it() {
        let inside = ["next", "lock"].map(str::to_owned).to_vec();
        assert_eq!(inside_of_scan(0.95, Some(7)), Some(inside));
        assert_eq!(
            inside_of_scan(0.8, Some(7)),
            None,
            "fetch calls others, too"
        );
        assert_eq!(inside_of_scan(0.95, None), None, "it is no call");
    }

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
        let of = |names: &[&str]| finding(&path(names), 6).unwrap().headline;
        let waits = of(&[
            "request",
            "page_in",
            "load",
            "read",
            "(a function of libc.so.6)",
        ]);
        assert_eq!(waits, "load called by page_in");
        let unknown = of(&["request", "save", "(a function of server)"]);
        assert_eq!(unknown, "save");
        assert_eq!(of(&["request", "read"]), "read");
        let held = ["request", "save", "flock", "held by cron", "pid 7"];
        assert_eq!(
            of(&held),
            "flock called by save",
            "a process is no function"
        );
        assert!(finding(&path(&["statement"]), 6).is_none());
        assert!(finding(&path(&[]), 6).is_none());
    }
}
