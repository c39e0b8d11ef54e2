//! Brings the code of this process in line with the plan.
//!
//! One patcher a process, used under one lock. Its tables are private memory, so that a child of `fork` starts with its
//! parent's state, which is the state of the code it inherited. Trap handlers read them without the lock: an entry is
//! complete before its address appears in the index.

use core::ptr;
use core::sync::atomic::Ordering::*;

use evenkeel_wire::arch::SUPPORTED;
use evenkeel_wire::arch::code::JUMP_BYTES;
use evenkeel_wire::plan::UNDER_ENTRY;
use evenkeel_wire::{Displaced, Form, PROBES_MAX, Probe, Refusal, Wanted};

use crate::arch::fault;
use crate::arch::flip::{self, Change, SPAN_MAX};
use crate::arch::jump::redirect;
use crate::arch::stubs::Boundaries;
use crate::arch::trampoline::Hook;
use crate::arch::trap::{self, Carried};
use crate::code;
use crate::hook::{form_of, hook_of, is_timed, make, rename};
use crate::index::SiteIndex;
use crate::kept::{Kept, identity};
use crate::kernel;
use crate::module::LoadedModule;
use crate::region::Region;
use crate::site::{EntryCode, Goal, Made, Met, Site, Stands, Way};
use crate::table;

/// Modules with hooks in one process.
const REGIONS_MAX: usize = 64;
const BATCH_MAX: usize = 512;

/// The plan, as it lies in the arena.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// All probes.
    pub probes: &'a [Probe],
    /// All displaced entries.
    pub displaced: &'a [Displaced],
}

/// See the module's head.
pub struct Patcher {
    sites: *mut Site,
    index: SiteIndex,
    kept: Kept,
    regions: [*mut Region; REGIONS_MAX],
    regions_len: usize,
    /// The process whose code this is.
    process: i32,
    barrier: bool,
    boundaries: Option<Boundaries>,
    batch: [Change; BATCH_MAX],
    batch_len: usize,
    /// What is changed now stays so: nothing may be left to breakpoints.
    for_good: bool,
}

// SAFETY: used under the caller's lock; what trap handlers read is published as described above.
unsafe impl Send for Patcher {}

impl Default for Patcher {
    fn default() -> Self {
        Patcher::new()
    }
}

impl Patcher {
    /// Does nothing yet.
    pub const fn new() -> Patcher {
        const NOTHING: Change = Change {
            address: ptr::null_mut(),
            bytes: [0; SPAN_MAX],
            len: 0,
            boundaries: 0,
        };
        Patcher {
            sites: ptr::null_mut(),
            index: SiteIndex::new(),
            kept: Kept::new(),
            regions: [ptr::null_mut(); REGIONS_MAX],
            regions_len: 0,
            process: 0,
            barrier: false,
            boundaries: None,
            batch: [NOTHING; BATCH_MAX],
            batch_len: 0,
            for_good: false,
        }
    }

    /// Maps the tables and registers with the kernel. False if there is no memory.
    pub fn prepare(&mut self, boundaries: Boundaries) -> bool {
        self.boundaries = Some(boundaries);
        self.after_fork();
        self.barrier = flip::register_barrier();
        let sites = table::map(PROBES_MAX * size_of::<Site>());
        if sites.is_null() || !self.index.prepare() {
            return false;
        }
        self.sites = sites.cast();
        self.kept.prepare();
        true
    }

    /// For another session, whose plan has other probes: nothing is patched. Trampolines stay, since threads may be inside, and are
    /// taken again for the same sites.
    pub fn renew(&mut self) {
        // SAFETY: the table that `prepare` made, if it did.
        unsafe { table::clear(self.sites.cast(), PROBES_MAX * size_of::<Site>()) };
        self.index.clear();
        self.batch_len = 0;
        self.after_fork();
    }

    /// In the child of a `fork`: this is the child's patcher now.
    pub fn after_fork(&mut self) {
        self.process = kernel::process_id();
    }

    /// Reserves memory near a module and registers it with the unwinder, before the target runs.
    pub fn reserve(&mut self, module: &LoadedModule) -> bool {
        self.region(module).is_some()
    }

