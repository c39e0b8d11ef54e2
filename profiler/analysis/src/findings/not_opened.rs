//! Own code, and what is not known to be (`variance.md`, section 3).
//!
//! What a function spends outside of its timed calls is its own code only if every call in it that runs is timed. Where some are not,
//! because they cost too much, had to make room or cannot be redirected, that time is *not opened*: [`separate`] says so
//! in every place of a profile in which it stood as own code.

use std::collections::BTreeSet;

use crate::profile::{Node, Profile, Unpatched};
use crate::sites::Kind;

/// What a function's own code is called.
const BODY: &str = "body of ";
/// What follows the name of a function of which not all calls are timed.
const NOT_OPENED: &str = " (not opened)";

/// A call through a pointer. It has no code of its own: what is in none of the functions that it was found to call is in others.
const POINTER: &str = "(indirect)";

/// Functions of which not all calls are timed.
#[derive(Clone, Debug, Default)]
pub struct NotOpened {
    functions: BTreeSet<String>,
}

impl NotOpened {
    /// By the calls that could not be timed.
    pub fn of(unpatched: &[Unpatched]) -> NotOpened {
        let hidden = unpatched.iter().filter(|site| site.hides_time);
        NotOpened {
            functions: hidden
                .filter_map(|site| Some(caller(&site.site)?.to_owned()))
                .collect(),
        }
    }

    /// Whether a function's own time, by its name, is not known to be its own.
    pub fn is(&self, name: &str) -> bool {
        let function = name.strip_prefix(BODY).map(without_library);
        function.is_some_and(|function| {
            function.starts_with(POINTER) || self.functions.contains(function)
        })
    }
}

/// What such time is called, instead of `body of f`.
pub fn renamed(name: &str) -> String {
    let function = name.strip_prefix(BODY).unwrap_or(name);
    format!("{function}{NOT_OPENED}")
}

/// Renames what stands as own code of functions that have calls in [`Profile::unpatched`] whose time it holds.
pub fn separate(profile: &mut Profile) {
    let not_opened = NotOpened::of(&profile.unpatched);
    let mut functions = not_opened.functions.clone();
    functions.insert(POINTER.to_owned());
    // The interval's own function may be named with its library.
    let root = &profile.tree.name;
    if functions.contains(without_library(root)) {
        functions.insert(root.clone());
    }
    let is_own = |name: &str| not_opened.is(name);
    // Names of C++ functions have " > " in them, too.
    let path = |path: &mut String| {
        let is_last = |function: &&String| {
            let before = path.strip_suffix(function.as_str());
            before.is_some_and(|before| before.ends_with(&format!(" > {BODY}")))
        };
        if let Some(function) = functions.iter().find(is_last) {
            path.truncate(path.len() - BODY.len() - function.len());
            path.push_str(&format!("{function}{NOT_OPENED}"));
        }
        // Of two parts of one function: `root > f [f+0x10] > {body of f, g [f+0x2f]}`.
        if path.ends_with('}') {
            for function in &functions {
                for (before, behind) in [("{", ", "), (", ", "}")] {
                    let own = format!("{before}{BODY}{function}{behind}");
                    let renamed = format!("{before}{function}{NOT_OPENED}{behind}");
                    *path = path.replace(&own, &renamed);
                }
            }
        }
    };
    rename(&mut profile.tree, &|node| {
        if node.kind == Kind::Body && is_own(&node.name) {
            node.name = renamed(&node.name);
            node.kind = Kind::NotOpened;
        }
    });
    for factor in &mut profile.factors {
        let own = factor.functions.iter_mut().filter(|name| is_own(name));
        let mut some = false;
        for name in own {
            *name = renamed(name);
            some = true;
        }
        if some && factor.what == Kind::Body {
            factor.what = Kind::NotOpened;
        }
        factor.paths.iter_mut().for_each(path);
    }
    for seen in &mut profile.seen_elsewhere {
        path(&mut seen.path);
    }
    for unseen in profile.unseen.iter_mut().flatten() {
        if is_own(&unseen.name) {
            unseen.name = renamed(&unseen.name);
        }
    }
    for class in &mut profile.classes.classes {
        class.top.iter_mut().for_each(|top| path(&mut top.path));
    }
    let spans = profile.timelines.iter_mut();
    for span in spans.flat_map(|timeline| &mut timeline.spans) {
        path(&mut span.path);
        if span.kind == Kind::Body && is_own(&span.name) {
            span.name = renamed(&span.name);
            span.kind = Kind::NotOpened;
        }
    }
}

fn rename(node: &mut Node, change: &impl Fn(&mut Node)) {
    change(node);
    node.children
        .iter_mut()
        .for_each(|child| rename(child, change));
}

/// The function that a site, `caller+0x1f` or `library.so!caller-0x1f`, lies in; the callee may stand before it, as `callee at ..`. Of a hook
/// at a function's entry, `.. called by caller`.
fn caller(site: &str) -> Option<&str> {
    if let Some((_, function)) = site.rsplit_once(" called by ") {
        return Some(without_library(function));
    }
    let site = site.rsplit_once(" at ").map_or(site, |(_, site)| site);
    let end = site.rfind("+0x").or_else(|| site.rfind("-0x"))?;
    Some(without_library(&site[..end]))
}

