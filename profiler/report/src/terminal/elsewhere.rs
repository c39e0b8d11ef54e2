//! Paths that other rounds of refinement have found, and the reported one does not have.

use evenkeel_analysis::profile::{PathSeen, Profile};

use super::style::{Style, title};
use crate::{fit, names, units};

/// Columns before the path.
const INDENT: usize = 44;

pub(super) fn render(profile: &Profile, style: &Style) -> Option<String> {
    if profile.seen_elsewhere.is_empty() {
        return None;
    }
    let shown = &profile.seen_elsewhere[..profile.seen_elsewhere.len().min(style.rows)];
    let remark = "paths that explained much of the variance while other calls were timed, each with its round";
    let mut out = title("FOUND IN OTHER ROUNDS", remark, style);
    let heading = "       share              mean     of round";
    out.push_str(&style.paint().dim(heading));
    out.push('\n');
    for seen in shown {
        out.push_str(&row(seen, style));
    }
    Some(out)
}

fn row(seen: &PathSeen, style: &Style) -> String {
    let share = fit::right(&units::percent(seen.share), 12);
    let round = format!("{} ({})", seen.round, units::count(seen.intervals));
    format!(
        "{} {} {} {}  {}\n",
        style.paint().bold(&share),
        fit::left(&units::error(seen.se), 6),
        fit::right(&units::duration(seen.mean_ns), 9),
        fit::right(&round, 12),
        names::written(&seen.path, style.columns() - INDENT)
    )
}