    /// Patches and unpatches until every probe whose module is loaded is as wanted, or refused with a reason. Returns the
    /// number of changes.
    ///
    /// # Safety
    /// `prepare` succeeded; the modules are mapped as given and stay so meanwhile; no other thread is in here.
    pub unsafe fn apply(&mut self, plan: &Plan<'_>, modules: &[LoadedModule]) -> usize {
        // SAFETY: the caller's contract.
        unsafe { self.bring(plan, modules, |probe| probe.wanted.load(Acquire)) }
    }

    /// As [`Patcher::apply`], for a process whose code cannot be changed later, and in which no breakpoint may be met: what
    /// would be one is left as it was.
    ///
    /// # Safety
    /// As for [`Patcher::apply`].
    pub unsafe fn apply_for_good(&mut self, plan: &Plan<'_>, modules: &[LoadedModule]) -> usize {
        let without_breakpoints = |probe: &Probe| match probe.wanted.load(Acquire) {
            wanted if wanted == Wanted::Discover as u32 => Wanted::Off as u32,
            wanted => wanted,
        };
        self.for_good = true;
        // SAFETY: the caller's contract.
        let changes = unsafe { self.bring(plan, modules, without_breakpoints) };
        self.for_good = false;
        changes
    }

    unsafe fn bring(
        &mut self,
        plan: &Plan<'_>,
        modules: &[LoadedModule],
        wanted_of: impl Fn(&Probe) -> u32,
    ) -> usize {
        let alone = code::alone(self.process);
        let mut changes = 0;
        self.forget_unloaded(plan, modules, alone);
        for module in modules {
            for (id, probe) in plan.probes.iter().enumerate() {
                if probe.module != module.index {
                    continue;
                }
                let (id, wanted) = (id as u32, wanted_of(probe));
                // SAFETY: the caller's contract.
                changes += unsafe { self.bring_one(plan, id, module, wanted, alone) };
                if let Some((call, wanted)) = self.trapped_under(plan, id, &wanted_of) {
                    // SAFETY: the same.
                    changes += unsafe { self.bring_one(plan, call, module, wanted, alone) };
                }
            }
            self.flush(alone);
        }
        changes
    }

    /// The call under the hook of an entry, if it can only be trapped and its code is made, and what is wanted of it.
    fn trapped_under(
        &self,
        plan: &Plan<'_>,
        id: u32,
        wanted_of: impl Fn(&Probe) -> u32,
    ) -> Option<(u32, u32)> {
        let call = call_under(plan, &plan.probes[id as usize])?;
        let probe = plan.probes.get(call as usize)?;
        let is_made = matches!(self.site(id).made, Made::Entry(_));
        (is_made && !is_timed(form_of(probe))).then(|| (call, wanted_of(probe)))
    }

    fn site(&self, id: u32) -> &Site {
        // SAFETY: ids are below PROBES_MAX.
        unsafe { &*self.sites.add(id as usize) }
    }

    fn site_mut(&mut self, id: u32) -> &mut Site {
        // SAFETY: ids are below PROBES_MAX, and the caller's lock keeps other threads out.
        unsafe { &mut *self.sites.add(id as usize) }
    }

    /// Brings one site to what is wanted of it. How many changes that takes.
    unsafe fn bring_one(
        &mut self,
        plan: &Plan<'_>,
        id: u32,
        module: &LoadedModule,
        wanted: u32,
        alone: bool,
    ) -> usize {
        let probe = &plan.probes[id as usize];
        let for_good = self.for_good;
        let site = self.site_mut(id);
        if site.is_here() && site.bias != module.bias {
            return 0; // the file is mapped twice: the first is hooked
        }
        if site.has_refused(wanted) {
            return 0;
        }
        site.accept();
        let must_go = for_good && site.is_entered_by_breakpoint();
        let wanted_now = if must_go { Wanted::Off as u32 } else { wanted };
        let stands = site.stands;
        let change = match Goal::of(form_of(probe), wanted_now) {
            Ok(goal) if stands.is(goal) => return 0,
            // SAFETY: the caller's contract.
            Ok(goal) => unsafe { self.change(plan, id, module, goal, alone) },
            Err(refusal) => Err(refusal),
        };
        let site = self.site_mut(id);
        let (count, refusal) = match change {
            Ok((change, stands)) => {
                let was = core::mem::replace(&mut site.stands, stands);
                count_planted(probe, was, stands);
                self.batch[self.batch_len] = change;
                self.batch_len += 1;
                let refusal = match must_go {
                    true => Refusal::NoSafeJump,
                    false => Refusal::None,
                };
                (1, refusal)
            }
            Err(refusal) => {
                site.refuse(wanted, refusal);
                (0, refusal)
            }
        };
        probe.refused.store(refusal as u32, Relaxed);
        if self.batch_len == BATCH_MAX || probe.module == UNDER_ENTRY {
            self.flush(alone);
        }
        count
    }

