//! The displayed state, and the reader's position in it.

use evenkeel_analysis::profile::Profile;

use crate::history::History;
use crate::tree::{Folds, Row};

/// Messages kept.
const MESSAGES_MAX: usize = 100;

/// A part of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// The causes of the variance, with their trends.
    Findings,
    /// The variance tree.
    Tree,
    /// Histogram and percentiles.
    Latency,
    /// Waiters and their wakers.
    Waits,
    /// Messages of the session.
    Messages,
}

impl Pane {
    /// All of them, in order.
    pub const ALL: [Pane; 5] = [
        Pane::Findings,
        Pane::Tree,
        Pane::Latency,
        Pane::Waits,
        Pane::Messages,
    ];

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Pane::Findings => "Findings",
            Pane::Tree => "Tree",
            Pane::Latency => "Latency",
            Pane::Waits => "Waits",
            Pane::Messages => "Messages",
        }
    }

    fn index(self) -> usize {
        Pane::ALL.iter().position(|&pane| pane == self).unwrap_or(0)
    }
}

/// A key that means something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Character(char),
    /// Up by one row.
    Up,
    /// Down by one row.
    Down,
    /// Out of, or close.
    Left,
    /// Into, or open.
    Right,
    /// The next pane.
    Tab,
    /// Open or close.
    Enter,
    /// A screen up.
    PageUp,
    /// A screen down.
    PageDown,
    /// Ctrl-C.
    Interrupt,
}

/// Requests of a key to the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// End the run, with its report.
    Quit,
    /// Take what is offered under this index.
    Open(usize),
    /// Close the callee of this probe.
    Close(u32),
}

/// State of the session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionStatus {
    /// Seconds since the first process was hooked.
    pub seconds: f64,
    /// Intervals seen.
    pub intervals: u64,
    /// Probes planted.
    pub probes: usize,
}

/// The view.
#[derive(Debug)]
pub struct View {
    pub(crate) colour: bool,
    pub(crate) manual: bool,
    pub(crate) profile: Option<Profile>,
    pub(crate) history: History,
    pub(crate) status: SessionStatus,
    pub(crate) messages: Vec<String>,
    /// By step that may be taken by hand: probes of the calls that it looks into, none for the interval's own function.
    pub(crate) offers: Vec<Vec<Option<u32>>>,
    pub(crate) pane: Pane,
    pub(crate) folds: Folds,
    /// By pane: the first line shown; of the tree the chosen row.
    pub(crate) positions: [usize; Pane::ALL.len()],
    pub(crate) is_ending: bool,
}

impl View {
    /// Nothing is known yet. `colour`: whether there may be some; `manual`: whether functions are opened by hand.
    pub fn new(colour: bool, manual: bool) -> View {
        View {
            colour,
            manual,
            profile: None,
            history: History::default(),
            status: SessionStatus::default(),
            messages: Vec::new(),
            offers: Vec::new(),
            pane: Pane::Findings,
            folds: Folds::default(),
            positions: [0; Pane::ALL.len()],
            is_ending: false,
        }
    }

    /// Shows a newer profile.
    pub fn update(&mut self, profile: Profile) {
        self.history.add(&profile);
        self.profile = Some(profile);
        let rows = self.rows().len();
        let chosen = &mut self.positions[Pane::Tree.index()];
        *chosen = (*chosen).min(rows.saturating_sub(1));
    }

    /// Shows how the session stands.
    pub fn set_status(&mut self, seconds: f64, intervals: u64, probes: usize) {
        self.status = SessionStatus {
            seconds,
            intervals,
            probes,
        };
    }

    /// Shows what the session says.
    pub fn say(&mut self, message: &str) {
        if self.messages.len() == MESSAGES_MAX {
            self.messages.remove(0);
        }
        self.messages.push(message.to_owned());
    }

    /// Shows what can be opened by hand.
    pub fn offer(&mut self, offers: Vec<Vec<Option<u32>>>) {
        self.offers = offers;
    }

    /// Handles a key; returns the part that is the session's to do.
    pub fn key(&mut self, key: Key) -> Option<Action> {
        match key {
            Key::Interrupt | Key::Character('q') => {
                self.is_ending = true;
                return Some(Action::Quit);
            }
            Key::Character(digit @ '1'..='5') => {
                self.pane = Pane::ALL[digit as usize - '1' as usize];
            }
            Key::Tab => self.pane = Pane::ALL[(self.pane.index() + 1) % Pane::ALL.len()],
            Key::Up | Key::Character('k') => self.step(-1),
            Key::Down | Key::Character('j') => self.step(1),
            Key::PageUp => self.step(-10),
            Key::PageDown => self.step(10),
            Key::Left | Key::Right | Key::Enter if self.pane == Pane::Tree => self.fold(key),
            Key::Character('o') => return self.open(),
            Key::Character('c') => return self.close(),
            _ => {}
        }
        None
    }

    /// The position in a pane.
    pub(crate) fn position(&self, pane: Pane) -> usize {
        self.positions[pane.index()]
    }

