//! Brings the code of this process in line with the plan.
//!
//! One patcher a process, used under one lock. Its tables are private memory, so that a child of `fork` starts with its
//! parent's state, which is the state of the code it inherited. Trap handlers read them without the lock: an entry is
//! complete before its address appears in the index.

mod answering;
mod changing;

use core::ptr;
use core::sync::atomic::Ordering::*;

use evenkeel_wire::plan::UNDER_ENTRY;
use evenkeel_wire::{PROBES_MAX, Probe, Refusal, Wanted};

use crate::arch::flip::{self, Change, SPAN_MAX};
use crate::arch::stubs::Boundaries;
use crate::code;
use crate::hook::{LoadedModule, form_of, is_timed};
use crate::index::SiteIndex;
use crate::kernel;
use crate::old_trampolines::OldTrampolines;
use crate::plan::{Plan, span_of};
use crate::region::Region;
use crate::site::{Goal, Made, Site, Stands};
use crate::table;

/// Modules with hooks in one process.
const REGIONS_MAX: usize = 64;
const BATCH_MAX: usize = 512;

/// See the module's head.
pub struct Patcher {
    sites: *mut Site,
    index: SiteIndex,
    kept: OldTrampolines,
    regions: [*mut Region; REGIONS_MAX],
    regions_len: usize,
    /// The process whose code this is.
    process: i32,
    barrier: bool,
    boundaries: Option<Boundaries>,
    batch: [Change; BATCH_MAX],
    batch_len: usize,
    /// This change is final: nothing may be left to breakpoints.
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
            kept: OldTrampolines::new(),
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
    /// `prepare` succeeded; the modules stay mapped as given during the call; no other thread is in here.
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
                let (id, wanted) = (id as u32, wanted_of(probe));
                // A file that is mapped twice is hooked where it was seen first, and so is the call under the hook.
                if probe.module != module.index || self.is_elsewhere(id, module) {
                    continue;
                }
                // SAFETY: the caller's contract.
                changes += unsafe { self.bring_one(plan, id, module, wanted, alone) };
                if let Some((call, wanted)) = self.trapped_under(plan, id, &wanted_of) {
                    // SAFETY: the same.
                    changes += unsafe { self.bring_one(plan, call, module, wanted, alone) };
                }
            }
        }
        self.flush(alone);
        changes
    }

    /// Whether the site lies in another mapping of the module's file.
    fn is_elsewhere(&self, id: u32, module: &LoadedModule) -> bool {
        let site = self.site(id);
        site.is_here() && site.bias != module.bias
    }

    /// The call under the hook of an entry, if it can only be trapped and its code is made, and what is wanted of it.
    fn trapped_under(
        &self,
        plan: &Plan<'_>,
        id: u32,
        wanted_of: impl Fn(&Probe) -> u32,
    ) -> Option<(u32, u32)> {
        let call = plan.call_under(&plan.probes[id as usize])?;
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
                if let Some(call) = plan.call_under(probe) {
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
            // SAFETY: the changed code is a private copy, or mapped, as the caller guarantees.
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
        let batch = &mut self.batch[..self.batch_len];
        batch.sort_unstable_by_key(|change| change.address);
        // SAFETY: `change` put only checked spans of writable code into the batch, and indexed them.
        unsafe {
            flip::apply(batch, alone);
            // Neighbours at once: to take a right away interrupts every processor that runs the process.
            for run in batch.chunk_by(|one, next| pages_of(next).0 <= pages_of(one).1) {
                let [first, last] = [run[0], run[run.len() - 1]].map(|change| pages_of(&change));
                code::set_writable((first.0, last.1), false);
            }
        }
        self.batch_len = 0;
    }
}

/// The pages that a change lies in, from and to.
fn pages_of(change: &Change) -> (u64, u64) {
    let from = change.address as u64;
    code::pages(from, from + u64::from(change.len))
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

/// Whether a hooked site holds the file's code: its module was unloaded, and loaded again at the same address.
fn is_pristine(site: &Site, probe: &Probe) -> bool {
    let span = span_of(probe);
    // SAFETY: its module is mapped.
    let code = unsafe { core::slice::from_raw_parts(site.address as *const u8, span) };
    site.stands != Stands::Original && code == &probe.bytes[..span]
}
