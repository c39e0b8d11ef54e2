//! A plan over one library, its patcher, and the handler of its breakpoints.

use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};

use evenkeel_patch::arch::stubs::Boundaries;
use evenkeel_patch::arch::trap::Carried;
use evenkeel_patch::{LoadedModule, Patcher, Plan};
use evenkeel_symbols::{Module, Site};
use evenkeel_wire::plan::UNDER_ENTRY;
use evenkeel_wire::{Displaced, Form, Probe, Refusal, Role, Wanted};

use super::library::Library;
use super::ring::RECORDING;

const RIGS_MAX: usize = 512;
static RIGS: [AtomicPtr<Harness>; RIGS_MAX] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; RIGS_MAX];
static INSTALL: Mutex<usize> = Mutex::new(0);
/// Breakpoints met.
pub static TRAPS: AtomicU64 = AtomicU64::new(0);

/// A plan over one library.
pub struct Harness {
    pub probes: Vec<Probe>,
    pub displaced: Vec<Displaced>,
    pub patcher: Patcher,
    pub loaded: LoadedModule,
    pub module: Module,
}

impl Harness {
    pub fn new(library: &Library) -> &'static mut Harness {
        Harness::with(library, RECORDING)
    }

    /// With boundaries of the test's own.
    pub fn with(library: &Library, boundaries: Boundaries) -> &'static mut Harness {
        let harness = Box::new(Harness {
            // Trap handlers read them: they never move.
            probes: Vec::with_capacity(256),
            displaced: Vec::with_capacity(256),
            patcher: Patcher::new(),
            loaded: library.loaded,
            module: library.module(),
        });
        let harness = Box::leak(harness);
        assert!(harness.patcher.prepare(boundaries));
        let mut used = INSTALL.lock().unwrap();
        RIGS[*used].store(harness, Release);
        *used += 1;
        answer_traps();
        harness
    }

    fn add(&mut self, role: Role, address: u64, form: Form, bytes: [u8; 16]) -> &mut Probe {
        assert!(self.probes.len() < self.probes.capacity());
        // SAFETY: all zeros are a valid probe.
        let mut probe: Probe = unsafe { std::mem::zeroed() };
        (probe.address, probe.form, probe.role, probe.bytes) =
            (address, form as u8, role as u8, bytes);
        self.probes.push(probe);
        self.probes.last_mut().unwrap()
    }

    /// A probe at a call site.
    pub fn site(&mut self, site: &Site, role: Role) -> usize {
        let probe = self.add(role, site.address, site.form.unwrap(), site.bytes);
        probe.len = site.len;
        probe.target = site.target;
        probe.operand = site.operand.unwrap_or_default();
        self.probes.len() - 1
    }

    /// Probes at all call sites of a function that can be hooked.
    pub fn sites_of(&mut self, name: &str, role: Role) -> Vec<usize> {
        let entry = self.entry_of(name);
        let sites = self.module.call_sites(entry);
        sites
            .iter()
            .filter(|site| site.form.is_ok())
            .map(|site| self.site(site, role))
            .collect()
    }

    /// A probe at the entry of a function.
    pub fn entry(&mut self, name: &str, role: Role) -> usize {
        let entry = self.entry_of(name);
        let displaced = self
            .module
            .displaced(entry)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let index = self.displaced.len();
        self.displaced.push(displaced);
        let bytes = self.module.bytes_at(entry).unwrap();
        let probe = self.add(role, entry, Form::Entry, bytes);
        probe.len = displaced.len as u8;
        probe.displaced = index as u32;
        self.probes.len() - 1
    }

    /// Adds the probe of the call that lies under the hook at an entry, if that is the last that moves: as sessions do. One that can be
    /// timed is a part of the hook; it is not returned, since nobody changes it.
    pub fn call_under(&mut self, entry: usize, role: Role) -> Option<usize> {
        let (index, from) = (
            self.probes[entry].displaced as usize,
            self.probes[entry].address,
        );
        let displaced = self.displaced[index];
        let last = displaced.pieces[..displaced.count as usize].last()?;
        let moved = from..from + u64::from(displaced.len);
        let sites = self.module.call_sites(from);
        let site = sites
            .into_iter()
            .find(|site| moved.contains(&site.address))?;
        let form = site.form.ok()?;
        let is_timed = !matches!(form, Form::ShortIndirectCall | Form::IndirectJump);
        let is_last = from + u64::from(last.origin) <= site.address && displaced.resume == 0;
        if !is_last || is_timed && (last.len < 5 || role == Role::Inner) {
            return None;
        }
        let id = self.site(&site, Role::Inner);
        self.probes[id].module = UNDER_ENTRY;
        self.displaced[index].call = id as u32 + 1;
        if is_timed {
            self.want(&[id], Wanted::On);
        }
        (!is_timed).then_some(id)
    }

    /// The session is over, and the next one has another plan. Nobody may be between a breakpoint and its handler.
    pub fn renew(&mut self) {
        let loaded = [self.loaded];
        let Harness {
            probes,
            displaced,
            patcher,
            ..
        } = self;
        unsafe { patcher.unpatch(&Plan { probes, displaced }, &loaded) };
        patcher.renew();
        probes.clear();
        displaced.clear();
    }

    /// In the child of a fork.
    pub fn after_fork(&mut self) {
        self.patcher.after_fork();
    }

    pub fn boundaries_of(&self, id: usize) -> u32 {
        self.displaced[self.probes[id].displaced as usize].boundaries
    }

    /// A function's address in the file.
    pub fn address_of(&self, name: &str) -> u64 {
        self.entry_of(name)
    }

    fn entry_of(&self, name: &str) -> u64 {
        let mut all = self
            .module
            .functions()
            .iter()
            .map(|function| function.entry);
        all.find(|&entry| self.module.name(entry) == name)
            .unwrap_or_else(|| panic!("{name}"))
    }

    pub fn want(&self, ids: &[usize], wanted: Wanted) {
        ids.iter()
            .for_each(|&id| self.probes[id].wanted.store(wanted as u32, Release));
    }

    /// Patches and unpatches as wanted; nothing may be refused.
    pub fn apply(&mut self) -> usize {
        let loaded = [self.loaded];
        let changes = self.apply_to(&loaded);
        for probe in &self.probes {
            assert_eq!(
                probe.refused.load(Relaxed),
                Refusal::None as u32,
                "{:#x}",
                probe.address
            );
        }
        changes
    }

    pub fn apply_to(&mut self, modules: &[LoadedModule]) -> usize {
        let Harness {
            probes,
            displaced,
            patcher,
            ..
        } = self;
        unsafe { patcher.apply(&Plan { probes, displaced }, modules) }
    }

    /// Takes the breakpoint of a trapped call out, as agents do when its traps have cost enough.
    pub fn withdraw(&mut self, id: usize) {
        let Harness {
            probes,
            displaced,
            patcher,
            ..
        } = self;
        unsafe { patcher.withdraw(&Plan { probes, displaced }, id as u32) };
    }

    pub fn set(&mut self, ids: &[usize], wanted: Wanted) -> usize {
        self.want(ids, wanted);
        self.apply()
    }
}