    /// The rows of the tree.
    pub(crate) fn rows(&self) -> Vec<Row<'_>> {
        let profile = self.profile.as_ref();
        profile.map_or_else(Vec::new, |profile| self.folds.rows(&profile.tree))
    }

    fn step(&mut self, by: isize) {
        let end = match self.pane {
            Pane::Tree => self.rows().len().saturating_sub(1),
            // How long the text is depends on the width: drawing stops at its end.
            _ => usize::MAX,
        };
        let position = &mut self.positions[self.pane.index()];
        *position = position.saturating_add_signed(by).min(end);
    }

    /// Keeps a position within what was drawn.
    pub(crate) fn limit(&mut self, pane: Pane, end: usize) {
        let position = &mut self.positions[pane.index()];
        *position = (*position).min(end);
    }

    fn fold(&mut self, key: Key) {
        let rows = self.rows();
        let chosen = self.position(Pane::Tree);
        let Some(row) = rows.get(chosen) else {
            return;
        };
        let above = rows[..chosen]
            .iter()
            .rposition(|above| above.place.len() < row.place.len());
        let (place, open) = (row.place.clone(), row.open);
        match (key, open) {
            (Key::Left, Some(true)) => self.folds.set(place, false),
            (Key::Left, _) => self.positions[Pane::Tree.index()] = above.unwrap_or(0),
            (Key::Right, Some(false)) => self.folds.set(place, true),
            (Key::Right, Some(true)) => self.step(1),
            (Key::Enter, Some(open)) => self.folds.set(place, !open),
            _ => {}
        }
    }

    /// The step offered for a row of the tree: for its call, or for the one whose time it is part of.
    pub(crate) fn offered(&self, row: &Row<'_>) -> Option<usize> {
        let mut offers = self.offers.iter();
        offers.position(|calls| calls.contains(&row.call))
    }

    fn open(&mut self) -> Option<Action> {
        let rows = self.rows();
        let offered = self.offered(rows.get(self.position(Pane::Tree))?)?;
        self.offers.clear();
        Some(Action::Open(offered))
    }

    fn close(&mut self) -> Option<Action> {
        if !self.manual {
            return None;
        }
        let rows = self.rows();
        let node = rows.get(self.position(Pane::Tree))?.node;
        let probe = node.probe.filter(|_| !node.children.is_empty())?;
        Some(Action::Close(probe))
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_analysis::profile::Node;
    use evenkeel_analysis::sites::Kind;

    use super::*;

    fn view() -> View {
        let leaf = Node {
            name: "leaf".into(),
            share: 0.5,
            ..Node::default()
        };
        let called = Node {
            name: "called".into(),
            probe: Some(7),
            share: 0.9,
            children: vec![leaf],
            ..Node::default()
        };
        let mut view = View::new(false, true);
        view.update(Profile {
            tree: Node {
                name: "root".into(),
                share: 1.0,
                children: vec![called],
                ..Node::default()
            },
            ..Profile::default()
        });
        view
    }

    #[test]
    fn the_tree_is_walked() {
        let mut view = view();
        assert_eq!(view.key(Key::Character('2')), None);
        for (key, row, rows) in [
            (Key::Down, 1, 3),
            (Key::Left, 1, 2),
            (Key::Right, 1, 3),
            (Key::Right, 2, 3),
            (Key::Left, 1, 3),
            (Key::Enter, 1, 2),
            (Key::Left, 0, 2),
            (Key::PageDown, 1, 2),
        ] {
            view.key(key);
            assert_eq!(
                (view.position(Pane::Tree), view.rows().len()),
                (row, rows),
                "{key:?}"
            );
        }
    }

    #[test]
    fn functions_are_opened_and_closed_by_hand() {
        let mut view = view();
        view.key(Key::Character('2'));
        view.key(Key::Down);
        assert_eq!(view.key(Key::Character('c')), Some(Action::Close(7)));
        assert_eq!(view.key(Key::Character('o')), None);
        view.offer(vec![vec![Some(8)], vec![Some(7)]]);
        assert_eq!(view.key(Key::Character('o')), Some(Action::Open(1)));
        // It is taken: the next ranking offers anew.
        assert_eq!(view.key(Key::Character('o')), None);
        assert_eq!(view.key(Key::Interrupt), Some(Action::Quit));
    }

    #[test]
    fn own_time_is_opened_as_its_function() {
        let mut view = view();
        let tree = &mut view.profile.as_mut().unwrap().tree.children[0];
        tree.children[0].name = "called (not expanded)".into();
        tree.children[0].kind = Kind::NotOpened;
        view.key(Key::Character('2'));
        view.key(Key::PageDown);
        view.offer(vec![vec![Some(7)]]);
        assert_eq!(view.key(Key::Character('o')), Some(Action::Open(0)));
    }

    #[test]
    fn a_smaller_profile_takes_the_position_along() {
        let mut view = view();
        view.key(Key::Character('2'));
        view.key(Key::PageDown);
        view.update(Profile::default());
        assert_eq!(view.position(Pane::Tree), 0);
    }
}