    /// Forgets the sites of modules that are gone: their addresses may be another's now.
    fn forget_unloaded(&mut self, plan: &Plan<'_>, modules: &[LoadedModule], alone: bool) {
        for (id, probe) in (0..).zip(plan.probes) {
            let site = self.site(id);
            let here =
                |module: &LoadedModule| module.index == probe.module && module.bias == site.bias;
            if !site.is_here() || probe.module == UNDER_ENTRY {
                continue;
            }
            if !modules.iter().any(here) || is_pristine(site, probe) {
                if let Some(call) = call_under(plan, probe) {
                    self.untrap(plan, call, alone);
                    self.forget(plan, call);
                }
                self.forget(plan, id);
            }
        }
    }

    /// Takes the breakpoint of one site out at once, if it is trapped. The code around it is mapped.
    pub(crate) fn untrap_at_once(&mut self, plan: &Plan<'_>, id: u32) {
        let alone = code::alone(self.process);
        self.untrap(plan, id, alone);
        self.flush(alone);
    }

    /// Puts the original byte back at a site that is trapped. In the copy of a call that lies under a hook: the copy stays, and is used again
    /// where the module comes back to the same place.
    fn untrap(&mut self, plan: &Plan<'_>, call: u32, alone: bool) {
        let site = *self.site(call);
        // Nothing is made to take a breakpoint out, so nothing has to lie near the module.
        let module = LoadedModule {
            index: plan.probes[call as usize].module,
            bias: site.bias,
            low: 0,
            high: 0,
        };
        if site.stands == Stands::Trapped {
            // SAFETY: the code that is changed is a copy of ours, or mapped, as the caller says.
            unsafe { self.bring_one(plan, call, &module, Wanted::Off as u32, alone) };
        }
    }

    fn forget(&mut self, plan: &Plan<'_>, id: u32) {
        let site = self.site_mut(id);
        count_planted(&plan.probes[id as usize], site.stands, Stands::Original);
        *site = Site::ABSENT;
    }

    /// Puts the original code back everywhere. Trampolines stay: threads may be inside.
    ///
    /// # Safety
    /// As for [`Patcher::apply`].
    pub unsafe fn unpatch(&mut self, plan: &Plan<'_>, modules: &[LoadedModule]) {
        // SAFETY: the caller's contract.
        unsafe { self.bring(plan, modules, |_| Wanted::Off as u32) };
    }

    fn flush(&mut self, alone: bool) {
        for region in &self.regions[..self.regions_len] {
            // SAFETY: regions are never freed.
            unsafe { (**region).seal() };
        }
        let batch = &self.batch[..self.batch_len];
        // SAFETY: `change` put only checked spans of writable code into the batch, and indexed them.
        unsafe {
            flip::apply(batch, alone);
            for change in batch {
                code::set_writable(
                    change.address as u64,
                    change.address as u64 + change.len as u64,
                    false,
                );
            }
        }
        self.batch_len = 0;
    }

