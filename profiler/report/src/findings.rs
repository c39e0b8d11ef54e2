//! Findings in plain words.

use evenkeel_analysis::OUTSIDE;
use evenkeel_analysis::findings::{FindingClass, GivesUp, Holder};
use evenkeel_analysis::profile::{Finding, Profile, SLOW_ENOUGH, Trade};
use evenkeel_analysis::sites::INDIRECT;
use evenkeel_analysis::slow::holder;

use crate::advice::OF_CLASSES_MIN;
use crate::{fit, names, units};

/// Classes and holders named in a sentence.
const NAMED_MAX: usize = 3;
/// Columns of a class's or function's name in a sentence.
const NAME_WIDTH: usize = 40;
/// Columns of a path in a sentence.
const PATH_WIDTH: usize = 120;
/// A smaller part is not worth a name.
const PART_MIN: f64 = 0.02;

/// A finding in sentences: its meaning, its time and calls, its classes of intervals, and the holders that it waits
/// for.
pub fn sentences(profile: &Profile, finding: &Finding, tail: &str) -> Vec<String> {
    let mut out: Vec<String> = finding
        .means
        .iter()
        .map(|means| format!("{means}."))
        .collect();
    if finding.seen_only {
        out.extend(seen_only(finding));
        return out;
    }
    out.push(amount(finding, tail));
    out.extend(classes(profile, finding));
    out.extend(waits(finding));
    out.extend(unnamed_threads(profile, finding));
    out.extend(timed_inside(finding));
    out.extend(seen_inside(finding));
    out.extend(unnamed(finding));
    if finding.share < 0.0 {
        out.push("It evens the latency out: it takes less time where the rest takes more.".into());
    }
    out.extend(factors(profile, finding));
    out
}

fn amount(finding: &Finding, tail: &str) -> String {
    let mut text = format!(
        "{} an interval on average",
        units::duration(finding.mean_ns)
    );
    let each = finding.mean_ns / finding.calls_mean;
    if (finding.calls_mean - 1.0).abs() > 0.005 && each.is_finite() {
        text += &format!(
            ": {} calls of {} each",
            frequency(finding.calls_mean),
            units::duration(each)
        );
    }
    if let Some(part) = finding.tail_share.get(tail) {
        let slowest = units::tail(tail);
        text += &format!(
            "; {} of the tail (excess of the {slowest})",
            units::whole_percent(*part)
        );
    }
    text + "."
}

/// A mean number of calls that says something where it is small, too.
fn frequency(mean: f64) -> String {
    if mean >= 0.01 {
        return units::calls(mean);
    }
    format!("{mean:.1e}")
}

/// The classes that have the finding's time, and how much an interval of each. One that causes the finding comes first,
/// however little of the time it has.
fn classes(profile: &Profile, finding: &Finding) -> Option<String> {
    let causes = |class: &&FindingClass| {
        finding.share > 0.0 && class.share >= OF_CLASSES_MIN * finding.share
    };
    let (first, others): (Vec<_>, Vec<_>) = finding.classes.iter().partition(causes);
    let others = others.into_iter().filter(|class| class.of_time >= PART_MIN);
    let named: Vec<String> = first
        .into_iter()
        .chain(others)
        .take(NAMED_MAX)
        .enumerate()
        .map(|(at, class)| {
            format!(
                "{} {} ({}{})",
                quoted(&class.name),
                units::whole_percent(class.of_time),
                units::duration(class.mean_ns),
                if at == 0 { " an interval" } else { "" }
            )
        })
        .collect();
    // With one class there is nothing to tell apart.
    (profile.classes.classes.len() > 1 && !named.is_empty())
        .then(|| format!("By class: {}.", named.join(", ")))
}

fn unnamed(finding: &Finding) -> Option<String> {
    let unnamed = finding.unnamed.as_ref()?;
    let part = units::whole_percent(unnamed.of_time);
    let function = &unnamed.function;
    Some(match function.strip_prefix(INDIRECT) {
        Some(at) => format!(
            "{part} of its time is in calls through a pointer{at}: whom they call was not timed."
        ),
        None => format!(
            "{part} of its time is in {function}, a function without a name: install the debug symbols of its file."
        ),
    })
}

