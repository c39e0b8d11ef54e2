//! The slowest intervals of the run: when each was, and where its time went.

use evenkeel_analysis::intervals::classes::UNLABELLED;
use evenkeel_analysis::profile::{Profile, SlowInterval};

use super::style::{Style, title};
use crate::{fit, names, units};

/// Columns before the class.
const INDENT: usize = 37;
/// Columns of the class, where there is one.
const CLASS: usize = 24;

pub(super) fn render(profile: &Profile, style: &Style) -> Option<String> {
    let shown = &profile.slowest[..profile.slowest.len().min(style.slowest)];
    if shown.is_empty() {
        return None;
    }
    let remark = "when each began, and where most of its time went; --timeline slowest:N draws one";
    let mut out = title("SLOWEST INTERVALS", remark, style);
    let is_absolute = shown[0].unix_ns.is_some();
    let clock = if is_absolute {
        "UTC"
    } else {
        "after the first"
    };
    let heading = format!(
        " rank {} {}  where its time went",
        fit::right(clock, 16),
        fit::right("latency", 10)
    );
    out.push_str(&style.paint().dim(&heading));
    out.push('\n');
    for (at, slow) in shown.iter().enumerate() {
        out.push_str(&row(at + 1, slow, style));
    }
    Some(out)
}

fn row(rank: usize, slow: &SlowInterval, style: &Style) -> String {
    let when = match slow.unix_ns {
        Some(unix_ns) => units::time_of_day(unix_ns),
        None => units::duration(slow.since_ns),
    };
    let class = match slow.class.as_str() {
        UNLABELLED => String::new(),
        class => format!("{}: ", fit::middle(class, CLASS)),
    };
    let parts = slow.top.iter().map(|part| {
        let name = names::without_modules(&part.name);
        format!("{name} {}", units::duration(part.own_ns))
    });
    let parts: Vec<String> = parts.collect();
    let text = format!("{class}{}", parts.join(", "));
    let start = format!(
        "{} {} {}  ",
        fit::right(&rank.to_string(), 5),
        fit::right(&when, 16),
        style
            .paint()
            .bold(&fit::right(&units::duration(slow.latency_ns), 10)),
    );
    let mut out = String::new();
    for (at, line) in fit::wrap(&text, style.columns() - INDENT)
        .iter()
        .enumerate()
    {
        match at {
            0 => out.push_str(&start),
            _ => out.push_str(&" ".repeat(INDENT)),
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}
