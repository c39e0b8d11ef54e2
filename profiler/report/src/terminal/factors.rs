//! The ranked factors: the answer.

use evenkeel_analysis::profile::{Factor, FactorKind, Profile};

use super::style::{Style, place, title};
use crate::paths::Paths;
use crate::{fit, names, units, words};

/// Where the detail lines of a factor begin.
const INDENT: usize = 6;

const COLUMNS_BEFORE_FUNCTION: usize = 42;

pub(super) fn render(profile: &Profile, paths: &Paths, style: &Style) -> String {
    let shown = &profile.factors[..profile.factors.len().min(style.rows)];
    let left_out = profile.factors.len() - shown.len();
    let remark = match left_out {
        0 => "functions ranked by score; they overlap, so they may add up to more than 100 %"
            .to_string(),
        n => format!("functions ranked by score; they overlap; {n} more not shown"),
    };
    let mut out = title("FACTORS", &remark, style);
    if shown.is_empty() {
        out.push_str("  none: no function contributes enough of the variance to be named\n");
        return out;
    }
    out.push_str(
        &style
            .paint()
            .dim(" rank   of variance        mean  kind    function"),
    );
    out.push('\n');
    for (rank, factor) in shown.iter().enumerate() {
        out.push_str(&row(rank + 1, factor, paths, style));
        out.push_str(&details(profile, factor, paths, style));
    }
    if shown.iter().any(|factor| factor.tied_with_next) {
        out.push_str(
            &style
                .paint()
                .dim("  ≈ tied with the next: their order lies within the error"),
        );
        out.push('\n');
    }
    out
}

fn row(rank: usize, factor: &Factor, paths: &Paths, style: &Style) -> String {
    let paint = style.paint();
    let tie = if factor.tied_with_next { "≈" } else { " " };
    let mean = match factor.kind {
        FactorKind::Variance => {
            let nodes = paths.of_factor(factor);
            let sum: f64 = nodes.iter().map(|located| located.node().mean_ns).sum();
            if nodes.is_empty() {
                String::new()
            } else {
                units::duration(sum)
            }
        }
        FactorKind::Covariance => String::new(),
    };
    let (functions, separator) = words::functions(&factor.functions, factor.caller.as_ref());
    let room = style.columns() - COLUMNS_BEFORE_FUNCTION;
    let function = names::joined(&functions, separator, room);
    // The longest fill the column.
    let kind = format!("{:<7} ", words::factor_kind(factor));
    format!(
        "{}{tie} {} {} {}  {}{}\n",
        fit::right(&rank.to_string(), 4),
        paint.bold(&fit::right(&units::percent(factor.contribution), 9)),
        paint.dim(&fit::left(&units::error(factor.se), 6)),
        fit::right(&mean, 9),
        match factor.kind {
            FactorKind::Variance => paint.kind(factor.what, &kind),
            FactorKind::Covariance => kind,
        },
        paint.bold(&function),
    )
}

fn details(profile: &Profile, factor: &Factor, paths: &Paths, style: &Style) -> String {
    let paint = style.paint();
    let width = style.columns() - INDENT;
    let mut out = String::new();
    if let Some(path) = factor.paths.first() {
        let more = match factor.paths.len() - 1 {
            0 => String::new(),
            // The profile lists eight paths at most.
            n if n >= 7 => format!("  (+{n} or more paths)"),
            n => format!("  (+{n} {})", if n == 1 { "path" } else { "paths" }),
        };
        let room = width - fit::columns(&more);
        let nodes = factor.nodes.first().map_or(&[][..], Vec::as_slice);
        let place = place(path, nodes, paths, room);
        out.push_str(&format!(
            "{:INDENT$}{}{}\n",
            "",
            paint.dim(&place),
            paint.dim(&more)
        ));
    }
    for line in fit::wrap(&words::callers(factor), width) {
        out.push_str(&format!("{:INDENT$}{}\n", "", paint.dim(&line)));
    }
    for line in fit::wrap(&words::explain(profile, paths, factor, style.tail), width) {
        out.push_str(&format!("{:INDENT$}{line}\n", ""));
    }
    out
}
