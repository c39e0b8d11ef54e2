//! A comparison on a terminal.

use evenkeel_analysis::profile::FactorKind;

use super::{Comparison, FactorChange, Match, NodeChange};
use crate::terminal::{Style, list, title};
use crate::{fit, names, units, words};

/// Changes below this part of the variance before are not listed.
const CHANGE_MIN: f64 = 0.001;

const COLUMNS_BEFORE_FINDING: usize = 42;

/// Columns before the call, without those of the mean.
const COLUMNS_BEFORE_CALL: usize = 43;

/// Columns of the mean before and after, for which there is room from this width on.
const MEAN: usize = 25;
const WIDTH_FOR_MEAN: usize = 90;

impl Comparison<'_> {
    /// For a terminal; of the style, width, colour and rows matter.
    pub fn terminal(&self, style: &Style) -> String {
        render(self, style)
    }
}

fn render(comparison: &Comparison, style: &Style) -> String {
    let mut sections = vec![latency(comparison, style)];
    if !comparison.warnings.is_empty() {
        let plain: Vec<_> = comparison.warnings.iter().map(|w| fit::plain(w)).collect();
        sections.push(list(&plain, style));
    }
    sections.extend(findings(comparison, style));
    sections.push(nodes(comparison, style));
    sections.extend(came_and_went(comparison, style));
    sections.join("\n")
}

fn latency(comparison: &Comparison, style: &Style) -> String {
    let paint = style.paint();
    let [before, after] = comparison.intervals.map(units::count);
    let interval = fit::middle(&fit::plain(&comparison.after.interval), 40);
    let mut out = format!(
        "{}  {}\n",
        paint.bold("evenkeel compare"),
        paint.bold(&interval)
    );
    out.push_str(&paint.dim(&format!(
        "  {:16}{:>14}{:>14}{:>12}{:>10}",
        "", "before", "after", "change", "ratio"
    )));
    out.push_str(&format!(
        "\n  {}{before:>14}{after:>14}\n",
        paint.dim(&fit::left("intervals", 16))
    ));
    for row in &comparison.latency {
        let change = row
            .change_fraction
            .map_or(units::ABSENT.to_string(), units::signed_percent);
        let change = fit::right(&change, 12);
        out.push_str(&format!(
            "  {}{}{}{}{}\n",
            paint.dim(&fit::left(&name(&row.name), 16)),
            fit::right(&units::duration(row.before_ns), 14),
            fit::right(&units::duration(row.after_ns), 14),
            if row.after_ns > row.before_ns {
                paint.worse(&change)
            } else {
                paint.better(&change)
            },
            fit::right(&units::ratio(row.after_ns, row.before_ns), 10),
        ));
    }
    out.push('\n');
    for line in fit::wrap(&fit::plain(&comparison.summary), style.columns() - 2) {
        out.push_str(&format!("  {line}\n"));
    }
    out
}

/// What was found before and after; nothing where neither file has findings.
fn findings(comparison: &Comparison, style: &Style) -> Option<String> {
    if comparison.findings.is_empty() {
        return None;
    }
    let paint = style.paint();
    let mut out = title("FINDINGS", "in % of the variance before", style);
    out.push_str(&paint.dim("    before      after        change"));
    out.push('\n');
    for finding in &comparison.findings {
        let side = |is_there: bool, part: f64| match is_there {
            true => fit::right(&units::percent(part), 10),
            false => fit::right("not found", 10),
        };
        let change = fit::right(&units::signed_percent(finding.change_of_variance), 10);
        out.push_str(&format!(
            "{} {} {} {}  {}\n",
            side(finding.in_before, finding.before_fraction),
            side(finding.in_after, finding.after_fraction),
            if finding.change_of_variance > 0.0 {
                paint.worse(&change)
            } else {
                paint.better(&change)
            },
            paint.dim(&fit::left(&units::error(finding.change_of_variance_se), 6)),
            fit::middle(
                &fit::plain(&finding.headline),
                style.columns() - COLUMNS_BEFORE_FINDING
            ),
        ));
    }
    Some(out)
}

fn name(figure: &str) -> String {
    if figure == "sd" {
        "std deviation".into()
    } else {
        units::percentile(figure)
    }
}

