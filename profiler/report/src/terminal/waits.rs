//! Waiters and holders, over the whole run.

use evenkeel_analysis::profile::{Profile, WaitedFor};

use super::style::{Style, title};
use crate::{fit, names, units, words};

/// Lines shown of a profile, at most; JSON has them all.
const LINES_MAX: usize = 12;
/// Where the line begins that says for what, and who ended it.
const INDENT: usize = 8;
const COLUMNS_BEFORE_WAITER: usize = 46;

pub(super) fn render(profile: &Profile, style: &Style) -> Option<String> {
    if profile.waits.is_empty() {
        return None;
    }
    let shown = profile.waits.len().min(style.rows).min(LINES_MAX);
    let left_out = match profile.waits.len() - shown {
        0 => String::new(),
        n => format!("; {} smaller ones left out", units::count(n as u64)),
    };
    let remark = format!("waits on critical paths, longest in total first{left_out}");
    let mut out = title("WAITERS AND WAKERS", &remark, style);
    let heading = "  of variance      total     waits      mean  waits in";
    out.push_str(&style.paint().dim(heading));
    out.push('\n');
    for line in &profile.waits[..shown] {
        out.push_str(&row(line, style));
        for text in fit::wrap(&words::wait(line), style.columns() - INDENT) {
            out.push_str(&format!("{:INDENT$}{}\n", "", style.paint().dim(&text)));
        }
    }
    Some(out)
}

fn row(line: &WaitedFor, style: &Style) -> String {
    let paint = style.paint();
    // "(others)" has no calls.
    let waiter = match line.waiter_calls.as_slice() {
        [] => line.waiter.clone(),
        calls => words::innermost(calls),
    };
    format!(
        "{} {} {} {}  {}\n",
        paint.bold(&fit::right(&units::percent(line.share), 13)),
        fit::right(&units::duration(line.total_ns), 10),
        fit::right(&units::count(line.count), 9),
        fit::right(&units::duration(line.mean_ns), 9),
        paint.kind(
            line.kind,
            &names::written(&waiter, style.columns() - COLUMNS_BEFORE_WAITER)
        ),
    )
}
