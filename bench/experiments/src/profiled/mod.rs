//! Experiments that profile a server under load: the papers' sources of variance. It is attached to when its load is measured, so that
//! neither the loading of data nor the warm-up is in the profile (`evenkeel bench --profile`).

pub mod apache;
pub mod naive;
pub mod overhead;
pub mod servers;
pub mod trees;
pub mod voltdb;

use std::time::Duration;

use evenkeel_analysis::profile::{Node, Profile};
use serde_json::Value;

use crate::Error;
use crate::command::{line, words, written};
use crate::experiment::{Context, Effort, Finding};
use crate::verdict::{Claim, Verdict};

/// A function of the paper's table, and its name here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    /// As the paper names it.
    pub(crate) paper: &'static str,
    /// Share of the variance it gives, 0 to 1.
    pub(crate) share: f64,
    /// Functions with the same role in this version of the server; the one that explains most counts.
    pub(crate) here: &'static [&'static str],
}

/// Duration of a profile, s: half of it is the search, half is reported (a round of known length).
fn length_s(effort: Effort) -> u64 {
    effort.pick(30, 180)
}

/// Duration with setting up the server, loading its data and attaching to it.
fn taken(effort: Effort) -> Duration {
    let length_s = length_s(effort);
    Duration::from_secs(length_s * 6 / 5 + 20)
}

/// The profile that a command writes to `@`, with the command, or the reason why there is none.
pub(crate) fn profiled(
    context: &Context<'_>,
    command: &str,
) -> Result<Result<(String, Profile), String>, Error> {
    let mut words = words(command);
    words.extend(["--for".to_owned(), format!("{}s", length_s(context.effort))]);
    let answer = written(context, &words, taken(context.effort))?;
    let command = line(&words).replace('@', "profile.json");
    Ok(answer.and_then(|json| Ok((command, parsed(json)?))))
}

/// The profile that a file holds, if there is something in it.
fn parsed(json: Value) -> Result<Profile, String> {
    let profile: Profile = serde_json::from_value(json).map_err(|error| error.to_string())?;
    if profile.intervals == 0 {
        return Err("no interval was recorded".to_owned());
    }
    Ok(profile)
}

/// The shares of the paper's functions in a profile, with remarks.
pub(crate) fn found(profile: &Profile, sources: &[Source]) -> Finding {
    let mut lacking = Vec::new();
    let mut claims = Vec::new();
    for source in sources {
        match claim(profile, source) {
            Some(claim) => claims.push(claim),
            None => lacking.push(source.paper),
        }
    }
    let is_whole = lacking.is_empty();
    let lacking = if is_whole {
        String::new()
    } else {
        let functions = lacking.join(", ");
        format!(
            " Not in its tree (not called, too small to be expanded, or without a name in this build): {functions}."
        )
    };
    Finding {
        verdict_without: match (claims.is_empty(), is_whole) {
            (true, _) => Some(Verdict::CannotTell),
            // What was found may agree; what was not does not.
            (false, false) => claims
                .iter()
                .map(|claim| claim.verdict)
                .chain([Verdict::Direction])
                .max(),
            (false, true) => None,
        },
        claims,
        why: findings(profile) + &lacking,
        numbers: trees::numbers(profile),
        ..Finding::default()
    }
}

/// The claim on a function: its share of the variance, `Cov(x, L) / Var(L)`, which unlike the paper's `Var(x) / Var(L)` adds up over a tree.
/// None where it is not in the tree.
fn claim(profile: &Profile, source: &Source) -> Option<Claim> {
    let shares = source
        .here
        .iter()
        .filter_map(|name| Some((*name, share(profile, name)?)));
    let (name, (found, se)) =
        shares.max_by(|(_, (one, _)), (_, (other, _))| one.total_cmp(other))?;
    let what = if name == source.paper {
        name.to_owned()
    } else {
        format!("{} (here {name})", source.paper)
    };
    let interval = [found - 2.0 * se, found + 2.0 * se];
    Some(Claim::share(what, source.share, found, interval))
}

/// Share of the variance of the time in calls of a function, over its outermost nodes, and its standard error. Errors add up, as if all
/// nodes erred together.
fn share(profile: &Profile, function: &str) -> Option<(f64, f64)> {
    let mut found: Option<(f64, f64)> = None;
    outermost(&profile.tree, function, &mut |node| {
        let (share, se) = found.unwrap_or_default();
        found = Some((share + node.share, se + node.se));
    });
    found
}

fn outermost(node: &Node, function: &str, visit: &mut impl FnMut(&Node)) {
    if is_named(node, function) {
        visit(node);
    } else {
        node.children
            .iter()
            .for_each(|child| outermost(child, function, visit));
    }
}

/// Names of functions without symbols are inferred, and begin with `~`; those of C++ have parameters.
fn is_named(node: &Node, function: &str) -> bool {
    let name = node.name.trim_start_matches('~');
    name.split_once('(').map_or(name, |(name, _)| name) == function
}

/// The profile's first lines, for a reader of the shares.
pub(crate) fn findings(profile: &Profile) -> String {
    let first: Vec<String> = profile
        .findings
        .iter()
        .take(3)
        .map(|finding| {
            format!(
                "{} {:.1} % ±{:.1}",
                finding.headline,
                100.0 * finding.share,
                100.0 * finding.se
            )
        })
        .collect();
    format!(
        "The profile's findings, on {} of {} intervals: {}.",
        profile.intervals,
        profile.intervals_seen,
        if first.is_empty() {
            "none".to_owned()
        } else {
            first.join("; ")
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, share: f64, children: Vec<Node>) -> Node {
        Node {
            name: name.to_owned(),
            share,
            se: 0.01,
            children,
            ..Node::default()
        }
    }

    #[test]
    fn a_function_is_counted_once_on_each_path() {
        let inner = node("wait", 0.2, Vec::new());
        let tree = vec![
            node("~wait(THD*)", 0.3, vec![inner.clone()]),
            node("commit", 0.4, vec![inner]),
        ];
        let profile = Profile {
            tree: node("statement", 1.0, tree),
            ..Profile::default()
        };
        assert_eq!(share(&profile, "wait"), Some((0.5, 0.02)));
        assert_eq!(share(&profile, "flush"), None);
        let source = Source {
            paper: "os_event_wait",
            share: 0.592,
            here: &["flush", "wait"],
        };
        let absent = Source {
            paper: "fil_flush",
            here: &["flush"],
            ..source
        };
        let finding = found(&profile, &[source, absent]);
        let [claim] = &finding.claims[..] else {
            panic!("{finding:?}")
        };
        assert_eq!(claim.what, "os_event_wait (here wait)");
        assert_eq!(claim.verdict, Verdict::Agrees);
        assert_eq!(finding.verdict(), Verdict::Direction);
        assert!(
            finding.why.ends_with("this build): fil_flush."),
            "{}",
            finding.why
        );
    }
}