fn nodes(comparison: &Comparison, style: &Style) -> String {
    let paint = style.paint();
    let worth = |node: &&NodeChange| !node.passes_on && node.change_of_variance.abs() >= CHANGE_MIN;
    let mut out = title(
        "WHAT CHANGED",
        "in % of the variance before; callers that only pass a change on are left out",
        style,
    );
    let mut listed = comparison
        .nodes
        .iter()
        .filter(worth)
        .take(style.rows.saturating_mul(2))
        .peekable();
    if listed.peek().is_none() {
        out.push_str("  nothing by more than 0.1 % of the variance before\n");
        return out;
    }
    let mean = if has_mean(style) {
        "    mean before > after  "
    } else {
        ""
    };
    out.push_str(&paint.dim(&format!(
        "    variance         share before > after {mean}  call"
    )));
    out.push('\n');
    for node in listed {
        out.push_str(&row(node, style));
    }
    let marks = "* beyond 2 standard errors, + only after, - only before, ~ same function at a moved call site";
    for line in fit::wrap(marks, style.columns() - 2) {
        out.push_str(&paint.dim(&format!("  {line}")));
        out.push('\n');
    }
    out
}

fn has_mean(style: &Style) -> bool {
    style.columns() >= WIDTH_FOR_MEAN
}

fn row(node: &NodeChange, style: &Style) -> String {
    let paint = style.paint();
    let mean = &node.mean_ns;
    let (before_call, mean) = if has_mean(style) {
        let [before, after] = [mean.before, mean.after].map(units::duration);
        (
            COLUMNS_BEFORE_CALL + MEAN,
            format!(" {} > {}", fit::right(&before, 11), fit::left(&after, 10)),
        )
    } else {
        (COLUMNS_BEFORE_CALL, String::new())
    };
    let steps: Vec<_> = node.names.iter().map(|name| fit::plain(name)).collect();
    let short: Vec<_> = steps
        .iter()
        .map(|name| names::without_modules(name))
        .collect();
    let (last, callers) = (steps.len() - 1, &short[..steps.len() - 1]);
    let mark = match node.matched {
        Match::Site => ' ',
        Match::Name => '~',
        Match::BeforeOnly => '-',
        Match::AfterOnly => '+',
    };
    let change = fit::right(&units::signed_percent(node.change_of_variance), 9);
    let first = format!(
        "{} {} {} {} > {}{mean} {mark} {}\n",
        if node.contribution_ns2.significant {
            "*"
        } else {
            " "
        },
        if node.change_of_variance > 0.0 {
            paint.worse(&change)
        } else {
            paint.better(&change)
        },
        paint.dim(&fit::left(&units::error(node.change_of_variance_se), 6)),
        fit::right(&units::percent(node.share.before), 9),
        fit::left(&units::percent(node.share.after), 9),
        paint.bold(&names::shortened(
            &steps[last],
            style.columns() - before_call
        )),
    );
    if callers.is_empty() {
        return first;
    }
    let width = style.columns() - 6;
    let site = node
        .site_before
        .as_ref()
        .or(node.site_after.as_ref())
        .map_or(String::new(), |site| {
            format!(" [{}]", names::without_modules(&fit::plain(site)))
        });
    let site = fit::middle(&site, width / 3);
    let room = width - 3 - fit::columns(&site);
    let from = fit::middle(&fit::path(callers, room), room);
    first + &format!("      {}\n", paint.dim(&format!("in {from}{site}")))
}

fn came_and_went(comparison: &Comparison, style: &Style) -> Option<String> {
    let one_sided: Vec<_> = comparison
        .factors
        .iter()
        .filter(|f| f.in_before != f.in_after)
        .collect();
    if one_sided.is_empty() {
        return None;
    }
    let remark = "named in one profile only; in the other they contribute too little to be listed";
    let mut out = title("FACTORS THAT CAME OR WENT", remark, style);
    for factor in one_sided.iter().take(style.rows) {
        out.push_str(&one_sided_row(factor, style));
    }
    Some(out)
}

fn one_sided_row(factor: &FactorChange, style: &Style) -> String {
    let kind = match factor.kind {
        FactorKind::Variance => "",
        FactorKind::Covariance => " (pair)",
    };
    let (functions, separator) = words::functions(&factor.functions, factor.caller.as_ref());
    let functions: Vec<String> = functions.into_iter().map(fit::plain).collect();
    let (mark, verb) = if factor.in_after {
        ("+", "came")
    } else {
        ("-", "went")
    };
    format!(
        "  {mark} {verb} {} {}  {}{kind}\n",
        fit::right(&units::signed_percent(factor.change_of_variance), 9),
        style
            .paint()
            .dim(&fit::left(&units::error(factor.change_of_variance_se), 6)),
        names::joined(&functions, separator, style.columns() - 36),
    )
}