/// A function's name without that of its library, `library.so!`.
fn without_library(name: &str) -> &str {
    match name.split_once('!') {
        Some((library, rest)) if library.contains(".so") => rest,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Factor, Unseen};

    fn body(name: &str) -> Node {
        Node {
            name: format!("body of {name}"),
            kind: Kind::Body,
            ..Node::default()
        }
    }

    fn with(site: &str, hides_time: bool) -> Profile {
        let mut profile = Profile::default();
        profile.tree.children = vec![body("work"), body("operator!=(int)")];
        profile.factors = vec![Factor {
            functions: vec!["body of work".to_owned()],
            paths: vec!["root > work [root+0x1] > body of work".to_owned()],
            what: Kind::Body,
            ..Factor::default()
        }];
        profile.unpatched = vec![Unpatched {
            site: site.to_owned(),
            reason: String::new(),
            hides_time,
        }];
        profile.unseen = Some(vec![Unseen {
            name: "body of work".to_owned(),
            ..Unseen::default()
        }]);
        separate(&mut profile);
        profile
    }

    #[test]
    fn calls_that_are_not_timed_make_the_time_not_opened() {
        for site in [
            "work+0x10",
            "libwork.so.1!work-0x10",
            "memcpy at work+0x10",
            "entry of memcpy called by work",
        ] {
            let profile = with(site, true);
            assert_eq!(profile.tree.children[0].kind, Kind::NotOpened);
            assert_eq!(profile.tree.children[0].name, "work (not opened)");
            assert_eq!(profile.tree.children[1].kind, Kind::Body);
            let factor = &profile.factors[0];
            assert_eq!(factor.functions, ["work (not opened)"]);
            assert_eq!(factor.paths, ["root > work [root+0x1] > work (not opened)"]);
            assert_eq!(factor.what, Kind::NotOpened);
            assert_eq!(profile.unseen.unwrap()[0].name, "work (not opened)");
        }
    }

    #[test]
    fn paths_through_templates_are_whole() {
        let mut profile = Profile::default();
        let name = "get(std::vector<std::pair<int, int> > const&)";
        profile.factors = vec![Factor {
            functions: vec![format!("body of {name}")],
            paths: vec![format!("root > {name} [root+0x1] > body of {name}")],
            ..Factor::default()
        }];
        profile.unpatched = vec![Unpatched {
            site: format!("{name}+0x10"),
            reason: String::new(),
            hides_time: true,
        }];
        separate(&mut profile);
        let path = format!("root > {name} [root+0x1] > {name} (not opened)");
        assert_eq!(profile.factors[0].paths, [path]);
    }

    #[test]
    fn a_call_through_a_pointer_has_no_code_of_its_own() {
        let mut profile = Profile::default();
        profile.tree.children = vec![body("(indirect)")];
        profile.factors = vec![Factor {
            functions: vec!["body of (indirect) at work+0x1".to_owned()],
            paths: vec!["root > (indirect) [work+0x1] > body of (indirect)".to_owned()],
            what: Kind::Body,
            ..Factor::default()
        }];
        separate(&mut profile);
        let own = &profile.tree.children[0];
        assert_eq!(
            (own.name.as_str(), own.kind),
            ("(indirect) (not opened)", Kind::NotOpened)
        );
        let factor = &profile.factors[0];
        assert_eq!(factor.functions, ["(indirect) at work+0x1 (not opened)"]);
        let path = "root > (indirect) [work+0x1] > (indirect) (not opened)";
        assert_eq!(factor.paths, [path]);
    }

    #[test]
    fn the_interval_may_be_named_with_its_library() {
        let mut profile = Profile::default();
        let root = "libruby-3.1.so.3.1!rb_yield";
        profile.tree.name = root.to_owned();
        profile.tree.children = vec![body(root)];
        profile.factors = vec![Factor {
            functions: vec![format!("body of {root}")],
            paths: vec![format!("{root} > body of {root}")],
            what: Kind::Body,
            ..Factor::default()
        }];
        profile.unpatched = vec![Unpatched {
            site: format!("0x2572c0 at {root}+0x73"),
            reason: String::new(),
            hides_time: true,
        }];
        separate(&mut profile);
        let renamed = format!("{root} (not opened)");
        assert_eq!(profile.tree.children[0].name, renamed);
        assert_eq!(profile.factors[0].functions, [renamed.as_str()]);
        assert_eq!(profile.factors[0].paths, [format!("{root} > {renamed}")]);
    }

    #[test]
    fn names_with_an_exclamation_mark_are_whole() {
        let profile = with("operator!=(int)+0x10", true);
        assert_eq!(profile.tree.children[1].kind, Kind::NotOpened);
    }

    #[test]
    fn calls_that_take_no_time_of_their_own_change_nothing() {
        assert_eq!(with("work+0x10", false).tree.children[0].kind, Kind::Body);
        assert_eq!(with("other+0x10", true).tree.children[0].kind, Kind::Body);
    }
}