    /// The change that brings one site to its goal, and how it stands then. What the goal needs is made first.
    unsafe fn change(
        &mut self,
        plan: &Plan<'_>,
        id: u32,
        module: &LoadedModule,
        goal: Goal,
        alone: bool,
    ) -> Result<(Change, Stands), Refusal> {
        if !SUPPORTED {
            return Err(Refusal::Architecture);
        }
        if !alone && !self.barrier {
            return Err(Refusal::NoBarrier);
        }
        let probe = &plan.probes[id as usize];
        let displaced =
            (probe.form == Form::Entry as u8).then(|| &plan.displaced[probe.displaced as usize]);
        // SAFETY: the module is mapped.
        unsafe { self.find_here(plan, id, module) }?;
        if goal == Goal::Hooked && self.site(id).made == Made::Nothing {
            self.build(plan, id, module, displaced)?;
        }
        let site = self.site(id);
        let place = site.place;
        let boundaries = match (displaced, site.made) {
            (Some(displaced), Made::Entry(code)) if code.way != Way::Breakpoint => {
                displaced.boundaries & ((1 << JUMP_BYTES) - 1)
            }
            _ => 1,
        };
        let (bytes, len, stands) = self.bytes_of(plan, id, goal)?;
        if probe.module == UNDER_ENTRY {
            // It lies in a region, which a flush seals: a batch of its own.
            self.flush(alone);
        }
        // Page by page: other segments of the module, not code, may lie between its segments of code.
        // SAFETY: the span is code of the module, or of a copy of ours.
        if !unsafe { code::set_writable(place, place + u64::from(len), true) } {
            return Err(Refusal::NotWritable);
        }
        if !self.index.insert(id, place, boundaries) {
            return Err(Refusal::NoNearMemory);
        }
        let change = Change {
            address: place as *mut u8,
            bytes,
            len,
            boundaries,
        };
        Ok((change, stands))
    }

    /// Notes where a site lies in this process, if it is not known yet and holds the file's bytes.
    unsafe fn find_here(
        &mut self,
        plan: &Plan<'_>,
        id: u32,
        module: &LoadedModule,
    ) -> Result<(), Refusal> {
        if self.site(id).is_here() {
            return Ok(());
        }
        let probe = &plan.probes[id as usize];
        let address = probe.address + module.bias;
        let place = if probe.module == UNDER_ENTRY {
            self.copy_of(plan, id).ok_or(Refusal::NotOfForm)?.0
        } else {
            let span = span_of(probe);
            // SAFETY: the module is mapped.
            let code = unsafe { core::slice::from_raw_parts(address as *const u8, span) };
            if code != &probe.bytes[..span] {
                return Err(Refusal::BytesDiffer);
            }
            address
        };
        let site = self.site_mut(id);
        (site.bias, site.place) = (module.bias, place);
        site.address = address;
        Ok(())
    }

    /// Where the copy of a call lies whose entry's hook has it, and the first byte there.
    fn copy_of(&self, plan: &Plan<'_>, call: u32) -> Option<(u64, u8)> {
        let mut probes = (0..).zip(plan.probes);
        let (id, entry) = probes.find(|(_, probe)| call_under(plan, probe) == Some(call))?;
        let Made::Entry(code) = self.site(id).made else {
            return None;
        };
        let displaced = plan.displaced.get(entry.displaced as usize)?;
        let offset = (plan.probes[call as usize].address - entry.address) as u8;
        let pieces = &displaced.pieces[..displaced.count as usize];
        let first = pieces.iter().find(|piece| piece.origin >= offset)?;
        let place = trap::displaced_address(displaced, code.body, offset);
        Some((place, first.bytes[0]))
    }

    /// What shall stand at a site that comes to its goal, how many bytes, and what that is.
    fn bytes_of(
        &self,
        plan: &Plan<'_>,
        id: u32,
        goal: Goal,
    ) -> Result<([u8; SPAN_MAX], u8, Stands), Refusal> {
        let (probe, site) = (&plan.probes[id as usize], self.site(id));
        let mut bytes = [0; SPAN_MAX];
        if probe.module == UNDER_ENTRY {
            let (_, first) = self.copy_of(plan, id).ok_or(Refusal::NotOfForm)?;
            bytes[0] = first;
            if goal == Goal::Trapped {
                flip::put_breakpoint(&mut bytes);
                return Ok((bytes, 1, Stands::Trapped));
            }
            return Ok((bytes, 1, Stands::Original));
        }
        let span = span_of(probe);
        bytes[..span].copy_from_slice(&probe.bytes[..span]);
        let span = span as u8;
        let to = match (goal, site.made) {
            (Goal::Original, _) => return Ok((bytes, span, Stands::Original)),
            (Goal::Trapped, _) => {
                flip::put_breakpoint(&mut bytes);
                return Ok((bytes, span, Stands::Trapped));
            }
            (Goal::Hooked, Made::Call(trampoline)) => trampoline,
            (Goal::Hooked, Made::Entry(EntryCode { way, .. })) => match way {
                Way::Pad(pad) => pad,
                Way::Breakpoint if self.for_good => return Err(Refusal::NoSafeJump),
                Way::Breakpoint => {
                    flip::put_breakpoint(&mut bytes);
                    return Ok((bytes, span, Stands::Entered));
                }
            },
            (Goal::Hooked, Made::Nothing) => return Err(Refusal::NotOfForm),
        };
        let redirected = redirect(form_of(probe), site.address, span, to);
        let (bytes, _) = redirected.ok_or(Refusal::NoNearMemory)?;
        Ok((bytes, span, Stands::Redirected))
    }

