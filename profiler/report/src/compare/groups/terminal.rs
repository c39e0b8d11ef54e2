//! Groups on a terminal.

use super::{CHANGE_MIN, Difference, Groups, LEVEL, What};
use crate::terminal::{Style, list, title};
use crate::{fit, names, units};

/// Columns of a group's name.
const NAME: usize = 28;
/// Columns before what is compared.
const COLUMNS_BEFORE_WHAT: usize = 75;

impl Groups {
    /// For a terminal.
    pub fn terminal(&self, style: &Style) -> String {
        render(self, style)
    }
}

fn render(groups: &Groups, style: &Style) -> String {
    let mut sections = vec![header(groups, style)];
    if !groups.warnings.is_empty() {
        let plain: Vec<_> = groups.warnings.iter().map(|w| fit::plain(w)).collect();
        sections.push(list(&plain, style));
    }
    sections.push(differences(groups, style));
    sections.join("\n")
}

fn header(groups: &Groups, style: &Style) -> String {
    let paint = style.paint();
    let mut out = format!(
        "{}  {} groups by {}\n",
        paint.bold("evenkeel compare"),
        groups.groups.len(),
        groups.by
    );
    out += &paint.dim(&format!(
        "  {:NAME$}{:>11}{:>12}{:>11}{:>11}{:>11}",
        groups.by, "recordings", "intervals", "mean", "sd", "p99"
    ));
    out.push('\n');
    for group in &groups.groups {
        let name = fit::left(&fit::middle(&fit::plain(&group.name), NAME - 2), NAME);
        out += &format!(
            "  {}{:>11}{:>12}{}{}{}{}\n",
            name,
            group.recordings,
            units::count(group.intervals),
            fit::right(&units::duration(group.mean_ns), 11),
            fit::right(&units::duration(group.sd_ns), 11),
            fit::right(&units::duration(group.p99_ns), 11),
            if group.differs {
                paint.warn("  differs")
            } else {
                String::new()
            },
        );
    }
    out.push('\n');
    for line in fit::wrap(&fit::plain(&groups.summary), style.columns() - 2) {
        out += &format!("  {line}\n");
    }
    out
}

fn differences(groups: &Groups, style: &Style) -> String {
    let paint = style.paint();
    let remark = format!(
        "each group against the others that do not differ; p corrected for {} comparisons",
        units::count(groups.comparisons as u64)
    );
    let mut out = title("WHERE THEY DIFFER", &remark, style);
    let mut listed = groups
        .differences
        .iter()
        .filter(|one| one.differs)
        .peekable();
    if listed.peek().is_none() {
        out += &format!(
            "  nowhere by {} or more with p below {LEVEL}\n",
            units::whole_percent(CHANGE_MIN)
        );
        return out;
    }
    out += &paint.dim(&format!(
        "  {:NAME$}{:>13}{:>13}{:>10}{:>9}  what",
        groups.by, "others", "here", "change", "p"
    ));
    out.push('\n');
    for one in listed.take(style.rows.saturating_mul(2)) {
        out += &row(one, style);
    }
    let remark = "mean: in % of the others' mean. Else standard deviations, and the change in % of the others' variance";
    for line in fit::wrap(remark, style.columns() - 2) {
        out += &paint.dim(&format!("  {line}"));
        out.push('\n');
    }
    out
}

fn row(one: &Difference, style: &Style) -> String {
    let paint = style.paint();
    // As a standard deviation: squares of times say nothing to anybody.
    let shown = |value: f64| match one.what {
        What::Mean => units::duration(value),
        _ if value < 0.0 => format!("-{}", units::duration((-value).sqrt())),
        _ => units::duration(value.sqrt()),
    };
    let change = one
        .change_fraction
        .map_or(units::ABSENT.to_string(), units::signed_percent);
    let change = fit::right(&change, 10);
    let what = match &one.what {
        What::Mean => "mean".to_owned(),
        What::Variance => "variance".to_owned(),
        What::Finding { headline, .. } => fit::plain(headline),
    };
    format!(
        "  {}{}{}{}{}  {}\n",
        fit::left(&fit::middle(&fit::plain(&one.group), NAME - 2), NAME),
        fit::right(&shown(one.figures.before), 13),
        fit::right(&shown(one.figures.after), 13),
        if one.figures.change > 0.0 {
            paint.worse(&change)
        } else {
            paint.better(&change)
        },
        fit::right(&chance(one.p_corrected), 9),
        names::written(&what, style.columns() - COLUMNS_BEFORE_WHAT - 2),
    )
}

fn chance(p: f64) -> String {
    if p < 0.0001 {
        "< 0.0001".to_owned()
    } else {
        format!("{p:.4}")
    }
}
