//! The probes of a session in a JVM: which class has which, under which id, and what reports call them.

mod rewriting;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use evenkeel_analysis::findings::reasons::NotTimed;
use evenkeel_analysis::profile::Unpatched;
use evenkeel_analysis::sites::SiteTable;
use evenkeel_wire::Wanted;
use evenkeel_wire::jvm::{BLOCKS, INSIDE, KEYED, ON, PARKS, QUEUES, UNPARKS};

use super::kinds;
use super::method::{LabelArgument, Purpose, dotted};
use super::stacks::{Called, Stacks};
use super::waits;
use crate::arena::Arena;

/// Which calls of a method are timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    /// All but those of methods that are too small.
    All,
    /// Calls of these methods, with the classes that were seen to have them. All calls, if none of them names such a
    /// method, as where the JVM has frames in between.
    Of(BTreeMap<Called, BTreeSet<String>>),
}

/// The meaning of a probe to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// A call, or an interval.
    Call,
    /// A method that is called with the key of an interval, or works for intervals that have keys.
    Keyed,
    /// The same, and an interval that begins there waits in a queue until a thread works on it.
    Queues,
    /// A wait: no code has it.
    Reserved,
    /// The call that parks the thread.
    Parks,
    /// The method that unparks another thread.
    Unparks,
}

/// The probes of a class: of methods by name, and by descriptor if there is one.
#[derive(Clone, Debug, Default)]
struct Wish {
    /// What methods are to the intervals, by name.
    methods: BTreeMap<String, Purpose>,
    /// Methods that are timed themselves, because no call of them can be.
    bodies: BTreeSet<Called>,
    /// Methods that are opened.
    opened: BTreeMap<(String, String), Calls>,
    /// Its methods park and unpark threads, which is recorded.
    parks: bool,
}

/// A probe's place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Place {
    class: u32,
    method: (String, String),
    /// The call; nothing for the method itself.
    pc: Option<u16>,
}

/// The probes of a session.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Facts about each probe for reports.
    pub(super) sites: SiteTable,
    /// The argument of intervals that is their label.
    pub(super) label: Option<LabelArgument>,
    /// The time until a thread works on an interval is time in a queue, and not that of threads that serve several
    /// intervals.
    pub(super) queues: bool,
    base: u32,
    probes_max: u32,
    wishes: HashMap<u32, Wish>,
    ids: HashMap<Place, u32>,
    /// Probes that are in the code, by id, and are on.
    on: Vec<bool>,
    inner: Vec<bool>,
    meanings: Vec<Meaning>,
    /// By id: the method that holds the call, and what it names; nothing for intervals.
    calls: Vec<Option<(Place, Called)>>,
    /// Call sites that could not be timed.
    unpatched: Vec<Unpatched>,
}

impl Plan {
    /// The agent has joined: numbers in Java code begin at `base`, and `probes_max` of them exist.
    pub(super) fn begin(&mut self, base: u32, probes_max: u32) {
        self.base = base;
        self.probes_max = probes_max;
    }

    /// Wants the methods of this name in a class for a purpose.
    pub(super) fn want(&mut self, class: u32, method: &str, purpose: Purpose) {
        let wish = self.wishes.entry(class).or_default();
        wish.methods.insert(method.to_owned(), purpose);
    }

    /// Whether methods of a class are wanted for a purpose.
    pub(super) fn is_named(&self, class: u32) -> bool {
        self.wishes
            .get(&class)
            .is_some_and(|wish| !wish.methods.is_empty())
    }

    /// Wants a method timed itself, because the code that calls it cannot be changed.
    pub(super) fn time_body(&mut self, class: u32, method: &str, descriptor: &str) {
        let wish = self.wishes.entry(class).or_default();
        wish.bodies
            .insert((method.to_owned(), descriptor.to_owned()));
    }

    /// Reserves probes for waits: the first of them.
    pub(super) fn reserve(&mut self, arena: &mut Arena) -> u32 {
        let first = self.on.len() as u32;
        for number in 0..waits::PROBES {
            let place = Place {
                class: u32::MAX,
                method: (String::new(), number.to_string()),
                pc: None,
            };
            let site = waits::unnamed(number);
            self.probe(place, None, site, Meaning::Reserved, arena);
        }
        first
    }

