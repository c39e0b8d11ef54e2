//! Classes of intervals: is the variance the mix of classes, or does it lie within them?

use evenkeel_analysis::profile::{Class, Classes, Profile};

use super::style::{Style, place, title};
use crate::paths::Paths;
use crate::{fit, units};

/// Classes listed when they are not asked for.
const CLASSES_MAX: usize = 5;

/// Paths listed for each class.
const PATHS_MAX: usize = 3;

const COLUMNS_BEFORE_NAME: usize = 53;

pub(super) fn render(profile: &Profile, paths: &Paths, style: &Style) -> Option<String> {
    let classes = &profile.classes;
    if classes.classes.len() < 2 && !style.by_class || classes.classes.is_empty() {
        return None;
    }
    let mut out = title("CLASSES", &remark(classes), style);
    out.push_str(
        &style
            .paint()
            .dim("  intervals      mean        sd    within   the mix  class"),
    );
    out.push('\n');
    let shown = classes.classes.len().min(if style.by_class {
        style.rows
    } else {
        CLASSES_MAX
    });
    // The profile has them by number of intervals; here those that make the variance come first.
    let mut by_variance: Vec<&Class> = classes.classes.iter().collect();
    let of_variance = |class: &Class| class.within_fraction + class.between_fraction;
    by_variance.sort_by(|a, b| of_variance(b).total_cmp(&of_variance(a)));
    for class in &by_variance[..shown] {
        out.push_str(&row(class, style));
        if style.by_class {
            out.push_str(&top(class, paths, style));
        }
    }
    if shown < classes.classes.len() {
        out.push_str(&style.paint().dim(&format!(
            "  {} more not shown",
            classes.classes.len() - shown
        )));
        out.push('\n');
    }
    Some(out)
}

fn remark(classes: &Classes) -> String {
    let between = units::percent(classes.between_fraction);
    let within = units::percent(classes.within_fraction);
    format!(
        "{between} of the variance is between the means of classes, {within} is among intervals of one class"
    )
}

fn row(class: &Class, style: &Style) -> String {
    format!(
        "{} {} {} {} {}  {}\n",
        fit::right(&units::count(class.intervals), 11),
        fit::right(&units::duration(class.mean_ns), 9),
        fit::right(&units::duration(class.sd_ns), 9),
        fit::right(&units::percent(class.within_fraction), 9),
        fit::right(&units::percent(class.between_fraction), 9),
        fit::middle(&class.name, style.columns() - COLUMNS_BEFORE_NAME),
    )
}

fn top(class: &Class, paths: &Paths, style: &Style) -> String {
    let room = style.columns() - 34;
    let lines = class.top.iter().take(PATHS_MAX).map(|top| {
        format!(
            "{:13}{} {}  {}\n",
            "",
            fit::right(&units::percent(top.share), 8),
            fit::right(&units::duration(top.mean_ns), 9),
            style
                .paint()
                .dim(&place(&top.path, &[top.node], paths, room)),
        )
    });
    lines.collect()
}