    /// Makes what a probe needs, or takes it from an earlier session.
    fn build(
        &mut self,
        plan: &Plan<'_>,
        id: u32,
        module: &LoadedModule,
        displaced: Option<&Displaced>,
    ) -> Result<(), Refusal> {
        let boundaries = self.boundaries.expect("prepared");
        let region = self.region(module).ok_or(Refusal::NoNearMemory)?;
        // SAFETY: regions are never freed, and this patcher is the only user.
        let region = unsafe { &mut *region };
        let probe = &plan.probes[id as usize];
        let address = probe.address + module.bias;
        let call = call_under(plan, probe);
        let call = call.map(|call| hook_of(call, &plan.probes[call as usize], module.bias, 0));
        let call = call.filter(|call| is_timed(call.form));
        let known = displaced.map(|displaced| {
            let call = call.map(|call| &plan.probes[call.id as usize]);
            (displaced, call)
        });
        let identity = identity(probe, module.bias, known);
        let is_renamed = |region: &mut Region, made: &Made| match *made {
            Made::Nothing => false,
            Made::Call(trampoline) => {
                rename(region, &hook_of(id, probe, module.bias, 0), trampoline)
            }
            Made::Entry(code) => {
                let own = hook_of(id, probe, module.bias, code.body);
                rename(region, &own, code.trampoline)
                    && call.is_none_or(|call| rename(region, &call, code.call))
            }
        };
        let again = self.kept.find(address, identity);
        let made = match again.filter(|made| is_renamed(region, made)) {
            Some(made) => made,
            None => {
                let made = make(region, &boundaries, (id, probe), module, displaced, call)?;
                self.kept.remember(address, identity, made);
                made
            }
        };
        if let Some(call) = call {
            plan.probes[call.id as usize].planted.fetch_add(1, Relaxed);
        }
        self.site_mut(id).made = made;
        Ok(())
    }

    fn region(&mut self, module: &LoadedModule) -> Option<*mut Region> {
        let known = self.regions[..self.regions_len].iter().copied();
        // SAFETY: regions are never freed.
        if let Some(region) = known
            .into_iter()
            .find(|r| unsafe { (**r).low == module.low && (**r).high == module.high })
        {
            return Some(region);
        }
        if self.regions_len == REGIONS_MAX {
            return None;
        }
        let region = Region::create(module.low, module.high);
        if region.is_null() {
            return None;
        }
        self.regions[self.regions_len] = region;
        self.regions_len += 1;
        Some(region)
    }