    /// Names those of them that the agent uses.
    pub(super) fn name_waits(&mut self, first: u32, names: &[waits::Named]) {
        for named in names {
            let id = first.saturating_add(named.number) as usize;
            if self.meanings.get(id) == Some(&Meaning::Reserved) {
                self.sites.sites[id] = waits::named(named);
            }
        }
    }

    /// Wants it recorded when methods of this class park and unpark threads.
    pub(super) fn want_parks(&mut self, class: u32) {
        self.wishes.entry(class).or_default().parks = true;
    }

    /// Wants calls of a method timed.
    pub(super) fn open(&mut self, class: u32, method: &str, descriptor: &str, calls: Calls) {
        let wish = self.wishes.entry(class).or_default();
        let method = (method.to_owned(), descriptor.to_owned());
        let known = wish.opened.entry(method).or_insert_with(|| calls.clone());
        if let (Calls::Of(known), Calls::Of(more)) = (&mut *known, calls) {
            known.extend(more);
        }
    }

    /// The classes with probes.
    pub(super) fn classes(&self) -> Vec<u32> {
        let mut classes: Vec<u32> = self.wishes.keys().copied().collect();
        classes.sort_unstable();
        classes
    }

    /// Nothing is wanted in a class any more.
    pub(super) fn forget(&mut self, class: u32) {
        self.wishes.remove(&class);
    }

    /// Probes of calls that are on.
    pub(super) fn planted(&self) -> usize {
        let ids = 0..self.on.len() as u32;
        ids.filter(|&id| self.may_close(id)).count()
    }

    /// The bytes that say which probes are on, and what they are.
    pub(super) fn states(&self) -> Vec<u8> {
        let by_others = self.is_recorded_for_others();
        let state = |(id, &on): (usize, &bool)| match self.meanings[id] {
            _ if !on => 0,
            Meaning::Parks => PARKS,
            Meaning::Unparks => UNPARKS,
            Meaning::Keyed => KEYED,
            Meaning::Queues => QUEUES,
            Meaning::Call if self.sites.sites[id].kind.is_wait() => BLOCKS,
            Meaning::Call if self.inner[id] && !by_others => INSIDE,
            Meaning::Call | Meaning::Reserved => ON,
        };
        self.on.iter().enumerate().map(state).collect()
    }

    /// Whether threads record calls for intervals of other threads: waits are followed, or intervals move between threads.
    fn is_recorded_for_others(&self) -> bool {
        let calls_alone = |meaning| matches!(meaning, &Meaning::Call);
        !self.meanings.iter().all(calls_alone)
    }

    /// Turns a probe off.
    pub(super) fn close(&mut self, id: u32, arena: &Arena) {
        if let Some(on) = self.on.get_mut(id as usize) {
            *on = false;
            arena.probes()[id as usize]
                .wanted
                .store(Wanted::Off as u32, std::sync::atomic::Ordering::Release);
        }
    }

    /// Whether a probe is on that can be turned off.
    pub(super) fn may_close(&self, id: u32) -> bool {
        let at = id as usize;
        self.on.get(at) == Some(&true)
            && self.inner.get(at) == Some(&true)
            && self.meanings.get(at) == Some(&Meaning::Call)
    }

    /// Notes why a probe was turned off.
    pub(super) fn note_closed(&mut self, id: u32, reason: NotTimed) {
        if let Some(site) = self.sites.sites.get(id as usize) {
            let unpatched = Unpatched {
                site: site.site.clone(),
                reason,
                probe: Some(id),
                within: site.holder(),
                hides_time: true,
            };
            self.unpatched.push(unpatched);
        }
    }

    /// Whether a call of this method, and of no other class's, was too costly to time. The calls that it makes cost as much at
    /// least.
    pub(super) fn is_too_costly(&self, class: &str, method: &str, descriptor: &str) -> bool {
        let callee = format!("{}.{method}", dotted(class));
        let closed = self.unpatched.iter();
        let mut ids = closed
            .filter(|one| one.reason == NotTimed::CalledTooOften)
            .filter_map(|one| Some(one.probe? as usize));
        ids.any(|id| {
            let called = self.calls[id].as_ref().map(|(_, called)| called);
            self.sites.sites[id].callee == callee
                && called.is_some_and(|called| called.1 == descriptor)
        })
    }

    /// Call sites that could not be timed.
    pub(super) fn unpatched(&self) -> Vec<Unpatched> {
        self.unpatched.clone()
    }

