//! Attributes that the target set, and how much of the variance each explains.

use evenkeel_analysis::profile::{Attribute, AttributeFit, Profile};

use super::style::{Style, title};
use crate::{fit, units};

/// Where the line begins that shows the values one by one.
const INDENT: usize = 8;
const COLUMNS_BEFORE_NAME: usize = 67;

pub(super) fn render(profile: &Profile, style: &Style) -> Option<String> {
    if profile.attributes.is_empty() {
        return None;
    }
    let shown = profile.attributes.len().min(style.rows);
    let left_out = match profile.attributes.len() - shown {
        0 => String::new(),
        n => format!("; {n} that explain less left out"),
    };
    let remark = format!(
        "numbers that the target set for its intervals, and the share of variance that each explains alone{left_out}"
    );
    let mut out = title("ATTRIBUTES", &remark, style);
    let heading =
        "     explains        correlation  for one more       mean   intervals  attribute";
    out.push_str(&style.paint().dim(heading));
    out.push('\n');
    for attribute in &profile.attributes[..shown] {
        out.push_str(&row(attribute, style));
        for text in fit::wrap(&how(attribute), style.columns() - INDENT) {
            out.push_str(&format!("{:INDENT$}{}\n", "", style.paint().dim(&text)));
        }
    }
    Some(out)
}

fn row(attribute: &Attribute, style: &Style) -> String {
    let correlation = match attribute.correlation {
        Some(r) => format!("{r:+.2} ±{:.2}", attribute.correlation_se),
        None => "–".into(),
    };
    let slope = attribute.slope_ns.map_or("–".into(), units::duration);
    format!(
        "{} {} {} {} {} {}  {}\n",
        style
            .paint()
            .bold(&fit::right(&units::percent(attribute.explained), 7)),
        fit::left(&units::error(attribute.se), 6),
        fit::right(&correlation, 18),
        fit::right(&slope, 13),
        fit::right(&number(attribute.mean), 10),
        fit::right(&units::count(attribute.intervals), 11),
        fit::middle(&attribute.name, style.columns() - COLUMNS_BEFORE_NAME - 6),
    )
}

/// A value's mean: whole where it is large.
fn number(mean: f64) -> String {
    match mean.abs() {
        small if small < 100.0 => format!("{mean:.2}"),
        large if large < 1e9 => format!("{mean:.0}"),
        _ => format!("{mean:.2e}"),
    }
}

fn how(attribute: &Attribute) -> String {
    if attribute.fit == AttributeFit::Linear {
        return "by a line, it has many values".into();
    }
    let value = |value: &evenkeel_analysis::profile::AttributeValue| {
        format!(
            "{} takes {} ({} intervals)",
            value.value,
            units::duration(value.mean_ns),
            units::count(value.intervals)
        )
    };
    let values: Vec<_> = attribute.values.iter().map(value).collect();
    values.join(", ")
}
