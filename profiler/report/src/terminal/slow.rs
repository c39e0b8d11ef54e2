//! Where slow intervals stood, by stacks that were seen while they lasted.

use evenkeel_analysis::profile::Profile;
use evenkeel_analysis::slow::model::SlowPath;

use super::style::{Style, title};
use crate::units::counted;
use crate::{fit, names, units};

/// Columns before the path.
const INDENT: usize = 34;

pub(super) fn render(profile: &Profile, style: &Style) -> Option<String> {
    let slow = profile.slow_stacks.as_ref()?;
    let remark = format!(
        "where slow intervals stood while they lasted: {} of {}, the longest {}",
        counted(slow.stacks, "stack"),
        counted(slow.intervals, "interval"),
        units::duration(slow.longest_ns)
    );
    let mut out = title("SEEN IN STACKS OF SLOW INTERVALS", &remark, style);
    let heading = "        part    stacks of intervals";
    out.push_str(&style.paint().dim(heading));
    out.push('\n');
    let all = [&slow.common].into_iter().chain(&slow.paths);
    let all = all.filter(|path| !path.functions.is_empty());
    // Where they part, what most have in common goes first.
    let skipped = usize::from(
        slow.paths
            .iter()
            .any(|path| path.functions == slow.common.functions),
    );
    for path in all.skip(skipped).take(style.rows) {
        out.push_str(&row(path, style));
    }
    Some(out)
}

fn row(path: &SlowPath, style: &Style) -> String {
    let part = fit::right(&units::percent(path.share), 12);
    let stacks = fit::right(&units::count(path.stacks), 9);
    let intervals = fit::right(&units::count(path.intervals), 9);
    format!(
        "{} {stacks} {intervals}  {}\n",
        style.paint().bold(&part),
        names::path(&path.functions, style.columns().saturating_sub(INDENT))
    )
}
