//! A class with the probes that are wanted in it.

use std::collections::BTreeSet;

use evenkeel_analysis::findings::reasons::NotTimed;
use evenkeel_analysis::profile::Unpatched;
use evenkeel_analysis::sites::{Kind, Site};
use evenkeel_classfile::{Argument, CallKind, CallSite, Class, Helper, Limits, MethodProbes};
use evenkeel_wire::jvm::HELPER_CLASS;
use evenkeel_wire::plan::{KEY_THIS, UNDER_ENTRY};
use evenkeel_wire::{Label, Role, Wanted};

use super::super::kinds;
use super::super::method::{Purpose, dotted};
use super::super::stacks::Called;
use super::{Calls, Meaning, Place, Plan, Wish, only};
use crate::arena::Arena;

/// Result of rewriting the probes of a class.
#[derive(Debug, Default)]
pub(in crate::java) struct Rewritten {
    /// The class file; `None` where it stays unchanged.
    pub(in crate::java) bytes: Option<Vec<u8>>,
    /// What methods of the class are to the intervals now.
    pub(in crate::java) purposes: Vec<Purpose>,
    /// Methods that have code, by name.
    pub(in crate::java) has: BTreeSet<String>,
    /// Why methods that should be intervals are not.
    pub(in crate::java) refused: Vec<String>,
    /// Parameters of methods that lack the argument that is to be the label or key of intervals.
    pub(in crate::java) without_argument: Vec<(Purpose, String)>,
}

impl Plan {
    /// Rewrites a class as is wanted. `height` is the longest chain of calls seen below a method.
    pub(in crate::java) fn rewrite(
        &mut self,
        number: u32,
        bytes: &[u8],
        arena: &mut Arena,
        height: impl Fn(&Called) -> u32,
    ) -> Rewritten {
        let mut rewritten = Rewritten::default();
        let Some(wish) = self.wishes.get(&number).cloned() else {
            return rewritten;
        };
        let Ok(class) = Class::read(bytes) else {
            rewritten
                .refused
                .push("its class file cannot be read".into());
            return rewritten;
        };
        let mut plan = evenkeel_classfile::Plan::default();
        let (class_name, file) = (class.name(), class.source_file());
        for method in class.methods() {
            let (Ok(name), Ok(descriptor)) = (method.name(), method.descriptor()) else {
                continue;
            };
            if !method.has_code() {
                continue;
            }
            rewritten.has.insert(name.to_string());
            let key = (name.into_owned(), descriptor.into_owned());
            let named = Named {
                class: number,
                name: &class_name,
                file: file.as_deref(),
                method: &key,
            };
            let probes = self.probes(&named, &method, &wish, &mut rewritten, arena, &height);
            plan.methods.insert(method.index(), probes);
        }
        let helper = Helper {
            class: HELPER_CLASS,
        };
        let done = class.instrument(&plan, &helper, &Limits::default());
        for refusal in &done.refused {
            rewritten.refused.push(refusal.reason.to_string());
            if let Some(purpose) = wish.methods.get(&refusal.method) {
                let at = rewritten.purposes.iter().position(|one| one == purpose);
                at.map(|at| rewritten.purposes.swap_remove(at));
            }
            self.note_refused(number, &class.name(), refusal);
        }
        rewritten.bytes = done.class;
        rewritten
    }

    /// The probes of a method.
    fn probes(
        &mut self,
        named: &Named<'_>,
        method: &evenkeel_classfile::Method<'_, '_>,
        wish: &Wish,
        rewritten: &mut Rewritten,
        arena: &mut Arena,
        height: &impl Fn(&Called) -> u32,
    ) -> MethodProbes {
        let mut probes = MethodProbes::default();
        // What a bridge calls has the probe.
        let purpose = wish.methods.get(&named.method.0).copied();
        let purpose = purpose.filter(|_| !method.is_bridge());
        if let Some(purpose) = purpose
            && let Some(role) = purpose.role()
        {
            if matches!(named.method.0.as_str(), "<init>" | "<clinit>") {
                rewritten.refused.push("it is a constructor".into());
                return probes;
            }
            let wants_argument =
                purpose.key().is_some() || (purpose == Purpose::Interval && self.label.is_some());
            probes.label = self.argument(method, purpose);
            if wants_argument && probes.label.is_none() {
                let lacking = (purpose, named.method.1.clone());
                rewritten.without_argument.push(lacking);
            }
            // An interval without its label is one, and without its key it is none.
            if purpose.key().is_none() || probes.label.is_some() {
                let meaning = match purpose {
                    Purpose::Interval => Meaning::Call,
                    Purpose::Begin(_) if self.queues => Meaning::Queues,
                    _ => Meaning::Keyed,
                };
                probes.body = self.body(named, role, meaning, arena, height);
                rewritten.purposes.extend(probes.body.map(|_| purpose));
            }
        } else if wish.bodies.contains(named.method) {
            probes.body = self.body(named, Role::Inner, Meaning::Call, arena, height);
        }
        let calls = match wish.opened.get(named.method) {
            Some(calls) => Some(calls),
            None => purpose
                .filter(|purpose| purpose.is_opened())
                .map(|_| &Calls::All),
        };
        if calls.is_none() && !wish.parks {
            return probes;
        }
        let sites = method.call_sites().unwrap_or_default();
        if wish.parks {
            self.parks(named, method, &sites, &mut probes, arena);
        }
        let chosen = calls.map(|calls| chosen(&sites, calls));
        for (site, actual) in chosen.unwrap_or_default() {
            if let Some(id) = self.call(named, &site, actual, arena, height) {
                probes.calls.insert(site.pc, id);
            }
        }
        probes
    }

