//! Brings the code of this process in line with the plan.
//!
//! One patcher a process, used under one lock. Its tables are private memory, so that a child of `fork` starts with its
//! parent's state, which is the state of the code it inherited. Trap handlers read them without the lock: an entry is
//! complete before its address appears in the index.

use core::ptr;
use core::sync::atomic::Ordering::*;

use evenkeel_wire::arch::SUPPORTED;
use evenkeel_wire::arch::code::JUMP_BYTES;
use evenkeel_wire::{Displaced, Form, PROBES_MAX, Probe, Refusal, Wanted};

use crate::arch::flip::{self, Change, SPAN_MAX};
use crate::arch::jump::redirect;
use crate::arch::stubs::Boundaries;
use crate::arch::trap;
use crate::code;
use crate::hook::{form_of, hook_of, make, rename};
use crate::index::SiteIndex;
use crate::kept::{Kept, identity};
use crate::kernel;
use crate::module::LoadedModule;
use crate::region::Region;
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

/// State of a probe in this process.
#[derive(Clone, Copy)]
#[repr(C)]
struct Patched {
    /// Address of the site; 0 before it is first patched.
    address: u64,
    /// Its trampoline; 0 if it has none yet.
    trampoline: u64,
    /// Displaced entry; 0 if it has none.
    body: u64,
    /// For an entry: the pad its jump leads to.
    pad: u64,
    bias: u64,
    /// What the code now is: a [`Wanted`].
    now: u32,
    /// It cannot be done here; not tried again until it is wanted off.
    refused: u32,
}

impl Patched {
    /// Whether no jump can lead from this entry to its trampoline, as in programs that lie at a low address: the trap handler
    /// leads there instead, from a breakpoint in place of the first instruction.
    fn is_entered_by_breakpoint(&self, probe: &Probe) -> bool {
        probe.form == Form::Entry as u8 && self.trampoline != 0 && self.pad == 0
    }
}

