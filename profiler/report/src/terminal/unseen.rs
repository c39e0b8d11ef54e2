//! Time that the profile does not explain: the end of every report.

use evenkeel_analysis::profile::{Profile, Unseen};

use super::style::{Style, title};
use crate::{fit, messages, units};

/// Columns before the text.
const INDENT: usize = 20;

/// Where the names are that are missing above.
pub(super) fn names(profile: &Profile, style: &Style) -> Option<String> {
    let files = &profile.details.names;
    if files.is_empty() {
        return None;
    }
    let remark = "functions without a symbol are shown by address; ~name is inferred from callers and callees";
    let mut out = title("NAMES", remark, style);
    let lines = |file: &String| fit::wrap(file, style.columns() - 2);
    for line in files.iter().flat_map(lines) {
        out.push_str(&format!("  {line}\n"));
    }
    Some(out)
}

pub(super) fn render(profile: &Profile, style: &Style) -> Option<String> {
    let unseen = profile.unseen.as_ref()?;
    let remark = if unseen.is_empty() {
        "nothing of half a percent of the variance or more"
    } else {
        "shares of the variance that were not split further, largest first"
    };
    let mut out = title("NOT SEEN", remark, style);
    for (why, all) in by_reason(unseen) {
        let whys = [why.as_str()]
            .into_iter()
            .chain(std::iter::repeat("the same"));
        for (one, why) in all.into_iter().zip(whys) {
            out.push_str(&line(one, &format!("{}: {why}", one.name), style));
        }
    }
    Some(out)
}

/// Unseen time by reason, in order of the largest.
fn by_reason(unseen: &[Unseen]) -> Vec<(String, Vec<&Unseen>)> {
    let mut groups: Vec<(String, Vec<&Unseen>)> = Vec::new();
    for one in unseen {
        let why = messages::not_split(&one.why);
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, all)) => all.push(one),
            None => groups.push((why, vec![one])),
        }
    }
    groups
}

fn line(unseen: &Unseen, text: &str, style: &Style) -> String {
    let share = style
        .paint()
        .bold(&fit::right(&units::percent(unseen.share), 12));
    let error = fit::left(&units::error(unseen.se), 6);
    let mut lines = fit::wrap(text, style.columns() - INDENT).into_iter();
    let first = lines.next().unwrap_or_default();
    let mut out = format!("{share} {error} {first}\n");
    lines.for_each(|line| out.push_str(&format!("{:INDENT$}{line}\n", "")));
    out
}
