//! Why the plan has no probe for a place.

use evenkeel_analysis::findings::reasons::NotTimed;
use evenkeel_symbols::Unpatchable;
use evenkeel_wire::Role;
use thiserror::Error;

/// Why the plan has no probe for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotHooked {
    /// The instruction cannot be redirected.
    #[error("{0}")]
    Unpatchable(Unpatchable),
    /// A hook at the entry of an interval's function covers it.
    #[error(
        "it lies under the hook at the function's entry; to time it, name the interval by its call, as caller>function"
    )]
    UnderEntry,
    /// The same of a function that is no interval's.
    #[error(
        "it lies under the hook at the function's entry, and its callee is not expanded or not known"
    )]
    UnderInnerEntry,
    /// The hook at an entry would cover a probe.
    #[error("a call in its first instructions is timed already")]
    OverSite,
    /// The place is hooked with another meaning.
    #[error("it is hooked already, as {}", in_words(*.0))]
    HookedAs(Role),
    /// The file does not have the entry's bytes.
    #[error("its file has no code there")]
    NoBytes,
    /// The shared memory has room for no more.
    #[error("the plan has no room for more probes: name fewer functions, or lower --plant")]
    Full,
}

impl NotHooked {
    /// The reason in the words of reports, for a call that is not timed.
    pub(super) fn in_report(self) -> NotTimed {
        match self {
            NotHooked::UnderInnerEntry => NotTimed::UnderInnerEntry,
            _ => NotTimed::UnderEntry,
        }
    }
}

/// The meaning of a hooked place.
fn in_words(role: Role) -> &'static str {
    match role {
        Role::Inner => "a call that is timed",
        Role::Whole => "the interval itself",
        Role::Begin | Role::BeginKeyed => "a beginning of the interval",
        Role::End | Role::EndKeyed => "an end of the interval",
        Role::Work => "a function that starts work on an interval",
        Role::Gate => "a wait for the client",
        Role::Label => "what labels the interval",
        Role::Step => "a step of the interval",
        Role::Acquire => "a function of --acquire",
        Role::Release => "a function of --release",
        Role::Enqueue => "a function of --enqueue",
        Role::Dequeue => "a function of --dequeue",
    }
}
