//! Waiters and their wakers.

use evenkeel_report::{fit, names, units, words};
use ratatui::text::{Line, Span};

use super::palette::Palette;
use crate::view::View;

/// Two or more lines for each.
pub fn lines<'a>(view: &View, width: usize, palette: &Palette) -> Vec<Line<'a>> {
    let Some(profile) = &view.profile else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let time = words::time(&profile.time_spent);
    lines.extend(fit::wrap(&time, width).into_iter().map(Line::raw));
    for wait in &profile.waits {
        let numbers = format!(
            "{:>7} {:>8} in {} ",
            units::percent(wait.variance_fraction),
            units::duration(wait.total_ns),
            units::count(wait.count),
        );
        let room = width.saturating_sub(numbers.chars().count());
        lines.push(Line::from(vec![
            Span::styled(numbers, palette.share()),
            Span::styled(names::shortened(&wait.waiter, room), palette.strong()),
        ]));
        let wrapped = fit::wrap(&words::wait(wait), width.saturating_sub(4));
        lines.extend(
            wrapped
                .into_iter()
                .map(|text| Line::raw(format!("    {text}"))),
        );
    }
    if profile.time_spent.is_empty() {
        lines.push(Line::raw("waits are not followed: run with --waits"));
    } else if profile.waits.is_empty() {
        lines.push(Line::raw("no interval has waited yet"));
    }
    lines
}
