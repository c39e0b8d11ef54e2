//! Experiments that profile a server under load, by `evenkeel profile`: the papers' sources of variance.

pub mod servers;
pub mod trees;

use std::time::Duration;

use evenkeel_analysis::profile::{FactorKind, Node, Profile};

use crate::Error;
use crate::command::{words, written};
use crate::experiment::Context;
use crate::verdict::Claim;

/// A function of the paper's table, and what it is called here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    /// As the paper names it.
    pub(crate) paper: &'static str,
    /// Share of the variance it gives, 0 to 1.
    pub(crate) share: f64,
    /// What does the same in this version of the server; the one that explains most counts.
    pub(crate) here: &'static [&'static str],
}

/// The profile that a command writes to `@`, or why there is none.
pub(crate) fn profiled(
    context: &Context<'_>,
    command: &str,
) -> Result<Result<Profile, String>, Error> {
    let length_s: u64 = context.pick(40, 180);
    let mut words = words(command);
    words.extend(["--for".to_owned(), format!("{length_s}s")]);
    let expected = Duration::from_secs(length_s * 6 / 5 + 20);
    let answer = written(context, &words, expected)?;
    Ok(answer.and_then(|json| {
        let profile: Profile = serde_json::from_value(json).map_err(|error| error.to_string())?;
        if profile.intervals == 0 {
            return Err("no interval was recorded".to_owned());
        }
        Ok(profile)
    }))
}

/// The claim on a function: its share of the variance.
pub(crate) fn claim(profile: &Profile, source: &Source) -> Claim {
    let shares = source.here.iter().map(|name| (*name, share(profile, name)));
    let (name, (found, se)) = shares
        .max_by(|(_, (one, _)), (_, (other, _))| one.total_cmp(other))
        .unwrap_or(("nothing", (0.0, 0.0)));
    let what = if name == source.paper {
        name.to_owned()
    } else {
        format!("{} (here {name})", source.paper)
    };
    Claim::share(
        what,
        source.share,
        found,
        [found - 2.0 * se, found + 2.0 * se],
    )
}

/// Share of the variance of the time in calls of a function, and its standard error: that of the factor, or of the outermost nodes where it
/// is none.
fn share(profile: &Profile, function: &str) -> (f64, f64) {
    let of_factors = profile.factors.iter().filter(|factor| {
        factor.kind == FactorKind::Variance && factor.functions == [function.to_owned()]
    });
    let (sum, squares, count) = of_factors.fold((0.0, 0.0, 0), |(sum, squares, count), factor| {
        (
            sum + factor.contribution,
            squares + factor.se * factor.se,
            count + 1,
        )
    });
    if count > 0 {
        return (sum, f64::sqrt(squares));
    }
    let (mut sum, mut squares) = (0.0, 0.0);
    outermost(&profile.tree, function, &mut |node| {
        sum += node.share;
        squares += node.se * node.se;
    });
    (sum, f64::sqrt(squares))
}

fn outermost(node: &Node, function: &str, visit: &mut impl FnMut(&Node)) {
    if node.name == function {
        visit(node);
    } else {
        node.children
            .iter()
            .for_each(|child| outermost(child, function, visit));
    }
}

/// What the profile says first, for a reader of the shares.
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
    use crate::verdict::Verdict;

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
            node("wait", 0.3, vec![inner.clone()]),
            node("commit", 0.4, vec![inner]),
        ];
        let profile = Profile {
            tree: node("statement", 1.0, tree),
            ..Profile::default()
        };
        assert_eq!(share(&profile, "wait").0, 0.5);
        assert_eq!(share(&profile, "flush"), (0.0, 0.0));
        let source = Source {
            paper: "os_event_wait",
            share: 0.592,
            here: &["flush", "wait"],
        };
        let claim = claim(&profile, &source);
        assert_eq!(claim.what, "os_event_wait (here wait)");
        assert_eq!(claim.verdict, Verdict::Agrees);
    }
}