    /// Inner probes that are on.
    pub(super) fn inner(&self) -> BTreeSet<u32> {
        let probes = self.on.iter().zip(&self.inner);
        let on = probes
            .enumerate()
            .filter(|(_, (on, inner))| **on && **inner);
        on.map(|(id, _)| id as u32).collect()
    }

    /// Takes in what stacks say of calls that have probes: how high they are, and whose methods they call where these
    /// are always one class's.
    pub(super) fn learn(&mut self, stacks: &Stacks) {
        for (site, call) in self.sites.sites.iter_mut().zip(&self.calls) {
            let Some((place, called)) = call else {
                self.sites.root_height = self.sites.root_height.max(site.height);
                continue;
            };
            site.height = stacks.height(called);
            let classes = stacks.classes(place.class, &place.method, called);
            if let Some(class) = only(&classes) {
                site.callee = format!("{}.{}", dotted(class), called.0);
                site.kind = kinds::of(class, &called.0);
            }
        }
        self.sites.root_height = self.sites.root_height.max(stacks.height_max());
    }

    /// Inner probes whose callees have no probes of their own.
    pub(super) fn not_opened(&self) -> Vec<u32> {
        let opened: BTreeSet<&Called> = self
            .wishes
            .values()
            .flat_map(|wish| wish.opened.keys())
            .collect();
        let is_closed = |(id, call): (usize, &Option<(Place, Called)>)| {
            let (_, called) = call.as_ref()?;
            (!opened.contains(called)).then_some(id as u32)
        };
        self.calls
            .iter()
            .enumerate()
            .filter_map(is_closed)
            .collect()
    }
}

/// The methods' class, if it is a single one, and no lambda's.
fn only(classes: &BTreeSet<String>) -> Option<&str> {
    let mut classes = classes.iter().map(String::as_str);
    match (classes.next(), classes.next()) {
        (Some(only), None) if !is_hidden(only) => Some(only),
        _ => None,
    }
}

/// Names of classes that the JVM makes for lambdas.
fn is_hidden(class: &str) -> bool {
    class.contains("$$Lambda") || class.contains(".0x") || class.contains("/0x")
}

#[cfg(test)]
mod tests {
    use evenkeel_analysis::sites::Site;

    use super::*;

    /// The bytes of an interval's probe, of a call's, and of one with another meaning.
    fn states(other: Meaning) -> Vec<u8> {
        let meanings = vec![Meaning::Call, Meaning::Call, other];
        let plan = Plan {
            sites: SiteTable {
                sites: vec![Site::default(); meanings.len()],
                ..SiteTable::default()
            },
            on: vec![true; meanings.len()],
            inner: vec![false, true, true],
            meanings,
            ..Plan::default()
        };
        plan.states()
    }

    /// A call of a.B.c and one of a method that several classes have were too costly; one of a.B.d lost records.
    #[test]
    fn what_was_too_costly_to_time_is_a_method_of_a_class() {
        let mut plan = Plan::default();
        for (callee, name, reason) in [
            ("a.B.c", "c", NotTimed::CalledTooOften),
            ("get", "get", NotTimed::CalledTooOften),
            ("a.B.d", "d", NotTimed::LosesRecords),
        ] {
            let place = Place {
                class: 0,
                method: ("m".into(), "()V".into()),
                pc: Some(1),
            };
            plan.calls.push(Some((place, (name.into(), "()V".into()))));
            plan.sites.sites.push(Site {
                callee: callee.into(),
                ..Site::default()
            });
            plan.note_closed(plan.calls.len() as u32 - 1, reason);
        }
        assert!(plan.is_too_costly("a/B", "c", "()V"));
        for (class, name, descriptor) in [
            ("a/B", "c", "(I)V"),
            ("a/C", "c", "()V"),
            ("a/B", "d", "()V"),
            ("a/B", "get", "()V"),
        ] {
            assert!(
                !plan.is_too_costly(class, name, descriptor),
                "{class}.{name}"
            );
        }
    }

    #[test]
    fn a_call_has_nothing_to_record_outside_of_recorded_intervals_unless_threads_record_for_others()
    {
        assert_eq!(states(Meaning::Call), [ON, INSIDE, INSIDE]);
        assert_eq!(states(Meaning::Reserved), [ON, ON, ON]);
        assert_eq!(states(Meaning::Keyed), [ON, ON, KEYED]);
        assert_eq!(states(Meaning::Unparks), [ON, ON, UNPARKS]);
    }
}