fn waits(finding: &Finding) -> Option<String> {
    let listed = finding
        .waits_for
        .iter()
        .filter(|holder| holder.of_time >= PART_MIN);
    let named: Vec<String> = listed
        .take(NAMED_MAX)
        .map(|holder| {
            let part = units::whole_percent(holder.of_time);
            match &holder.function {
                Some(function) => {
                    let place = place(function, holder.is_state);
                    format!("{} {part} ({place})", served(holder))
                }
                None => format!("{} {part}", served(holder)),
            }
        })
        .collect();
    if named.is_empty() {
        return None;
    }
    let mut text = format!("Of its time it waits for {}", named.join(", "));
    if let Some(meanwhile) = &finding.meanwhile {
        text += &format!(
            "; {} of that: {}",
            units::whole_percent(meanwhile.of_time),
            place(&meanwhile.function, meanwhile.is_state)
        );
        if let Some(wait) = &meanwhile.wait {
            text += &format!(" ({wait})");
        }
    }
    Some(text + ".")
}

/// What the threads run that have no name, where the finding waits for such.
fn unnamed_threads(profile: &Profile, finding: &Finding) -> Option<String> {
    let is_unnamed = |holder: &Holder| holder.class == OUTSIDE && holder.thread.is_none();
    let functions = profile.details.unnamed_threads.iter();
    let names: Vec<String> = functions
        .map(|name| names::shortened(name, NAME_WIDTH))
        .collect();
    let waits = finding.waits_for.iter().any(is_unnamed) && !names.is_empty();
    waits.then(|| {
        format!(
            "Threads without a name of their own, outside of intervals, run {}.",
            names.join(", ")
        )
    })
}

/// What another round timed inside of the finding's function.
fn timed_inside(finding: &Finding) -> Option<String> {
    let inside = finding.timed_inside.as_ref()?;
    Some(format!(
        "Inside of it, timed in round {} ({}): {}, {} of its share.",
        inside.round,
        units::counted(inside.intervals, "interval"),
        names::path(&inside.functions, PATH_WIDTH),
        units::whole_percent(inside.of_share.min(1.0)),
    ))
}

/// What stacks of slow intervals showed inside of the finding's function.
fn seen_inside(finding: &Finding) -> Option<String> {
    let inside = finding.seen_inside.as_ref()?;
    let (functions, holder) = holder::split(&inside.functions);
    let seen = format!(
        "seen in {} of {} of slow intervals",
        units::count(inside.stacks),
        units::counted(inside.of_stacks, "stack"),
    );
    let path = names::path(functions, PATH_WIDTH);
    Some(match (functions, holder) {
        ([], Some(holder)) => format!("The lock is held by {holder}, {seen}."),
        (_, Some(holder)) => {
            format!("Inside of it, {seen}: {path}. The lock there is held by {holder}.")
        }
        (_, None) => format!("Inside of it, {seen}: {path}."),
    })
}

/// The same of a finding that was not timed.
fn seen_only(finding: &Finding) -> Option<String> {
    let inside = finding.seen_inside.as_ref()?;
    let (functions, holder) = holder::split(&inside.functions);
    let holder = holder.map_or_else(String::new, |holder| {
        format!(" The lock there is held by {holder}.")
    });
    Some(format!(
        "Seen in {} of {} of slow intervals, but not timed: {}. Profile for longer to know its share.{holder}",
        units::count(inside.stacks),
        units::counted(inside.of_stacks, "stack"),
        names::path(functions, PATH_WIDTH),
    ))
}

/// Where a holder is: in a function, or in a state.
fn place(function: &str, is_state: bool) -> String {
    match is_state {
        true => function.to_owned(),
        false => format!("in {}", names::shortened(function, NAME_WIDTH)),
    }
}

fn factors(profile: &Profile, finding: &Finding) -> Option<String> {
    let numbers: Vec<String> = finding
        .factors
        .iter()
        .filter(|&&at| at < profile.factors.len())
        .map(|at| (at + 1).to_string())
        .collect();
    match numbers.len() {
        0 => None,
        1 => Some(format!("Factor {}.", numbers[0])),
        _ => Some(format!("Factors {}.", numbers.join(", "))),
    }
}

fn quoted(class: &str) -> String {
    format!("\"{}\"", fit::middle(class, NAME_WIDTH))
}

/// What a holder worked on; a thread outside of intervals may be named by a function.
fn served(holder: &Holder) -> String {
    match &holder.thread {
        Some(thread) => format!("\"{OUTSIDE}: {}\"", names::shortened(thread, NAME_WIDTH)),
        None => quoted(&holder.class),
    }
}

/// Below this share nothing is left to report: the table would say 0.0 %.
const UNCOVERED_MIN: f64 = 0.000_5;

