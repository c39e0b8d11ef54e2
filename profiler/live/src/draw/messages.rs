//! Messages of the session, the newest first, and warnings for the user.

use evenkeel_report::fit;
use evenkeel_report::messages::warning;
use ratatui::text::Line;

use super::palette::Palette;
use crate::view::View;

/// As many lines as it takes.
pub fn lines<'a>(view: &View, width: usize, palette: &Palette) -> Vec<Line<'a>> {
    let warnings = view.profile.iter().flat_map(|profile| &profile.warnings);
    let warnings = warnings.flat_map(|it| fit::wrap(&warning(it), width));
    let warnings = warnings.map(|text| Line::styled(text, palette.worse()));
    let said = view.messages.iter().rev();
    let said = said.flat_map(|text| fit::wrap(text, width));
    warnings.chain(said.map(Line::raw)).collect()
}
