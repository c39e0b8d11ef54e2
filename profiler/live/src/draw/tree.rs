//! The variance tree.

use evenkeel_report::{fit, names, units};
use ratatui::text::{Line, Span};

use super::palette::Palette;
use crate::view::{Pane, View};

/// Columns of a share's bar.
const BAR: usize = 8;

/// A line a visible node.
pub fn lines<'a>(view: &View, width: usize, palette: &Palette) -> Vec<Line<'a>> {
    let chosen = view.position(Pane::Tree);
    let rows = view.rows();
    let line = |(i, row): (usize, &crate::tree::Row<'_>)| {
        let node = row.node;
        let share = format!(
            "{:>7} {} ",
            units::percent(node.share),
            fit::left(&fit::bar(node.share, BAR), BAR)
        );
        let mean = format!("{:>8} ", units::duration(node.mean_ns));
        let fold = match row.open {
            Some(true) => "▾",
            Some(false) => "▸",
            None => " ",
        };
        let offered = if view.offered(row).is_some() { "+" } else { "" };
        let indent = " ".repeat(row.place.len() - 1);
        let site = if node.site.is_empty() {
            String::new()
        } else {
            format!(" [{}]", node.site)
        };
        let before = format!("{indent}{fold}{offered} ");
        let room = width.saturating_sub(share.chars().count() + mean.chars().count());
        let name = names::shortened(&node.name, room.saturating_sub(fit::columns(&before)));
        let text = fit::left(&fit::middle(&format!("{before}{name}{site}"), room), room);
        let style = if i == chosen {
            palette.chosen()
        } else {
            ratatui::style::Style::new()
        };
        Line::from(vec![
            Span::styled(share, palette.share()),
            Span::raw(mean),
            Span::styled(text, style),
        ])
    };
    rows.iter().enumerate().map(line).collect()
}