/// Breakpoints are answered from now on.
pub fn answer_traps() {
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_trap as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NODEFER;
        libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut());
    }
}

extern "C" fn on_trap(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    for harness in RIGS
        .iter()
        .take_while(|harness| !harness.load(Acquire).is_null())
    {
        let harness = unsafe { &*harness.load(Acquire) };
        let plan = Plan {
            probes: &harness.probes,
            displaced: &harness.displaced,
        };
        let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
        if let Some((probe, carried)) = unsafe { harness.patcher.on_trap(&plan, context) } {
            TRAPS.fetch_add(1, Relaxed);
            if let Carried::Faulted(fault) = carried {
                evenkeel_patch::arch::fault::fail_again(context, fault);
                return;
            }
            if let Carried::On(Some(callee)) = carried {
                evenkeel_patch::discovery::note_callee(
                    probe,
                    callee.wrapping_sub(harness.loaded.bias),
                );
            }
            return;
        }
    }
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let installed = RIGS
        .iter()
        .map(|harness| harness.load(Acquire))
        .take_while(|harness| !harness.is_null());
    let mut installed = installed.map(|harness| unsafe { &*harness });
    if installed.any(|harness| unsafe { harness.patcher.is_withdrawn(context) }) {
        evenkeel_patch::arch::trap::step_back(context);
        return;
    }
    let at = evenkeel_patch::arch::trap::breakpoint_address(context);
    eprintln!("a breakpoint of nobody at {at:#x}");
    unsafe { libc::abort() };
}
