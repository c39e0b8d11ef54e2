//! The plan of probes: what is planted, under which id, and what the reports call it.

mod described;
mod discovered;
mod not_hooked;
mod unpatched;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::atomic::Ordering::*;

use evenkeel_analysis::findings::reasons::NotTimed;
use evenkeel_analysis::sites::SiteTable;
use evenkeel_symbols::Module;
use evenkeel_symbols::{Callee, Site, Unpatchable};
use evenkeel_wire::arch::code::JUMP_BYTES;
use evenkeel_wire::plan::UNDER_ENTRY as UNDER_ENTRY_MODULE;
use evenkeel_wire::{Displaced, Form, Operand, Probe, Role, Wanted};

use crate::arena::Arena;
use crate::location::Location;
pub(crate) use described::qualified;
use evenkeel_intervals::calling_back;
use evenkeel_intervals::interval::{Boundary, Meaning, Place};
pub use not_hooked::NotHooked;
use unpatched::Noted;
pub(crate) use unpatched::{Untimed, by_code};

/// Probes of a session.
pub struct Plan {
    /// Facts about each probe for reports.
    pub sites: SiteTable,
    probes: Vec<Planned>,
    /// Probes of calls and jumps, by the instruction.
    by_place: HashMap<Location, u32>,
    /// Hooks at entries, by the function; its first instruction may be a call with a separate probe.
    entries: HashMap<Location, u32>,
    /// Code that probes replace or displace, with its length.
    claimed: BTreeMap<Location, u8>,
    displaced: usize,
    dirty: bool,
    noted: Vec<Noted>,
    /// The noted calls, to look up.
    is_noted: HashSet<Noted>,
}

/// A probe, as the session knows it.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Functions that it calls and whose own calls lie below it. It is the callee, if that is known; for a call
    /// through a pointer, the seen callees whose entries cannot be hooked.
    pub callees: Vec<Location>,
    /// The symbol that the loader binds, where the callee is an import.
    pub import: Option<String>,
    /// The instruction that is hooked.
    pub place: Location,
    /// Function that holds the call site; for a hooked entry the function itself.
    pub holder: Location,
    /// The form of the instruction.
    pub form: Form,
    /// Its meaning.
    pub role: Role,
    /// The wanted state.
    pub wanted: Wanted,
    /// It is part of the hook at a function's entry and stays as long as that does.
    pub is_fixed: bool,
    /// It was planted once, and is not now.
    pub was_taken_out: bool,
}

impl Plan {
    /// An empty plan for an interval.
    pub fn new(root: &str, root_height: u32) -> Plan {
        let sites = SiteTable {
            root: root.to_owned(),
            root_height,
            sites: Vec::new(),
        };
        Plan {
            sites,
            probes: Vec::new(),
            by_place: HashMap::new(),
            entries: HashMap::new(),
            claimed: BTreeMap::new(),
            displaced: 0,
            dirty: false,
            noted: Vec::new(),
            is_noted: HashSet::new(),
        }
    }

    /// Names the interval, of this height in the static call graph.
    pub(crate) fn name_root(&mut self, root: &str, root_height: u32) {
        root.clone_into(&mut self.sites.root);
        self.sites.root_height = root_height;
    }

    /// All probes, by id.
    pub fn probes(&self) -> &[Planned] {
        &self.probes
    }

