//! Where a pattern may know a finding that it does not know by its function. The search went deeper than the pattern, into the functions
//! that the known one calls; or not as deep, and stacks or another round show the known one inside.

use evenkeel_analysis::findings::Finding;
use evenkeel_analysis::findings::call_path::{CallPath, Step};
use evenkeel_analysis::findings::plumbing::base;
use evenkeel_analysis::sites::{self, Kind};
use evenkeel_analysis::slow::model::SeenInside;

/// Smallest number of stacks that say for sure what is inside of a finding. They have most of the time that is seen in it.
const STACKS_MIN: u64 = 5;

/// The finding as it would be if another function on its path explained it: those inside of it, the deepest first, then its callers, the
/// nearest first.
pub(super) fn others(finding: &Finding) -> impl Iterator<Item = Finding> {
    let inside = inside(finding).into_iter().enumerate().rev();
    let inside = inside.map(|(at, (function, called_by))| Finding {
        function,
        called_by,
        paths: paths_to_inside(finding, at),
        ..finding.clone()
    });
    let callers = callers(finding).into_iter();
    inside.chain(callers.map(|(function, called_by)| Finding {
        function,
        called_by,
        ..finding.clone()
    }))
}

/// Those of them that have most of its time for sure. Where a function without a name has that, nobody knows what it is, unless others
/// are known inside of it: what the callers mostly do says nothing.
pub(super) fn others_for_sure(finding: &Finding) -> Vec<Finding> {
    let mut others: Vec<Finding> = others(finding).collect();
    let unnamed = finding.unnamed.as_ref();
    if let Some(unnamed) = unnamed.filter(|unnamed| sites::is_unnamed(&unnamed.function)) {
        let at = others.iter().position(|it| it.function == unnamed.function);
        others.truncate(at.unwrap_or(0));
    }
    others
}

/// The finding's paths, with the functions inside of it up to one of them.
fn paths_to_inside(finding: &Finding, at: usize) -> Vec<CallPath> {
    let inside: Vec<Step> = inside(finding)
        .into_iter()
        .map(|(name, _)| Step::of(name))
        .collect();
    let whole = |path: &CallPath| CallPath([&path.0[..], &inside[..=at]].concat());
    finding.paths.iter().map(whole).collect()
}

/// The functions inside of it, with their callers, outermost first.
fn inside(finding: &Finding) -> Vec<(String, Option<String>)> {
    let is_sure = |seen: &&SeenInside| seen.stacks >= STACKS_MIN;
    let seen = finding.seen_inside.as_ref().filter(is_sure);
    let timed = finding.timed_inside.as_ref();
    let functions = match (seen, timed) {
        (Some(seen), _) => &seen.functions,
        (None, Some(timed)) => &timed.functions,
        (None, None) => return Vec::new(),
    };
    let callers = [&finding.function].into_iter().chain(functions);
    let callers = callers.map(|caller| Some(caller.clone()));
    functions.iter().cloned().zip(callers).collect()
}

/// The functions that have called it on each of its paths, nearest first. What another thread did, and time without a processor, is not
/// the callers' own.
fn callers(finding: &Finding) -> Vec<(String, Option<String>)> {
    let is_of_callers = matches!(
        finding.kind,
        Kind::Call
            | Kind::Lock
            | Kind::Io
            | Kind::Event
            | Kind::Socket
            | Kind::Timer
            | Kind::Body
            | Kind::NotOpened
    );
    let mut paths = finding.paths.iter().map(steps);
    let Some(first) = paths.next().filter(|_| is_of_callers) else {
        return Vec::new();
    };
    let others: Vec<Vec<&str>> = paths.collect();
    let is_common = |step: &&str| others.iter().all(|other| other.contains(step));
    let callers = first.iter().rev().skip(1);
    let callers = callers.copied().filter(is_common);
    callers.map(|caller| (caller.to_owned(), None)).collect()
}

/// Whether each of the finding's paths has one of these functions, or a function without a name in one of these libraries.
/// It may be a step, have a step's call, or be inside of the finding for sure. And whether it is nearer to the innermost
/// function there than any of the others is.
pub(super) fn is_within(finding: &Finding, functions: &[String], others: &[String]) -> bool {
    let inside = inside(finding);
    let is_nearest = |path: &CallPath| {
        let below = path.0.iter().skip(1);
        let steps = below.flat_map(|step| {
            let caller = step.site.as_ref().map(|site| &site.caller);
            caller.into_iter().chain([&step.function])
        });
        let names: Vec<&str> = steps
            .chain(inside.iter().map(|(name, _)| name))
            .flat_map(|name| [library(name), Some(base(name))])
            .flatten()
            .collect();
        let last = |of: &[String]| {
            names
                .iter()
                .rposition(|name| of.iter().any(|one| one == name))
        };
        last(functions) > last(others)
    };
    match finding.paths.is_empty() {
        true => is_nearest(&CallPath(Vec::new())),
        false => finding.paths.iter().all(is_nearest),
    }
}

