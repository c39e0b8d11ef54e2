//! The histogram of latencies, and how percentiles went.

use evenkeel_analysis::profile::Bin;
use evenkeel_report::units;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline, Widget};

use super::palette::Palette;
use crate::view::View;

/// Columns of a bin's bounds and count.
const LABELS: usize = 28;

/// Percentiles above, if there is room, and the histogram below.
pub fn draw(view: &View, area: Rect, buffer: &mut Buffer, palette: &Palette) {
    let Some(profile) = &view.profile else {
        return;
    };
    let course = if area.height >= 12 { 6 } else { 0 };
    let [above, below] =
        Layout::vertical([Constraint::Length(course), Constraint::Min(1)]).areas(area);
    if course > 0 {
        let [first, second] = Layout::vertical([Constraint::Length(3); 2]).areas(above);
        percentile(view, "p50", |sample| sample.p50_ns, first, buffer, palette);
        percentile(view, "p99", |sample| sample.p99_ns, second, buffer, palette);
    }
    let rows = bars(&profile.histogram, usize::from(below.height));
    let most = rows.iter().map(|row| row.count).max().unwrap_or(1).max(1);
    let room = usize::from(below.width).saturating_sub(LABELS + 1);
    let line = |row: &Bin| {
        let bounds = format!(
            "{:>8} – {}",
            units::duration(row.from_ns),
            units::duration(row.to_ns)
        );
        let label = format!("{bounds:<20}{:>8} ", units::count(row.count));
        // A bin with any interval has a bar, because the tail is what the histogram is for.
        let length = (row.count as f64 / most as f64 * room as f64).ceil() as usize;
        Line::from(vec![
            Span::raw(label),
            Span::styled("█".repeat(length), palette.share()),
        ])
    };
    let lines: Vec<Line<'_>> = rows.iter().map(line).collect();
    Paragraph::new(lines).render(below, buffer);
}

fn percentile(
    view: &View,
    name: &str,
    of: impl Fn(&crate::history::Percentiles) -> f64,
    area: Rect,
    buffer: &mut Buffer,
    palette: &Palette,
) {
    let [title, graph] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
    let samples = view.history.percentiles();
    let from = samples.len().saturating_sub(usize::from(area.width));
    let values: Vec<u64> = samples.skip(from).map(|sample| of(sample) as u64).collect();
    let (now, most) = (
        values.last().copied().unwrap_or(0),
        values.iter().max().copied().unwrap_or(0),
    );
    let text = format!(
        "{name} of what ended since the last look: {}, at most {}",
        units::duration(now as f64),
        units::duration(most as f64)
    );
    Line::styled(text, palette.strong()).render(title, buffer);
    Sparkline::default()
        .data(values)
        .style(palette.share())
        .render(graph, buffer);
}

/// Neighbouring bins together, so that there are at most `rows`: latencies by factors.
fn bars(bins: &[Bin], rows: usize) -> Vec<Bin> {
    let (Some(first), Some(last), true) = (bins.first(), bins.last(), rows > 0) else {
        return Vec::new();
    };
    let (low, high) = (first.from_ns.max(1.0), last.to_ns.max(2.0));
    let factor = (high / low).powf(1.0 / rows as f64).max(1.0 + 1e-9);
    let bound = |row: usize| low * factor.powi(row as i32);
    let mut drawn: Vec<Bin> = (0..rows)
        .map(|row| Bin {
            from_ns: bound(row),
            to_ns: bound(row + 1),
            count: 0,
        })
        .collect();
    for bin in bins {
        let middle = f64::midpoint(bin.from_ns, bin.to_ns).max(low);
        let row = (middle / low).log(factor) as usize;
        drawn[row.min(rows - 1)].count += bin.count;
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_interval_is_lost_in_the_bars() {
        let bin = |from_ns: f64, count| Bin {
            from_ns,
            to_ns: from_ns * 1.1,
            count,
        };
        let bins = [bin(0.0, 2), bin(100.0, 5), bin(5e6, 1), bin(9e9, 3)];
        for rows in [1, 2, 7, 100] {
            let drawn = bars(&bins, rows);
            assert_eq!(drawn.len(), rows);
            assert_eq!(drawn.iter().map(|row| row.count).sum::<u64>(), 11);
        }
        assert!(bars(&[], 5).is_empty());
        assert!(bars(&bins, 0).is_empty());
    }
}