    /// Inner probes that are planted and can be taken out.
    pub fn planted(&self) -> impl Iterator<Item = u32> + '_ {
        let inner = |planned: &Planned| {
            planned.role == Role::Inner && planned.wanted == Wanted::On && !planned.is_fixed
        };
        self.probes
            .iter()
            .enumerate()
            .filter(move |(_, planned)| inner(planned))
            .map(|(id, _)| id as u32)
    }

    /// Plants a boundary of the interval, or a named function.
    ///
    /// # Errors
    /// It cannot be hooked, or something else is hooked there: one hook has one meaning.
    pub fn add_boundary(
        &mut self,
        arena: &mut Arena,
        index: usize,
        module: &Rc<Module>,
        boundary: &Boundary,
    ) -> Result<(), NotHooked> {
        let id = match &boundary.place {
            Place::Site(site) => self.site(arena, index, module, site, boundary.meaning),
            Place::Entry(entry, displaced) => self.entry(
                arena,
                Location::new(index, *entry),
                module,
                displaced,
                boundary.meaning,
            ),
        }?;
        match self.probes[id as usize].role {
            role if role == boundary.meaning.role => self.want(arena, id, Wanted::On),
            role => return Err(NotHooked::HookedAs(role)),
        }
        Ok(())
    }

    /// The probe of an inner call site, new if need be. `None` where it cannot be planted; the reason is kept.
    pub fn add_site(
        &mut self,
        arena: &mut Arena,
        index: usize,
        module: &Rc<Module>,
        site: &Site,
    ) -> Option<u32> {
        self.site(arena, index, module, site, Meaning::of(Role::Inner))
            .ok()
    }

    /// The probe at the entry of a function that is called through a pointer.
    pub(crate) fn add_entry(
        &mut self,
        arena: &mut Arena,
        function: Location,
        module: &Rc<Module>,
    ) -> Option<u32> {
        match module.displaced(function.address) {
            Ok(displaced) => {
                let inner = Meaning::of(Role::Inner);
                self.entry(arena, function, module, &displaced, inner).ok()
            }
            Err(reason) => {
                self.note_unpatched(Untimed::entry(function, module), by_code(reason), false);
                None
            }
        }
    }

    fn site(
        &mut self,
        arena: &mut Arena,
        index: usize,
        module: &Rc<Module>,
        site: &Site,
        meaning: Meaning,
    ) -> Result<u32, NotHooked> {
        let place = Location::new(index, site.address);
        if let Some(&id) = self.by_place.get(&place) {
            return Ok(id);
        }
        if let Err(reason) = site.form {
            self.note_unpatched(
                Untimed::call(arena, index, module, site.address),
                by_code(reason),
                hides_time(reason),
            );
            return Err(NotHooked::Unpatchable(reason));
        }
        if self.is_claimed(place, site.len) {
            let holder = module.function_at(site.address);
            let entry = holder.map(|holder| Location::new(index, holder.entry));
            let entry = entry.and_then(|entry| self.entries.get(&entry));
            let why = match entry.map(|&id| self.probes[id as usize].role) {
                Some(Role::Inner) => NotHooked::UnderInnerEntry,
                _ => NotHooked::UnderEntry,
            };
            self.note_unpatched(
                Untimed::call(arena, index, module, site.address),
                why.in_report(),
                true,
            );
            return Err(why);
        }
        let id = self.call(arena, index, module, site, meaning, false);
        let id = id.ok_or(NotHooked::Full)?;
        self.claimed.insert(place, site.len);
        Ok(id)
    }

    /// A new probe of a call that can be hooked.
    fn call(
        &mut self,
        arena: &mut Arena,
        index: usize,
        module: &Rc<Module>,
        site: &Site,
        meaning: Meaning,
        under_entry: bool,
    ) -> Option<u32> {
        let form = site.form.ok()?;
        let place = Location::new(index, site.address);
        let holder = module
            .function_at(site.address)
            .map_or(site.address, |function| function.entry);
        let holder = Location::new(index, holder);
        let id = arena.add_probe(|probe| {
            fill(probe, index, site.address, form, meaning);
            if under_entry {
                probe.module = UNDER_ENTRY_MODULE;
            }
            probe.target = site.target;
            probe.len = site.len;
            probe.bytes = site.bytes;
            probe.operand = site.operand.unwrap_or_default();
            if let Callee::Import(name) = &site.callee {
                probe.callbacks = calling_back::callbacks(name);
            }
        })?;
        let (callees, import) = match &site.callee {
            Callee::Function(entry) => (vec![Location::new(index, *entry)], None),
            Callee::Import(name) => (Vec::new(), Some(name.to_string())),
            Callee::Pointer => (Vec::new(), None),
        };
        self.describe(arena, id, holder, site.address, module, Some(&site.callee));
        self.probes.push(Planned {
            callees,
            import,
            place,
            holder,
            form,
            role: meaning.role,
            wanted: Wanted::Off,
            is_fixed: under_entry && is_timed(form),
            was_taken_out: false,
        });
        self.by_place.insert(place, id);
        Some(id)
    }

    fn entry(
        &mut self,
        arena: &mut Arena,
        function: Location,
        module: &Rc<Module>,
        displaced: &Displaced,
        meaning: Meaning,
    ) -> Result<u32, NotHooked> {
        let Location {
            module: index,
            address: entry,
        } = function;
        if let Some(&id) = self.entries.get(&function) {
            return Ok(id);
        }
        if self.is_claimed(function, displaced.len as u8) {
            self.note_unpatched(Untimed::entry(function, module), NotTimed::OverCall, false);
            return Err(NotHooked::OverSite);
        }
        let bytes = module.bytes_at(entry).ok_or(NotHooked::NoBytes)?;
        let mut displaced = *displaced;
        let call = self.displaced_call(arena, function, module, &displaced, meaning.role);
        displaced.call = call.map_or(0, |id| id + 1);
        let slot = self.displaced;
        if !arena.set_displaced(slot, &displaced) {
            return Err(NotHooked::Full);
        }
        let id = arena.add_probe(|probe| {
            fill(probe, index, entry, Form::Entry, meaning);
            probe.len = displaced.len as u8;
            probe.bytes = bytes;
            probe.displaced = slot as u32;
        });
        let id = id.ok_or(NotHooked::Full)?;
        self.displaced += 1;
        self.describe(arena, id, function, entry, module, None);
        self.probes.push(Planned {
            callees: vec![function],
            import: None,
            place: function,
            holder: function,
            form: Form::Entry,
            role: meaning.role,
            wanted: Wanted::Off,
            is_fixed: false,
            was_taken_out: false,
        });
        self.entries.insert(function, id);
        self.claimed.insert(function, displaced.len as u8);
        Ok(id)
    }

    /// The probe of a call that lies under the hook at a function's entry. One that can be timed is a part of that
    /// hook, and is timed as long as that is there: only for boundaries, whose functions are opened anyway. One that
    /// can only be trapped is trapped in the hook.
    fn displaced_call(
        &mut self,
        arena: &mut Arena,
        function: Location,
        module: &Rc<Module>,
        displaced: &Displaced,
        role: Role,
    ) -> Option<u32> {
        let Location {
            module: index,
            address: entry,
        } = function;
        let moved = entry..entry + u64::from(displaced.len);
        let sites = module.call_sites(entry);
        let site = sites.iter().find(|site| moved.contains(&site.address))?;
        let last = displaced.pieces[..displaced.count as usize].last()?;
        let form = site.form.ok()?;
        let is_last = entry + u64::from(last.origin) <= site.address && displaced.resume == 0;
        let can_be_timed = is_timed(form) && usize::from(last.len) >= JUMP_BYTES;
        if !is_last || is_timed(form) && (!can_be_timed || role == Role::Inner) {
            return None;
        }
        let id = self.call(arena, index, module, site, Meaning::of(Role::Inner), true)?;
        if can_be_timed {
            self.want(arena, id, Wanted::On);
        }
        Some(id)
    }

    /// Whether the call at an instruction is timed, or trapped.
    pub(crate) fn is_planted_at(&self, place: Location) -> bool {
        let id = self.by_place.get(&place);
        id.is_some_and(|&id| self.probes[id as usize].wanted != Wanted::Off)
    }

    /// Whether an instruction lies under the hook at its function's entry.
    pub(crate) fn is_under_entry(&self, function: Location, address: u64) -> bool {
        let is_hooked = self.entries.contains_key(&function);
        let len = self.claimed.get(&function).copied().unwrap_or(0);
        is_hooked && (function.address..function.address + u64::from(len)).contains(&address)
    }

    /// Whether another probe replaces or displaces some of these bytes: two changes of one instruction destroy each
    /// other.
    fn is_claimed(&self, place: Location, len: u8) -> bool {
        let Location { module, address } = place;
        let end = Location::new(module, address + u64::from(len));
        let before = self.claimed.range(Location::new(module, 0)..end);
        let mut before = before.rev();
        before
            .next()
            .is_some_and(|(claimed, &len)| claimed.address + u64::from(len) > address)
    }

    /// Notes a function whose calls lie below a probe, once it is known: an import's definition, or what was seen to be
    /// called through a pointer.
    pub(crate) fn add_callee(&mut self, id: u32, callee: Location, height: u32) {
        let callees = &mut self.probes[id as usize].callees;
        if !callees.contains(&callee) {
            callees.push(callee);
        }
        let described = &mut self.sites.sites[id as usize];
        described.height = described.height.max(height);
    }

    /// Changes what is wanted of a probe; agents see it at the next [`Plan::publish`].
    pub fn want(&mut self, arena: &Arena, id: u32, wanted: Wanted) {
        let planned = &mut self.probes[id as usize];
        let is_of_form = match wanted {
            Wanted::Off => true,
            Wanted::On => is_timed(planned.form),
            Wanted::Discover => planned.form != Form::Entry,
        };
        debug_assert!(is_of_form, "{wanted:?} of {:?}", planned.form);
        let can_be = is_of_form && (!planned.is_fixed || planned.wanted == Wanted::Off);
        if planned.wanted != wanted && can_be {
            planned.was_taken_out = wanted == Wanted::Off;
            planned.wanted = wanted;
            arena.probes()[id as usize]
                .wanted
                .store(wanted as u32, Release);
            self.dirty = true;
        }
    }

    /// Makes the next [`Plan::publish`] one even if nothing is planted: intervals that the target marks itself need a
    /// round.
    pub fn touch(&mut self) {
        self.dirty = true;
    }

    /// Lets agents see the changes. The new generation, if there were any.
    pub fn publish(&mut self, arena: &Arena) -> Option<u32> {
        std::mem::take(&mut self.dirty).then(|| arena.control().generation.fetch_add(1, AcqRel) + 1)
    }
}