/// The part of the variance that is in no finding from which the number of slow intervals is the reason, if it is small.
const UNCOVERED_MUCH: f64 = 0.5;

/// That the profile has too few slow intervals to name what makes them slow, and how long it would take; nothing where it has enough.
fn few_slow(profile: &Profile) -> Option<String> {
    let slow = profile.slow_intervals();
    if profile.uncovered.share < UNCOVERED_MUCH || slow == 0 || slow >= SLOW_ENOUGH {
        return None;
    }
    let of = units::count(profile.intervals);
    let mut text = format!(
        "too few slow intervals. {slow} of {of} hold half of the variance, and {SLOW_ENOUGH} are needed"
    );
    match profile.details.machine {
        Some(machine) if machine.seconds > 0.0 => {
            let needed = machine.seconds * SLOW_ENOUGH as f64 / slow as f64;
            text += &format!(
                ". This run took {:.0} s: run for {:.0} s (--for {:.0}s)",
                machine.seconds, needed, needed
            );
        }
        _ => text += ": run for longer (--for)",
    }
    Some(text)
}

/// What is in no finding, in a sentence; nothing where that is nought.
pub fn uncovered(profile: &Profile) -> Option<String> {
    let uncovered = &profile.uncovered;
    if uncovered.share.abs() < UNCOVERED_MIN && uncovered.factors.is_empty() {
        return None;
    }
    let mut text = String::from(
        "unattributed: spread over functions, none of them large enough for a finding",
    );
    if let Some(few) = few_slow(profile) {
        text = format!("unattributed: {few}");
    }
    let numbers: Vec<String> = uncovered
        .factors
        .iter()
        .map(|at| (at + 1).to_string())
        .collect();
    if !numbers.is_empty() {
        let word = if numbers.len() == 1 {
            "factor"
        } else {
            "factors"
        };
        text += &format!(" ({word} {})", numbers.join(", "));
    }
    Some(text)
}

/// What two functions that trade mean.
pub fn trade(trade: &Trade) -> String {
    let [a, b] = trade
        .functions
        .each_ref()
        .map(|name| names::shortened(name, NAME_WIDTH));
    format!(
        "{a} and {b} trade: where one takes longer the other takes less, which reduces the variance by {} {}. Shortening only one of them may make the other longer.",
        units::percent(-trade.contribution),
        units::error(trade.se)
    )
}

/// What is lost with an advice, as a warning.
pub fn gives_up(what: GivesUp) -> &'static str {
    match what {
        GivesUp::Durability => "GIVES UP DURABILITY",
        GivesUp::Isolation => "GIVES UP ISOLATION",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_analysis::profile::Class;
    use evenkeel_analysis::slow::model::SeenInside;

    /// 32 commands of 50,000 have 1 % of the time, and nearly all of the variance.
    #[test]
    fn the_class_that_causes_a_finding_comes_first() {
        let class = |name: &str, of_time, share, mean_ns| FindingClass {
            name: name.into(),
            of_time,
            share,
            mean_ns,
        };
        let finding = Finding {
            share: 0.97,
            classes: vec![
                class("set", 0.55, 0.02, 4020.0),
                class("get", 0.43, 0.02, 3210.0),
                class("ping", 0.01, 0.0, 900.0),
                class("pfcount", 0.01, 0.93, 1_628_000.0),
            ],
            ..Finding::default()
        };
        let mut profile = Profile::default();
        assert_eq!(classes(&profile, &finding), None, "one class");
        profile.classes.classes = vec![Class::default(); 4];
        assert_eq!(
            classes(&profile, &finding).unwrap(),
            "By class: \"pfcount\" 1 % (1.63 ms an interval), \"set\" 55 % (4.02 µs), \"get\" 43 % (3.21 µs)."
        );
    }

    #[test]
    fn the_holder_of_a_files_lock_is_named() {
        let said = |functions: &[&str]| {
            let inside = SeenInside {
                functions: functions.iter().map(|&name| name.to_owned()).collect(),
                stacks: 5,
                of_stacks: 6,
                ..SeenInside::default()
            };
            seen_inside(&Finding {
                seen_inside: Some(inside),
                ..Finding::default()
            })
            .unwrap()
        };
        assert_eq!(
            said(&["held by cron", "pid 7"]),
            "The lock is held by process cron (pid 7), seen in 5 of 6 stacks of slow intervals."
        );
        assert_eq!(
            said(&["save", "flock", "held by cron"]),
            "Inside of it, seen in 5 of 6 stacks of slow intervals: save > flock. The lock there is held by process cron."
        );
    }
}
