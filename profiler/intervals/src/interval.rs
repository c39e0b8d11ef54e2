//! An interval, resolved in a module: which instructions begin and end it, and what passing them means.

mod resolve;

use evenkeel_symbols::{Site, Unpatchable};
use evenkeel_wire::plan::KEY_THIS;
use evenkeel_wire::{Displaced, Label, Members, Role};

pub use resolve::resolve;
pub use resolve::{resolve_named, site_name, sites_of_callers};

/// Where a boundary is hooked.
#[derive(Clone, Debug)]
pub enum Place {
    /// At a call site.
    Site(Site),
    /// At a function's entry.
    Entry(u64, Box<Displaced>),
}

/// Meaning of a pass through a hooked place.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    /// The event there.
    pub role: Role,
    /// Kind of the label, and index of the argument that leads to it.
    pub label: (Label, u8),
    /// Address in the module's file of the variable that leads to the label instead; 0 for none.
    pub label_variable: u64,
    /// The way from there to the label.
    pub label_members: Members,
    /// Index of the argument that is the key of an interval, task or lock, or `KEY_RETURNED`.
    pub key: u8,
}

impl Meaning {
    /// Meaning of a place without label and key.
    pub const fn of(role: Role) -> Meaning {
        Meaning {
            role,
            label: (Label::None, 0),
            label_variable: 0,
            label_members: Members::NONE,
            key: 0,
        }
    }

    /// With a label.
    pub const fn labelled(mut self, kind: Label, argument: u8) -> Meaning {
        self.label = (kind, argument);
        self
    }

    /// With a label to which the members of the variable at this address lead.
    pub const fn labelled_by(mut self, kind: Label, variable: u64) -> Meaning {
        self.label = (kind, 0);
        self.label_variable = variable;
        self
    }

    /// With members that lead from the label's argument or variable to the label.
    pub const fn through(mut self, members: Members) -> Meaning {
        self.label_members = members;
        self
    }

    /// With a key. The object of a C++ method is its argument 0.
    pub const fn keyed(mut self, argument: u8) -> Meaning {
        self.key = if argument == KEY_THIS { 0 } else { argument };
        self
    }
}

/// A hooked boundary.
#[derive(Clone, Debug)]
pub struct Boundary {
    /// The call site or function that is hooked.
    pub place: Place,
    /// Its meaning.
    pub meaning: Meaning,
}

/// The places in a module that a user's points lead to.
#[derive(Clone, Debug, Default)]
pub struct Hooked {
    /// Everything to hook.
    pub boundaries: Vec<Boundary>,
    /// Points with call sites that cannot be hooked.
    pub unhooked: Vec<Unhooked>,
}

/// A point with some call sites that cannot be hooked, among others that can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unhooked {
    /// As typed.
    pub point: String,
    /// Number of its call sites that are hooked.
    pub hooked: usize,
    /// The others, with the reason.
    pub refused: Vec<(String, Unpatchable)>,
}

/// An interval in a module.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Name for reports.
    pub name: String,
    /// Everything to hook before the first interval.
    pub boundaries: Vec<Boundary>,
    /// Points with call sites that cannot be hooked.
    pub unhooked: Vec<Unhooked>,
    /// Functions whose calls are timed first.
    pub scope: Vec<u64>,
    /// Waits of a client that are in no interval, and how to see them, where a preset knows them; for the report.
    pub outside: &'static str,
    /// Call sites whose time is the client's.
    pub clients: Vec<Site>,
    /// Height of the root in the static call graph.
    pub height: u32,
}

impl Interval {
    /// The interval with the hooks for following threads, if `waits`, or without them.
    ///
    /// One whose workers are announced may move: followed, it begins and ends by its key, on whichever threads that is.
    /// Otherwise it is what lies between its beginning and its end on one thread.
    pub fn hooked(mut self, waits: bool) -> Interval {
        let works = |boundary: &Boundary| boundary.meaning.role == Role::Work;
        if !waits {
            self.boundaries.retain(|boundary| !works(boundary));
        } else if self.boundaries.iter().any(works) {
            for boundary in &mut self.boundaries {
                boundary.meaning.role = match boundary.meaning.role {
                    Role::Begin => Role::BeginKeyed,
                    Role::End => Role::EndKeyed,
                    role => role,
                };
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(of: &[Role], waits: bool) -> Vec<Role> {
        let boundary = |&role: &Role| Boundary {
            place: Place::Entry(0, Box::default()),
            meaning: Meaning::of(role),
        };
        let interval = Interval {
            name: String::new(),
            boundaries: of.iter().map(boundary).collect(),
            unhooked: Vec::new(),
            scope: Vec::new(),
            outside: "",
            clients: Vec::new(),
            height: 0,
        };
        let hooked = interval.hooked(waits).boundaries.into_iter();
        hooked.map(|boundary| boundary.meaning.role).collect()
    }

    #[test]
    fn intervals_that_may_move_are_followed_by_their_key() {
        let moves = [Role::Begin, Role::End, Role::Work];
        let keyed = [Role::BeginKeyed, Role::EndKeyed, Role::Work];
        assert_eq!(roles(&moves, true), keyed);
        assert_eq!(roles(&moves, false), [Role::Begin, Role::End]);
        let stays = [Role::Begin, Role::End, Role::Gate];
        assert_eq!(roles(&stays, true), stays);
        assert_eq!(roles(&[Role::Whole], true), [Role::Whole]);
    }
}