/// Whether calls of this form are timed where they are; others can only be trapped.
pub(crate) fn is_timed(form: Form) -> bool {
    !matches!(form, Form::ShortIndirectCall | Form::IndirectJump)
}

/// Whether a call that cannot be redirected for this reason may take time that is part of its caller's own. The
/// callees of calls through pointers are discovered. Other calls take almost no time: nearly all that depend on their
/// caller look up a thread's variable.
fn hides_time(reason: Unpatchable) -> bool {
    !matches!(
        reason,
        Unpatchable::NeverReturns
            | Unpatchable::ReturnsTwice
            | Unpatchable::CallerSensitive
            | Unpatchable::ReadsInstructionPointer
            | Unpatchable::ShortIndirectCall
            | Unpatchable::IndirectTailJump
    )
}

fn fill(probe: &mut Probe, index: usize, address: u64, form: Form, meaning: Meaning) {
    probe.module = index as u32;
    probe.address = address;
    probe.form = form as u8;
    probe.role = meaning.role as u8;
    (probe.label, probe.label_argument) = (meaning.label.0 as u8, meaning.label.1);
    probe.label_variable = meaning.label_variable;
    probe.label_members = meaning.label_members;
    probe.key_argument = meaning.key;
    probe.operand = Operand::default();
}