/// `library.so` of `library.so!0x41f0`: all that is known of a function without a name.
fn library(name: &str) -> Option<&str> {
    Some(name.split_once('!')?.0)
}

/// The functions of a path, outermost first, without the interval.
fn steps(path: &CallPath) -> Vec<&str> {
    let below = path.0.iter().skip(1);
    below.map(|step| step.function.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(finding: &Finding) -> Vec<String> {
        others(finding).map(|other| other.function).collect()
    }

    #[test]
    fn inside_first_and_then_callers() {
        let finding = Finding {
            function: "insert".to_owned(),
            paths: vec![
                "statement > run [a+0x1] > cleanup [b+0x2] > insert [c+0x3]".into(),
                "statement > start > cleanup > insert".into(),
            ],
            seen_inside: Some(SeenInside {
                functions: vec!["find".to_owned(), "lock".to_owned()],
                stacks: 5,
                of_stacks: 10,
                ..SeenInside::default()
            }),
            ..Finding::default()
        };
        assert_eq!(names(&finding), ["lock", "find", "cleanup"]);
        let callers: Vec<_> = others(&finding).map(|other| other.called_by).collect();
        assert_eq!(callers[0].as_deref(), Some("find"));
        let mut few = finding.clone();
        few.seen_inside.as_mut().unwrap().stacks = 4;
        assert_eq!(names(&few), ["cleanup"]);
    }

    #[test]
    fn within_is_on_every_path() {
        let finding = Finding {
            paths: ["a > ~check [0x1] > scan", "a > check(int) > read > scan"]
                .map(CallPath::from)
                .to_vec(),
            ..Finding::default()
        };
        let within = |name: &str| is_within(&finding, &[name.to_owned()], &[]);
        assert!(within("check") && within("scan"));
        assert!(!within("read") && !within("a"));
        assert!(!is_within(&Finding::default(), &["check".to_owned()], &[]));
        let called = Finding {
            paths: vec!["a > run > (indirect) [table::count(int)+0x1f] > wait".into()],
            ..Finding::default()
        };
        assert!(is_within(&called, &["table::count".to_owned()], &[]));
        let shown = Finding {
            paths: vec!["a > run".into()],
            seen_inside: Some(SeenInside {
                functions: vec!["check".to_owned(), "scan".to_owned()],
                stacks: 5,
                of_stacks: 5,
                ..SeenInside::default()
            }),
            ..Finding::default()
        };
        let scan = others(&shown).next().unwrap();
        assert!(scan.function == "scan" && is_within(&scan, &["check".to_owned()], &[]));
        assert!(
            is_within(&shown, &["scan".to_owned()], &[]),
            "inside of it for sure"
        );
    }

    /// All that is known of a stripped module's function is its file.
    #[test]
    fn a_function_without_a_name_is_its_librarys() {
        let of = |path: &str| Finding {
            paths: vec![path.into()],
            ..Finding::default()
        };
        let within = |path| is_within(&of(path), &["mod_a.so".to_owned()], &[]);
        assert!(within("request > run > mod_a.so!0x41f0 [run+0x3e] > read"));
        assert!(!within("request > run > mod_b.so!0x41f0 > read"));
    }

    #[test]
    fn the_nearest_counts_where_a_pattern_says_so() {
        let (index, table) = (["index".to_owned()], ["table".to_owned()]);
        let of = |path: &str| Finding {
            paths: vec![path.into()],
            ..Finding::default()
        };
        for (path, nearest) in [
            ("a > index > scan", true),
            ("a > index > table > scan", false),
            ("a > table > index > scan", true),
            ("a > scan", false),
        ] {
            assert_eq!(is_within(&of(path), &index, &table), nearest, "{path}");
        }
    }

    #[test]
    fn time_without_a_processor_is_not_the_callers() {
        let finding = Finding {
            function: "runnable".to_owned(),
            kind: Kind::Preempted,
            paths: vec!["statement > plan > runnable".into()],
            ..Finding::default()
        };
        assert!(names(&finding).is_empty());
    }
}