/// See the module's head.
pub struct Patcher {
    patched: *mut Patched,
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
            patched: ptr::null_mut(),
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
        let patched = table::map(PROBES_MAX * size_of::<Patched>());
        if patched.is_null() || !self.index.prepare() {
            return false;
        }
        self.patched = patched.cast();
        self.kept.prepare();
        true
    }

    /// For another session, whose plan has other probes: nothing is patched. Trampolines stay, since threads may be inside, and are
    /// taken again for the same sites.
    pub fn renew(&mut self) {
        // SAFETY: the table that `prepare` made, if it did.
        unsafe { table::clear(self.patched.cast(), PROBES_MAX * size_of::<Patched>()) };
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
        self.forget_unloaded(plan, modules);
        for module in modules {
            for (id, probe) in plan.probes.iter().enumerate() {
                if probe.module != module.index {
                    continue;
                }
                // SAFETY: `id < PROBES_MAX`.
                let patched = unsafe { &mut *self.patched.add(id) };
                if patched.address != 0 && patched.bias != module.bias {
                    continue; // the file is mapped twice: the first is hooked
                }
                let mut wanted = wanted_of(probe);
                if self.for_good && patched.is_entered_by_breakpoint(probe) {
                    wanted = Wanted::Off as u32;
                }
                if wanted == Wanted::Off as u32 {
                    patched.refused = 0;
                }
                if patched.now == wanted || patched.refused != 0 {
                    continue;
                }
                // SAFETY: the caller's contract.
                let change = unsafe { self.change(plan, id as u32, module, wanted, alone) };
                match change {
                    Ok(change) => {
                        self.batch[self.batch_len] = change;
                        self.batch_len += 1;
                        changes += 1;
                        let was = core::mem::replace(&mut patched.now, wanted);
                        if was == Wanted::Off as u32 {
                            probe.planted.fetch_add(1, Relaxed);
                        } else if wanted == Wanted::Off as u32 {
                            probe.planted.fetch_sub(1, Relaxed);
                        }
                        let refusal = if self.for_good && patched.is_entered_by_breakpoint(probe) {
                            Refusal::NoSafeJump
                        } else {
                            Refusal::None
                        };
                        probe.refused.store(refusal as u32, Relaxed);
                    }
                    Err(refusal) => {
                        patched.refused = refusal as u32;
                        probe.refused.store(refusal as u32, Relaxed);
                    }
                }
                if self.batch_len == BATCH_MAX {
                    self.flush(alone);
                }
            }
            self.flush(alone);
        }
        changes
    }

    /// Forgets what was patched in modules that are gone: their addresses may be another's now.
    fn forget_unloaded(&mut self, plan: &Plan<'_>, modules: &[LoadedModule]) {
        for (id, probe) in plan.probes.iter().enumerate() {
            // SAFETY: `id < PROBES_MAX`.
            let patched = unsafe { &mut *self.patched.add(id) };
            let here =
                |module: &LoadedModule| module.index == probe.module && module.bias == patched.bias;
            if patched.address == 0 {
                continue;
            }
            if !modules.iter().any(here) || is_pristine(patched, probe) {
                if patched.now != Wanted::Off as u32 {
                    probe.planted.fetch_sub(1, Relaxed);
                }
                *patched = Patched {
                    address: 0,
                    trampoline: 0,
                    body: 0,
                    pad: 0,
                    bias: 0,
                    now: 0,
                    refused: 0,
                };
            }
        }
    }

    /// Whether a site's instruction is replaced by a breakpoint to learn whom it calls.
    pub(crate) fn is_trapped(&self, id: u32) -> bool {
        // SAFETY: ids in plans are in the table.
        unsafe { (*self.patched.add(id as usize)).now == Wanted::Discover as u32 }
    }

    /// Takes the breakpoint of one site out.
    ///
    /// # Safety
    /// As for [`Patcher::apply`].
    pub(crate) unsafe fn untrap(&mut self, plan: &Plan<'_>, id: u32, module: &LoadedModule) {
        let alone = code::alone(self.process);
        // SAFETY: the caller's contract.
        if let Ok(change) = unsafe { self.change(plan, id, module, Wanted::Off as u32, alone) } {
            // SAFETY: `id` is in the table.
            unsafe { (*self.patched.add(id as usize)).now = Wanted::Off as u32 };
            plan.probes[id as usize].planted.fetch_sub(1, Relaxed);
            self.batch[self.batch_len] = change;
            self.batch_len += 1;
            self.flush(alone);
        }
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

    /// The change that brings one probe to `wanted`.
    unsafe fn change(
        &mut self,
        plan: &Plan<'_>,
        id: u32,
        module: &LoadedModule,
        wanted: u32,
        alone: bool,
    ) -> Result<Change, Refusal> {
        if !SUPPORTED {
            return Err(Refusal::Architecture);
        }
        if !alone && !self.barrier {
            return Err(Refusal::NoBarrier);
        }
        let probe = &plan.probes[id as usize];
        let address = probe.address + module.bias;
        let displaced =
            (probe.form == Form::Entry as u8).then(|| &plan.displaced[probe.displaced as usize]);
        let span = displaced
            .map_or(probe.len, |_| JUMP_BYTES as u8)
            .min(SPAN_MAX as u8);
        // SAFETY: the module is mapped; `id` is in the table.
        let (code, patched) = unsafe {
            (
                core::slice::from_raw_parts(address as *const u8, span as usize),
                &mut *self.patched.add(id as usize),
            )
        };
        if patched.address == 0 {
            if code != &probe.bytes[..span as usize] {
                return Err(Refusal::BytesDiffer);
            }
            patched.address = address;
            patched.bias = module.bias;
        }
        if wanted == Wanted::On as u32 && patched.trampoline == 0 {
            self.build(plan, id, module, displaced)?;
        }
        let boundaries = match displaced {
            Some(displaced) if !patched.is_entered_by_breakpoint(probe) => {
                displaced.boundaries & ((1 << JUMP_BYTES) - 1)
            }
            _ => 1,
        };
        let bytes = self.bytes_of(probe, patched, wanted, span)?;
        // Page by page: other segments of the module, not code, may lie between its segments of code.
        // SAFETY: the span is code of the module.
        if !unsafe { code::set_writable(address, address + span as u64, true) } {
            return Err(Refusal::NotWritable);
        }
        if !self.index.insert(id, address, boundaries) {
            return Err(Refusal::NoNearMemory);
        }
        Ok(Change {
            address: address as *mut u8,
            bytes,
            len: span,
            boundaries,
        })
    }

    /// What shall stand at a probe's address for as long as it is `wanted` so.
    fn bytes_of(
        &self,
        probe: &Probe,
        patched: &Patched,
        wanted: u32,
        span: u8,
    ) -> Result<[u8; SPAN_MAX], Refusal> {
        let mut bytes = [0; SPAN_MAX];
        bytes[..span as usize].copy_from_slice(&probe.bytes[..span as usize]);
        let on = wanted == Wanted::On as u32;
        if on && patched.is_entered_by_breakpoint(probe) {
            if self.for_good {
                return Err(Refusal::NoSafeJump);
            }
            flip::put_breakpoint(&mut bytes);
        } else if on {
            let to = match probe.form == Form::Entry as u8 {
                true => patched.pad,
                false => patched.trampoline,
            };
            let redirected = redirect(form_of(probe), patched.address, span, to);
            bytes = redirected.ok_or(Refusal::NoNearMemory)?.0;
        } else if wanted == Wanted::Discover as u32 {
            flip::put_breakpoint(&mut bytes);
        }
        Ok(bytes)
    }

    /// Writes the trampoline of a probe, and for an entry its displaced instructions and its pad.
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
        let call = displaced.and_then(|displaced| displaced.call.checked_sub(1));
        let call = call.map(|call| hook_of(call, &plan.probes[call as usize], module.bias, 0));
        let known = displaced.map(|displaced| {
            let call = call.map(|call| &plan.probes[call.id as usize]);
            (displaced, call)
        });
        let identity = identity(probe, module.bias, known);
        let again = self.kept.find(address, identity).filter(|made| {
            let own = hook_of(id, probe, module.bias, made.body);
            rename(region, &own, made.trampoline)
                && call.is_none_or(|call| rename(region, &call, made.call))
        });
        let made = match again {
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
        // SAFETY: `id` is in the table.
        let patched = unsafe { &mut *self.patched.add(id as usize) };
        patched.body = made.body;
        patched.pad = made.pad;
        patched.trampoline = made.trampoline;
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
    /// had been executed, and the callee is reported with its probe if it was a call.
    ///
    /// # Safety
    /// Called from the handler of SIGTRAP with its context.
    pub unsafe fn on_trap<'a>(
        &self,
        plan: &Plan<'a>,
        context: &mut libc::ucontext_t,
    ) -> Option<(&'a Probe, Option<u64>)> {
        let id = self.index.find(trap::breakpoint_address(context), |id| {
            // SAFETY: ids in the index are in the table.
            unsafe { (*self.patched.add(id as usize)).address }
        })?;
        let probe = plan.probes.get(id as usize)?;
        // SAFETY: ids in the index are in the table.
        let patched = unsafe { &*self.patched.add(id as usize) };
        let goes_on_at = if patched.is_entered_by_breakpoint(probe) {
            patched.trampoline
        } else {
            patched.body
        };
        let displaced = (probe.form == Form::Entry as u8 && goes_on_at != 0)
            .then(|| (&plan.displaced[probe.displaced as usize], goes_on_at));
        let site = trap::Site {
            probe,
            address: patched.address,
            bias: patched.bias,
            displaced,
        };
        // SAFETY: the caller's contract.
        Some((probe, unsafe { trap::emulate(context, &site) }))
    }
}

/// Whether a hooked site holds the file's code: its module was unloaded, and loaded again at the same address.
fn is_pristine(patched: &Patched, probe: &Probe) -> bool {
    let span = if probe.form == Form::Entry as u8 {
        JUMP_BYTES
    } else {
        probe.len as usize
    }
    .min(SPAN_MAX);
    // SAFETY: its module is mapped.
    let code = unsafe { core::slice::from_raw_parts(patched.address as *const u8, span) };
    patched.now != Wanted::Off as u32 && code == &probe.bytes[..span]
}