    /// A thread has executed a breakpoint. If it is one of the plan's, the thread goes on as if the original instruction
    /// had been executed, and the callee is reported with its probe if it was a call. What is no site of the plan is left as it is.
    ///
    /// # Safety
    /// Called from the handler of SIGTRAP with its context.
    pub unsafe fn on_trap<'a>(
        &self,
        plan: &Plan<'a>,
        context: &mut libc::ucontext_t,
    ) -> Option<(&'a Probe, Carried)> {
        let at = trap::breakpoint_address(context);
        let id = self.index.find(at, |id| self.site(id).place)?;
        let probe = plan.probes.get(id as usize)?;
        let site = *self.site(id);
        let carried = match site.met(probe, form_of(probe), at)? {
            Met::Entered(trampoline) => trap::go_on_at(context, trampoline),
            Met::Displaced { body, offset } => {
                let displaced = plan.displaced.get(probe.displaced as usize)?;
                let address = trap::displaced_address(displaced, body, offset);
                trap::go_on_at(context, address)
            }
            // SAFETY: the caller's contract.
            Met::Branch(branch) => unsafe { trap::carry_out(context, &branch) },
        };
        Some((probe, carried))
    }

    /// A thread's own instruction has failed at a place of the agent's: it leaves the hook that it is in, as if the call were not hooked.
    /// Of which probe it is. `None`: it is in no hook, or there is no way on.
    ///
    /// # Safety
    /// Called from the handler of a fault with its context; `in_agent`: the program counter is in the agent's own code.
    pub unsafe fn on_fault(
        &self,
        plan: &Plan<'_>,
        context: &mut libc::ucontext_t,
        in_agent: bool,
    ) -> Option<u32> {
        // SAFETY: the caller's contract.
        unsafe {
            if in_agent {
                return fault::leave_boundary(context);
            }
            let at = fault::program_counter(context);
            let (hook, start) = self.hook_at(plan, at)?;
            fault::leave_trampoline(context, &hook, start).then_some(hook.id)
        }
    }

    /// The hook in whose trampoline an address lies, and where that begins. Looks at every site.
    fn hook_at(&self, plan: &Plan<'_>, address: u64) -> Option<(Hook, u64)> {
        if self.sites.is_null() {
            return None;
        }
        (0..).zip(plan.probes).find_map(|(id, probe)| {
            let site = self.site(id);
            let hook = hook_of(id, probe, site.bias, 0);
            let start = match site.made {
                Made::Nothing => return None,
                Made::Call(trampoline) => trampoline,
                Made::Entry(code) => {
                    let call = call_under(plan, probe).filter(|_| code.call != 0);
                    let under = call.map(|call| {
                        let probe = &plan.probes[call as usize];
                        (hook_of(call, probe, site.bias, 0), code.call)
                    });
                    if let Some((hook, start)) = under
                        && (start..start + hook.code_bytes() as u64).contains(&address)
                    {
                        return Some((hook, start));
                    }
                    code.trampoline
                }
            };
            let is_it = (start..start + hook.code_bytes() as u64).contains(&address);
            is_it.then_some((hook, start))
        })
    }

    /// Whether a thread has executed a breakpoint that is no longer there, in code that has hooks or had them: the session that put it
    /// there has ended while the thread was on its way to the handler.
    ///
    /// # Safety
    /// Called from the handler of SIGTRAP with its context.
    pub unsafe fn is_withdrawn(&self, context: &libc::ucontext_t) -> bool {
        let at = trap::breakpoint_address(context);
        let regions = &self.regions[..self.regions_len];
        // SAFETY: regions are never freed.
        let mut spans = regions
            .iter()
            .map(|region| unsafe { (**region).low..(**region).high });
        // SAFETY: the thread has executed an instruction that ends there.
        spans.any(|span| span.contains(&at)) && unsafe { trap::is_no_breakpoint(at) }
    }
}

/// Keeps the number of processes in which a probe is planted.
fn count_planted(probe: &Probe, was: Stands, stands: Stands) {
    match (was, stands) {
        (Stands::Original, Stands::Original) => {}
        (Stands::Original, _) => _ = probe.planted.fetch_add(1, Relaxed),
        (_, Stands::Original) => _ = probe.planted.fetch_sub(1, Relaxed),
        _ => {}
    }
}

/// The probe of the call that lies under an entry's hook, if it has one.
fn call_under(plan: &Plan<'_>, probe: &Probe) -> Option<u32> {
    if probe.form != Form::Entry as u8 {
        return None;
    }
    let displaced = plan.displaced.get(probe.displaced as usize)?;
    displaced.call.checked_sub(1)
}

/// Bytes at a site that are changed.
fn span_of(probe: &Probe) -> usize {
    let span = match probe.form == Form::Entry as u8 {
        true => JUMP_BYTES,
        false => probe.len as usize,
    };
    span.min(SPAN_MAX)
}

/// Whether a hooked site holds the file's code: its module was unloaded, and loaded again at the same address.
fn is_pristine(site: &Site, probe: &Probe) -> bool {
    let span = span_of(probe);
    // SAFETY: its module is mapped.
    let code = unsafe { core::slice::from_raw_parts(site.address as *const u8, span) };
    site.stands != Stands::Original && code == &probe.bytes[..span]
}
