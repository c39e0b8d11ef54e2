//! Styles, with colour and without.

use ratatui::style::{Color, Modifier, Style};

/// The styles of a view.
pub struct Palette {
    colour: bool,
}

impl Palette {
    /// `colour`: whether there may be some.
    pub fn new(colour: bool) -> Palette {
        Palette { colour }
    }

    fn coloured(&self, style: Style, colour: Color) -> Style {
        if self.colour { style.fg(colour) } else { style }
    }

    /// Headings.
    pub fn strong(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Text of little importance.
    pub fn dim(&self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// A pane's title.
    pub fn tab(&self, is_chosen: bool) -> Style {
        if is_chosen {
            self.chosen()
        } else {
            Style::new()
        }
    }

    /// Where the reader is.
    pub fn chosen(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Shares.
    pub fn share(&self) -> Style {
        self.coloured(Style::new(), Color::Cyan)
    }

    /// An increase.
    pub fn worse(&self) -> Style {
        self.coloured(Style::new(), Color::Red)
    }

    /// A decrease.
    pub fn better(&self) -> Style {
        self.coloured(Style::new(), Color::Green)
    }
}
