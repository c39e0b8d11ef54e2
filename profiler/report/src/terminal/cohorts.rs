//! The slowest intervals against the middle.

use evenkeel_analysis::findings::cohorts::{Cohorts, Difference};
use evenkeel_analysis::profile::Profile;

use super::style::{Style, place, title};
use crate::paths::Paths;
use crate::{fit, units};

/// Functions of the short form.
const CAUSES_SHORT: usize = 5;
/// One of the two parts of a difference dominates if it is this many times the other.
const MOST: f64 = 3.0;
const COLUMNS_BEFORE_CALL: usize = 61;

pub(super) fn render(profile: &Profile, paths: &Paths, style: &Style) -> Option<String> {
    let cohorts = profile.cohorts.as_ref()?;
    let mut out = title("SLOW AGAINST FAST", &remark(cohorts), style);
    let heading = "  of the gap      slow    middle   calls  middle  why        where";
    out.push_str(&style.paint().dim(heading));
    out.push('\n');
    let all = if style.cohorts {
        &cohorts.nodes
    } else {
        &cohorts.causes
    };
    let shown = if style.cohorts {
        all.len()
    } else {
        all.len().min(CAUSES_SHORT)
    };
    for node in &all[..shown] {
        out.push_str(&row(node, paths, style));
    }
    let left_out = cohorts.nodes.len();
    if !style.cohorts {
        let text = format!(
            "  {} with `evenkeel report FILE --cohorts` or --json",
            units::counted(left_out as u64, "call path")
        );
        out.push_str(&style.paint().dim(&text));
        out.push('\n');
    }
    Some(out)
}

fn remark(cohorts: &Cohorts) -> String {
    format!(
        "the slowest {} intervals (from {}, mean {}) against the {} in the middle (mean {}): what makes up the gap between their means",
        units::count(cohorts.slow.intervals),
        units::duration(cohorts.slow.from_ns),
        units::duration(cohorts.slow.mean_ns),
        units::count(cohorts.middle.intervals),
        units::duration(cohorts.middle.mean_ns),
    )
}

fn row(node: &Difference, paths: &Paths, style: &Style) -> String {
    let (paint, room) = (style.paint(), style.columns() - COLUMNS_BEFORE_CALL);
    format!(
        "{} {} {} {} {}  {} {}\n",
        paint.bold(&fit::right(&units::percent(node.part), 12)),
        fit::right(&units::duration(node.slow_ns), 9),
        fit::right(&units::duration(node.middle_ns), 9),
        fit::right(&units::calls(node.slow_calls), 7),
        fit::right(&units::calls(node.middle_calls), 7),
        fit::left(why(node), 10),
        paint.kind(
            node.kind,
            &place(&node.path, node.node.as_slice(), paths, room)
        ),
    )
}

/// More of it, longer ones, or what the others never do.
pub fn why(node: &Difference) -> &'static str {
    let (more, longer) = (node.more_often_ns.abs(), node.longer_ns.abs());
    match () {
        () if node.part < 0.0 => "less",
        () if node.only_slow => "only slow",
        () if more >= MOST * longer => "more often",
        () if longer >= MOST * more => "longer",
        () => "both",
    }
}
