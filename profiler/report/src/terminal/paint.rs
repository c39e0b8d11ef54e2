//! ANSI colours, or none: every method takes text that is already padded, since escapes have no width.

use evenkeel_analysis::sites::Kind;

/// Colours on or off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    pub on: bool,
}

impl Paint {
    fn sgr(self, code: &str, text: &str) -> String {
        if self.on && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_string()
        }
    }

    pub fn title(self, text: &str) -> String {
        self.sgr("1;4", text)
    }

    pub fn bold(self, text: &str) -> String {
        self.sgr("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.sgr("2", text)
    }

    pub fn warn(self, text: &str) -> String {
        self.sgr("1;33", text)
    }

    pub fn worse(self, text: &str) -> String {
        self.sgr("31", text)
    }

    pub fn better(self, text: &str) -> String {
        self.sgr("32", text)
    }

    /// The hues of the HTML report, as near as the terminal's own palette has them.
    pub fn kind(self, kind: Kind, text: &str) -> String {
        let code = match kind {
            Kind::Lock => "31",
            Kind::Others => "91",
            Kind::Helper => "92",
            Kind::Io | Kind::Asleep | Kind::Fault => "34",
            Kind::Socket => "94",
            Kind::Client | Kind::Idle | Kind::Unseen => "90",
            Kind::Timer | Kind::Event => "35",
            Kind::Queued | Kind::Turn => "36",
            Kind::Woken | Kind::Preempted => "96",
            Kind::Probe => "95",
            Kind::Body | Kind::NotOpened => "32",
            Kind::Call => "33",
        };
        self.sgr(code, text)
    }
}
