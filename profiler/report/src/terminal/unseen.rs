//! What the profile could not see: the end of every report.

use evenkeel_analysis::profile::Profile;

use super::style::{Style, title};
use crate::{fit, messages, units};

/// Columns before the text.
const INDENT: usize = 20;

/// Where the names are that are missing above.
pub(super) fn names(profile: &Profile, style: &Style) -> Option<String> {
    if profile.names.is_empty() {
        return None;
    }
    let remark = "functions without a symbol are shown by address; ~name is inferred from whom they call and who calls them";
    let mut out = title("NAMES", remark, style);
    for line in profile
        .names
        .iter()
        .flat_map(|file| fit::wrap(file, style.columns() - 2))
    {
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
    for unseen in unseen {
        let share = fit::right(&units::percent(unseen.share), 12);
        let text = format!("{}: {}", unseen.name, messages::not_split(&unseen.why));
        let lines = fit::wrap(&text, style.columns() - INDENT);
        for (at, line) in lines.iter().enumerate() {
            if at == 0 {
                let error = fit::left(&units::error(unseen.se), 6);
                out.push_str(&format!("{} {error} {line}\n", style.paint().bold(&share)));
            } else {
                out.push_str(&format!("{:INDENT$}{line}\n", ""));
            }
        }
    }
    Some(out)
}