    /// The argument of a method that its body's probe is entered with: the key of intervals, or their label.
    fn argument(
        &self,
        method: &evenkeel_classfile::Method<'_, '_>,
        purpose: Purpose,
    ) -> Option<Argument> {
        match (purpose.key(), purpose) {
            (Some(KEY_THIS), _) => method.this(),
            (Some(number), _) => method.argument(number.into()).ok().flatten(),
            (None, Purpose::Interval) => {
                let (kind, number) = self.label?;
                let argument = method.argument(number.into()).ok().flatten();
                let is_text = |argument: &Argument| matches!(argument, Argument::Object(_));
                argument.filter(|argument| is_text(argument) == (kind == Label::Text))
            }
            (None, _) => None,
        }
    }

    /// The probes of a method that stays unchanged.
    fn note_refused(&mut self, class: u32, name: &str, refusal: &evenkeel_classfile::Refusal) {
        let method = (refusal.method.clone(), refusal.descriptor.clone());
        let ids: Vec<u32> = self
            .ids
            .iter()
            .filter(|(place, _)| place.class == class && place.method == method)
            .map(|(_, &id)| id)
            .collect();
        for id in ids {
            self.on[id as usize] = false;
        }
        let site = format!("{}.{}", dotted(name), refusal.method);
        let reason = NotTimed::Code(refusal.reason.to_string());
        if !self.unpatched.iter().any(|known| known.site == site) {
            self.unpatched.push(Unpatched {
                site,
                reason,
                probe: None,
                within: None,
                hides_time: true,
            });
        }
    }

    /// The probes of a method that parks or unparks threads.
    fn parks(
        &mut self,
        named: &Named<'_>,
        method: &evenkeel_classfile::Method<'_, '_>,
        sites: &[CallSite],
        probes: &mut MethodProbes,
        arena: &mut Arena,
    ) {
        let described = |site: String| Site {
            callee: site.clone(),
            caller: named.full(),
            site,
            kind: Kind::Lock,
            ..Site::default()
        };
        for site in sites.iter().filter(|site| is_park(site)) {
            let place = named.place(Some(site.pc));
            let described = described(format!("{}+{}", named.full(), site.pc));
            if let Some(id) = self.probe(place, None, described, Meaning::Parks, arena) {
                probes.calls.insert(site.pc, id);
            }
        }
        let thread = method.argument(0).ok().flatten();
        if let Some(thread @ Argument::Object(_)) = thread
            && named.method.0 == "unpark"
        {
            let described = described(named.full());
            let place = named.place(None);
            probes.body = self.probe(place, None, described, Meaning::Unparks, arena);
            probes.label = Some(thread);
        }
    }

    /// The probe of a method's body.
    fn body(
        &mut self,
        named: &Named<'_>,
        role: Role,
        meaning: Meaning,
        arena: &mut Arena,
        height: &impl Fn(&Called) -> u32,
    ) -> Option<u32> {
        let site = Site {
            callee: named.full(),
            callee_file: Some(String::new()),
            file: named.file.map(str::to_owned),
            height: height(named.method),
            ..Site::default()
        };
        let place = named.place(None);
        self.probe_of(place, None, site, role, meaning, arena)
    }

