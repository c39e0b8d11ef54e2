//! The target, the spread of its latency, and whether the numbers can be trusted.

use evenkeel_analysis::profile::Profile;

use super::style::Style;
use crate::{fit, messages, names, units, words};

/// The part of the time below which traps are not mentioned.
const TRAPPING_LITTLE: f64 = 0.0005;

const PERCENTILES: [&str; 6] = ["p50", "p90", "p95", "p99", "p999", "max"];

pub(super) fn render(profile: &Profile, style: &Style) -> String {
    let paint = style.paint();
    let width = style.columns();
    let interval = names::shortened(&profile.interval, width / 2);
    let room = width - fit::columns("evenkeel  ") - fit::columns(&interval) - fit::columns("  in ");
    let mut out = String::new();
    for line in fit::wrap(&profile.details.failed, width) {
        out += &format!("{}\n", paint.bold(&line));
    }
    out += &format!(
        "{}  {}{}{}\n",
        paint.bold("evenkeel"),
        paint.bold(&interval),
        paint.dim("  in "),
        fit::middle(&profile.target, room)
    );
    for (label, text) in [
        ("PART ONLY", words::explains_a_part(profile)),
        ("before it", words::waiting_connections(profile)),
        ("intervals", intervals(profile)),
        ("excluded", profile.details.outside.clone()),
        ("latency", latency(profile)),
        ("percentiles", percentiles(profile)),
        ("time", words::time(&profile.time_spent)),
        ("closure", closure(profile)),
        ("overhead", overhead(profile)),
    ]
    .iter()
    .filter(|(_, text)| !text.is_empty())
    {
        let mut lines = fit::wrap(text, width - 15).into_iter();
        out.push_str(&format!(
            "  {}{}\n",
            paint.dim(&fit::left(label, 13)),
            lines.next().unwrap_or_default()
        ));
        lines.for_each(|line| out.push_str(&format!("{:15}{line}\n", "")));
    }
    out
}

fn intervals(profile: &Profile) -> String {
    let reported = match profile.intervals == profile.intervals_seen {
        true => "all of them".to_owned(),
        false => units::count(profile.intervals),
    };
    let seen = units::count(profile.intervals_seen);
    let mut text = format!("{seen} seen; this report is of {reported}");
    let (round, rounds) = (profile.round, profile.rounds.len());
    if let Some(reported) = profile.rounds.get(round.wrapping_sub(1)) {
        text += &match &profile.rounds_together[..] {
            [] => format!(", from round {round} of {rounds}"),
            several => format!(", from rounds {} of {rounds}", ranges(several)),
        };
        text += &format!(" with {} probes", units::count(reported.probes.into()));
    }
    let accounted = profile.intervals + profile.sampled_out + profile.discarded;
    if profile.intervals_seen > accounted {
        let others = units::count(profile.intervals_seen - accounted);
        text += &format!("; {others} in other rounds");
    }
    if profile.sampled_out > 0 {
        text += &format!("; {}", words::sampled(profile));
    }
    if profile.discarded > 0 {
        text += &format!("; {} discarded", units::count(profile.discarded));
        let mut reasons: Vec<_> = profile.discarded_by_reason.iter().collect();
        reasons.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        let reasons: Vec<_> = reasons
            .iter()
            .map(|(reason, n)| format!("{} {}", messages::left_out(reason), units::count(**n)))
            .collect();
        if !reasons.is_empty() {
            text += &format!(" ({})", reasons.join(", "));
        }
    }
    text
}

/// Ascending numbers in words: `1, 3-5 and 9`.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    let mut runs: Vec<String> = runs.collect();
    match runs.pop() {
        Some(last) if !runs.is_empty() => format!("{} and {last}", runs.join(", ")),
        last => last.unwrap_or_default(),
    }
}

fn latency(profile: &Profile) -> String {
    let all = profile.sampling.as_ref();
    let (mean_ns, sd_ns) = all.map_or((profile.mean_ns, profile.sd_ns), |all| {
        (all.mean_ns, all.sd_ns)
    });
    let cv = sd_ns / mean_ns;
    let cv = if cv.is_finite() {
        format!(" ({cv:.2} times the mean)")
    } else {
        String::new()
    };
    format!(
        "mean {}, standard deviation {}{cv}",
        units::duration(mean_ns),
        units::duration(sd_ns)
    )
}

fn percentiles(profile: &Profile) -> String {
    let all = profile.sampling.as_ref();
    let percentiles_ns = all.map_or(&profile.percentiles_ns, |all| &all.percentiles_ns);
    let known: Vec<_> = PERCENTILES
        .iter()
        .filter_map(|name| Some((name, percentiles_ns.get(*name)?)))
        .map(|(name, ns)| format!("{} {}", units::percentile(name), units::duration(*ns)))
        .collect();
    known.join(", ")
}

fn closure(profile: &Profile) -> String {
    let checked = units::count(profile.closure.intervals);
    match profile.closure.max_abs_error_ticks {
        0 => format!(
            "exact: in all {checked} intervals that were timed, the parts add up to the latency, to the clock tick"
        ),
        ticks => format!(
            "BROKEN by up to {} ticks over {checked} intervals: do not trust this profile",
            units::count(ticks)
        ),
    }
}

fn overhead(profile: &Profile) -> String {
    let overhead = &profile.overhead;
    let mut text = format!(
        "{} a probe, estimated {} of the mean",
        units::duration(overhead.probe_ns),
        units::percent(overhead.estimated_fraction)
    );
    match (overhead.measured_fraction, overhead.measured_se) {
        (Some(measured), Some(se)) => {
            let recorded = 1.0 - profile.sampled_out as f64 / profile.intervals_seen.max(1) as f64;
            let over_all = units::signed_percent(measured * recorded);
            let (measured, se) = (units::signed_percent(measured), units::error(se));
            text += &format!("; measured {measured} {se}");
            if profile.sampled_out > 0 {
                text += &format!(" of recorded intervals, {over_all} of all");
            }
        }
        (None, Some(se)) => {
            text += &format!(
                "; the measurement is too coarse ({} %): profile for longer",
                units::error(se)
            );
        }
        // One window beside another: whatever it says may be chance.
        (Some(_), None) => text += "; not measured (too few windows without probes)",
        (None, _) => text += "; not measured (no windows without probes)",
    }
    if overhead.trapping_fraction >= TRAPPING_LITTLE {
        let trapping = units::percent(overhead.trapping_fraction);
        text += &format!(
            "; traps, which follow calls through pointers, took {trapping} of all intervals' time"
        );
    }
    let stops = overhead.stops;
    if stops.processes > 0 {
        let mean_ns = stops.sum_ns / stops.processes as f64;
        text += &match stops.processes {
            1 => format!(
                "; attaching stopped one thread for {}",
                units::duration(mean_ns)
            ),
            processes => format!(
                "; attaching stopped one thread of each of {} processes for {} on average, {} at most",
                units::count(processes),
                units::duration(mean_ns),
                units::duration(stops.max_ns)
            ),
        };
    }
    text.trim_end().to_string()
}
