//! The causes of the variance, each with the way its share has gone.

use evenkeel_report::{findings, fit, names, units, words};
use ratatui::text::{Line, Span};

use super::palette::Palette;
use crate::view::View;

/// A change of a share that is worth an arrow.
const CHANGE_MIN: f64 = 0.02;
/// Columns of the course of a share.
const COURSE: usize = 12;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A headline, a course and sentences for each.
pub fn lines<'a>(view: &View, width: usize, palette: &Palette) -> Vec<Line<'a>> {
    let Some(profile) = &view.profile else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for finding in &profile.findings {
        let (arrow, style) = match view.history.trend(&finding.headline) {
            Some(change) if change >= CHANGE_MIN => ("▲", palette.worse()),
            Some(change) if change <= -CHANGE_MIN => ("▼", palette.better()),
            _ => (" ", palette.dim()),
        };
        let share = format!(
            "{:>7} {:<6}",
            units::percent(finding.share),
            units::error(finding.se)
        );
        let course = course(view.history.shares(&finding.headline));
        let kind = words::kind(finding.kind);
        let room = width.saturating_sub(share.chars().count() + COURSE + 3);
        let kind = format!(" ({kind})");
        let room = room.saturating_sub(fit::columns(&kind));
        let headline = names::written(&finding.headline, room) + &kind;
        lines.push(Line::from(vec![
            Span::styled(share, palette.share()),
            Span::styled(arrow, style),
            Span::raw(" "),
            Span::styled(course, palette.dim()),
            Span::raw(" "),
            Span::styled(headline, palette.strong()),
        ]));
        for sentence in findings::sentences(profile, finding, "p99").iter().take(3) {
            let wrapped = fit::wrap(sentence, width.saturating_sub(4));
            lines.extend(
                wrapped
                    .into_iter()
                    .map(|text| Line::raw(format!("    {text}"))),
            );
        }
    }
    if lines.is_empty() {
        lines.push(Line::raw("nothing surely above the threshold yet"));
    }
    lines.extend(findings::uncovered(profile).map(|text| Line::raw(fit::middle(&text, width))));
    lines
}

/// The last shares as blocks, the newest on the right.
fn course(shares: impl Iterator<Item = f64>) -> String {
    let shares: Vec<f64> = shares.collect();
    let last = &shares[shares.len().saturating_sub(COURSE)..];
    let level = |share: &f64| {
        let of = (share.clamp(0.0, 1.0) * (LEVELS.len() - 1) as f64).round();
        LEVELS[of as usize]
    };
    let drawn: String = last.iter().map(level).collect();
    format!("{drawn:>COURSE$}")
}
