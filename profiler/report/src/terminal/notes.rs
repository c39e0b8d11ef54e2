//! Warnings, and call sites that could not be timed.

use std::collections::BTreeMap;

use evenkeel_analysis::findings::reasons::NotTimed;
use evenkeel_analysis::profile::Profile;

use super::style::{Style, title};
use crate::{fit, messages, units};

/// Sites named for each reason.
const SITES_MAX: usize = 3;

pub(super) fn warnings(profile: &Profile, style: &Style) -> Option<String> {
    let warnings: Vec<String> = profile.warnings.iter().map(messages::warning).collect();
    (!warnings.is_empty()).then(|| list(&warnings, style))
}

/// Warnings as a list, each with a mark in front.
pub(crate) fn list(warnings: &[String], style: &Style) -> String {
    let mut out = title("WARNINGS", "", style);
    for warning in warnings {
        for (i, line) in fit::wrap(warning, style.columns() - 4).iter().enumerate() {
            let mark = if i == 0 {
                style.paint().warn("!")
            } else {
                " ".into()
            };
            out.push_str(&format!("  {mark} {line}\n"));
        }
    }
    out
}

pub(super) fn unpatched(profile: &Profile, style: &Style) -> Option<String> {
    if profile.unpatched.is_empty() {
        return None;
    }
    let mut by_reason: BTreeMap<&NotTimed, Vec<&str>> = BTreeMap::new();
    for unpatched in &profile.unpatched {
        by_reason
            .entry(&unpatched.reason)
            .or_default()
            .push(&unpatched.site);
    }
    let mut by_reason: Vec<_> = by_reason.into_iter().collect();
    by_reason.sort_by_key(|(_, sites)| std::cmp::Reverse(sites.len()));
    let remark = format!(
        "{}; their time counts as their caller's own",
        units::counted(profile.unpatched.len() as u64, "call site")
    );
    let mut out = title("NOT TIMED", &remark, style);
    for (reason, sites) in by_reason {
        let more = if sites.len() > SITES_MAX { ", …" } else { "" };
        let named = sites[..sites.len().min(SITES_MAX)].join(", ");
        let reason = messages::not_timed(reason);
        let text = format!("{reason}: {named}{more}");
        for (i, line) in fit::wrap(&text, style.columns() - 10).iter().enumerate() {
            let number = if i == 0 {
                units::count(sites.len() as u64)
            } else {
                String::new()
            };
            out.push_str(&format!("{}  {line}\n", fit::right(&number, 8)));
        }
    }
    Some(out)
}