    fn call(
        &mut self,
        named: &Named<'_>,
        site: &CallSite,
        actual: Option<&str>,
        arena: &mut Arena,
        height: &impl Fn(&Called) -> u32,
    ) -> Option<u32> {
        let called = (site.method.clone(), site.descriptor.clone());
        let class = actual.or(site.class.as_deref()).unwrap_or_default();
        let callee = match class {
            "" => site.method.clone(),
            class => format!("{}.{}", dotted(class), site.method),
        };
        let described = Site {
            kind: kinds::of(class, &site.method),
            callee,
            caller: named.full(),
            callee_file: Some(String::new()),
            caller_file: Some(String::new()),
            address: None,
            site: format!("{}+{}", named.full(), site.pc),
            file: named.file.map(str::to_owned),
            line: site.line.map(u32::from),
            height: height(&called),
        };
        let place = named.place(Some(site.pc));
        self.probe(place, Some(called), described, Meaning::Call, arena)
    }

    /// The probe of a call or wait inside of intervals, new if need be.
    pub(super) fn probe(
        &mut self,
        place: Place,
        called: Option<Called>,
        site: Site,
        meaning: Meaning,
        arena: &mut Arena,
    ) -> Option<u32> {
        self.probe_of(place, called, site, Role::Inner, meaning, arena)
    }

    /// The probe at a place, new if need be. Nothing where there is no room for it.
    fn probe_of(
        &mut self,
        place: Place,
        called: Option<Called>,
        site: Site,
        role: Role,
        meaning: Meaning,
        arena: &mut Arena,
    ) -> Option<u32> {
        if let Some(&id) = self.ids.get(&place) {
            return Some(self.base + id);
        }
        if self.on.len() as u32 >= self.probes_max {
            return None;
        }
        let id = arena.add_probe(|probe| {
            probe.module = UNDER_ENTRY;
            probe.role = role as u8;
            probe.wanted = (Wanted::On as u32).into();
        })?;
        debug_assert_eq!(id as usize, self.sites.sites.len());
        self.sites.sites.push(site);
        self.on.push(true);
        self.inner.push(role == Role::Inner);
        self.meanings.push(meaning);
        self.calls
            .push(called.map(|called| (place.clone(), called)));
        self.ids.insert(place, id);
        Some(self.base + id)
    }
}

/// A method that is rewritten.
struct Named<'a> {
    class: u32,
    name: &'a str,
    file: Option<&'a str>,
    method: &'a Called,
}

impl Named<'_> {
    fn full(&self) -> String {
        format!("{}.{}", dotted(self.name), self.method.0)
    }

    fn place(&self, pc: Option<u16>) -> Place {
        Place {
            class: self.class,
            method: self.method.clone(),
            pc,
        }
    }
}

/// The calls of a method that are to be timed, each with the class that was seen to have the method, where it was
/// always one.
fn chosen<'a>(sites: &[CallSite], calls: &'a Calls) -> Vec<(CallSite, Option<&'a str>)> {
    let all = || {
        let sites = sites.iter().filter(|site| !is_small(site)).cloned();
        sites.map(|site| (site, None)).collect::<Vec<_>>()
    };
    let Calls::Of(wanted) = calls else {
        return all();
    };
    let named = sites.iter().filter_map(|site| {
        let called = (site.method.clone(), site.descriptor.clone());
        let classes = wanted.get(&called)?;
        Some((site.clone(), only(classes)))
    });
    let named: Vec<_> = named.collect();
    if named.is_empty() { all() } else { named }
}

/// Whether a call is the one that parks the thread.
fn is_park(site: &CallSite) -> bool {
    let is_unsafe = |class: &str| class.ends_with("/Unsafe");
    site.method == "park" && site.class.as_deref().is_some_and(is_unsafe)
}

/// Calls that compilers leave nothing of, or next to nothing: a probe would take longer than they do.
fn is_small(site: &CallSite) -> bool {
    let class = site.class.as_deref().unwrap_or_default();
    match site.kind {
        // Joined strings and lambdas: what they make is looked at where it is called.
        CallKind::Dynamic => true,
        _ if class.starts_with('[') => true,
        _ => match class {
            "java/lang/Object" => matches!(site.method.as_str(), "<init>" | "getClass"),
            "java/lang/Integer"
            | "java/lang/Long"
            | "java/lang/Boolean"
            | "java/lang/Double"
            | "java/lang/Character"
            | "java/lang/Byte"
            | "java/lang/Short"
            | "java/lang/Float" => site.method == "valueOf" || site.method.ends_with("Value"),
            "java/lang/Math" | "java/util/Objects" => true,
            "java/lang/System" => matches!(
                site.method.as_str(),
                "nanoTime" | "currentTimeMillis" | "identityHashCode"
            ),
            "java/lang/String" => matches!(site.method.as_str(), "length" | "charAt" | "isEmpty"),
            _ => false,
        },
    }
}
