//! The whole screen: a heading, panes, a line of keys.

mod findings;
mod latency;
mod palette;
mod tree;
mod waits;

use evenkeel_report::messages::warning;
use evenkeel_report::{fit, units};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Widget};

use crate::view::{Pane, View};
use palette::Palette;

/// Less than this shows nothing that helps.
const SMALLEST: (u16, u16) = (40, 8);
/// From this size on four panes are shown at once.
const LARGE: (u16, u16) = (120, 36);

impl View {
    /// Draws into all of a buffer.
    pub fn draw(&mut self, area: Rect, buffer: &mut Buffer) {
        if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
            let (width, height) = SMALLEST;
            let text = format!("{width} x {height} needed");
            Paragraph::new(text).render(area, buffer);
            return;
        }
        let palette = Palette::new(self.colour);
        let [heading, body, keys] = Layout::vertical([
            Constraint::Length(3),
            Constraint::Min(1),
            Constraint::Length(1),
        ])
        .areas(area);
        Paragraph::new(self.heading(heading.width, &palette)).render(heading, buffer);
        for (pane, area) in self.panes(body) {
            self.pane(pane, area, buffer, &palette);
        }
        Line::from(Span::styled(self.keys(), palette.dim())).render(keys, buffer);
    }

    /// Which panes are shown, and where.
    fn panes(&self, body: Rect) -> Vec<(Pane, Rect)> {
        if body.width < LARGE.0 || body.height + 4 < LARGE.1 {
            return vec![(self.pane, body)];
        }
        let halves = Layout::vertical([Constraint::Fill(1); 2]);
        let [above, below] = halves.areas(body);
        let halves = Layout::horizontal([Constraint::Fill(1); 2]);
        let ([a, b], [c, d]) = (halves.areas(above), halves.areas(below));
        // Messages take the place of waits where they are looked at.
        let last = match self.pane {
            Pane::Messages => Pane::Messages,
            _ => Pane::Waits,
        };
        vec![
            (Pane::Findings, a),
            (Pane::Tree, b),
            (Pane::Latency, c),
            (last, d),
        ]
    }

    fn pane(&mut self, pane: Pane, area: Rect, buffer: &mut Buffer, palette: &Palette) {
        let titles: Vec<Span<'_>> = if area.width == buffer.area.width {
            let title = |(i, of): (usize, &Pane)| {
                let text = format!(" {} {} ", i + 1, of.title());
                Span::styled(text, palette.tab(*of == pane))
            };
            Pane::ALL.iter().enumerate().map(title).collect()
        } else {
            let text = format!(" {} ", pane.title());
            vec![Span::styled(text, palette.tab(pane == self.pane))]
        };
        let block = Block::bordered()
            .border_style(palette.dim())
            .title(Line::from(titles));
        let inside = block.inner(area);
        block.render(area, buffer);
        let (width, height) = (usize::from(inside.width), usize::from(inside.height));
        if pane == Pane::Latency {
            latency::draw(self, inside, buffer, palette);
            return;
        }
        let lines = match pane {
            Pane::Findings => findings::lines(self, width, palette),
            Pane::Tree => tree::lines(self, width, palette),
            Pane::Waits => waits::lines(self, width, palette),
            Pane::Messages | Pane::Latency => messages(self, width, palette),
        };
        let end = lines.len().saturating_sub(height);
        let first = if pane == Pane::Tree {
            // The chosen row stays in the middle of a longer tree.
            self.position(pane).saturating_sub(height / 2).min(end)
        } else {
            self.limit(pane, end);
            self.position(pane)
        };
        let shown: Vec<Line<'_>> = lines.into_iter().skip(first).take(height).collect();
        Paragraph::new(shown).render(inside, buffer);
    }

    fn heading<'a>(&'a self, width: u16, palette: &Palette) -> Vec<Line<'a>> {
        let width = usize::from(width);
        let Some(profile) = &self.profile else {
            let said = self.messages.last().map_or("", |message| message);
            return vec![
                Line::styled("evenkeel", palette.strong()),
                Line::raw(fit::middle(said, width)),
                Line::raw("waiting for the first intervals"),
            ];
        };
        let percentile = |name: &str| {
            let value = profile.percentiles_ns.get(name).copied().unwrap_or(0.0);
            format!("{} {}", units::percentile(name), units::duration(value))
        };
        let overhead = &profile.overhead;
        let measured = overhead
            .measured_fraction
            .map_or(String::new(), |measured| {
                let error = overhead.measured_se.map_or(String::new(), units::error);
                format!(", measured {} {error}", units::signed_percent(measured))
            });
        let first = format!("{}  in {}", profile.interval, profile.target);
        let second = format!(
            "mean {}  sd {}  {}  {}  {}",
            units::duration(profile.mean_ns),
            units::duration(profile.sd_ns),
            percentile("p50"),
            percentile("p99"),
            percentile("p999"),
        );
        let third = format!(
            "{:.0} s  {} intervals  {} probes  overhead {}{measured}",
            self.status.seconds,
            units::count(self.status.intervals),
            self.status.probes,
            units::percent(overhead.estimated_fraction),
        );
        vec![
            Line::styled(fit::middle(&first, width), palette.strong()),
            Line::raw(fit::middle(&second, width)),
            Line::raw(fit::middle(&third, width)),
        ]
    }

    fn keys(&self) -> String {
        if self.is_ending {
            return "ending: the report follows".to_owned();
        }
        let tree = match (self.pane, self.manual) {
            (Pane::Tree, true) => "  ←→ unfold  o expand  c close",
            (Pane::Tree, false) => "  ←→ unfold",
            _ => "",
        };
        format!("q report and end  1-5 Tab panes  ↑↓ move{tree}")
    }
}

/// Messages of the session, the newest first, and warnings for the user.
fn messages<'a>(view: &View, width: usize, palette: &Palette) -> Vec<Line<'a>> {
    let warnings = view.profile.iter().flat_map(|profile| &profile.warnings);
    let warnings = warnings.flat_map(|it| fit::wrap(&warning(it), width));
    let warnings = warnings.map(|text| Line::styled(text, palette.worse()));
    let said = view.messages.iter().rev();
    let said = said.flat_map(|text| fit::wrap(text, width));
    warnings.chain(said.map(Line::raw)).collect()
}
