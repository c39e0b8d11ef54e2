//! Bringing this process in line with the plan: when, and by whom.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

use evenkeel_patch::arch::stubs::Boundaries;
use evenkeel_patch::{Patcher, Plan};
use evenkeel_wire::now_ticks;
use evenkeel_wire::{Fixed, Probe, Wanted};

use crate::arena::{self, Arena};
use crate::modules::Modules;
use crate::verdict::{is_over, verdict};
use crate::{attached, confinement, waits};

/// How often a busy thread asks whether libraries were loaded, in ticks (some tens of milliseconds).
const MODULES_PERIOD_TICKS: u64 = 100_000_000;

/// How often a look-up asks for a verdict before it goes on without: two seconds.
const VERDICT_NAPS: u32 = 10_000;

struct Process {
    patcher: Patcher,
    modules: Modules,
}

struct Guarded(UnsafeCell<Process>);
// SAFETY: changed only by the thread that holds OWNER; what trap handlers read is published by the patcher.
unsafe impl Sync for Guarded {}

static PROCESS: Guarded = Guarded(UnsafeCell::new(Process {
    patcher: Patcher::new(),
    modules: Modules::new(),
}));
/// Thread that changes the process' code, 0 for none.
static OWNER: AtomicUsize = AtomicUsize::new(0);
static APPLIED: AtomicU32 = AtomicU32::new(0);
static DETACHED: AtomicBool = AtomicBool::new(false);
static FROZEN: AtomicBool = AtomicBool::new(false);
static LOOK_AGAIN_TICKS: AtomicU64 = AtomicU64::new(0);

/// In place of a generation while the code is being changed, and once the session is over: intervals that begin or end
/// then follow no plan.
pub const CHANGING: u32 = u32::MAX;

/// The generation of the plan that the code now follows, or [`CHANGING`].
pub fn applied() -> u32 {
    APPLIED.load(Acquire)
}

/// Whether the code stays as it is until the process ends.
pub fn is_frozen() -> bool {
    FROZEN.load(Relaxed)
}

/// Whether the session is over for this process.
pub fn detached() -> bool {
    DETACHED.load(Relaxed)
}

/// Prepares the patcher and announces the modules. The executable's index, if all went well.
pub fn prepare(arena: Arena, boundaries: Boundaries) -> Option<usize> {
    // SAFETY: called by the loader, before there is a second thread.
    let process = unsafe { &mut *PROCESS.0.get() };
    let mut executable = None;
    if process.patcher.prepare(boundaries) {
        executable = process.modules.refresh(arena, &mut |_| {});
    }
    executable
}

/// Announces the modules to a further session.
pub fn announce(arena: Arena) -> Option<usize> {
    if !try_lock() {
        return None;
    }
    // SAFETY: the lock is held.
    let process = unsafe { &mut *PROCESS.0.get() };
    let executable = process.modules.refresh(arena, &mut |_| {});
    unlock();
    executable
}

/// Makes ready for another session than the one before, whose hooks are out. False while another thread is at work on the
/// code.
pub fn renew() -> bool {
    if !try_lock() {
        return false;
    }
    // SAFETY: the lock is held.
    let process = unsafe { &mut *PROCESS.0.get() };
    process.patcher.renew();
    process.modules = Modules::new();
    APPLIED.store(0, Relaxed);
    LOOK_AGAIN_TICKS.store(0, Relaxed);
    unlock();
    true
}

/// The process belongs to a session from now on.
pub fn begin() {
    DETACHED.store(false, Release);
}

/// Table indices of the modules that [`prepare`] found.
pub fn loaded() -> impl Iterator<Item = usize> {
    // SAFETY: as for `prepare`.
    let process = unsafe { &*PROCESS.0.get() };
    process
        .modules
        .list()
        .iter()
        .map(|module| module.index as usize)
}

/// Whether a file that [`prepare`] found is such that the process' code may not be changed later, for this reason.
pub fn has(arena: Arena, why: Fixed) -> bool {
    // SAFETY: as for `prepare`.
    unsafe { &*PROCESS.0.get() }.modules.has(arena, why)
}

/// Applies the plan for the first time, with the loader still in charge.
pub fn start(arena: Arena) {
    // SAFETY: as for `prepare`.
    let process = unsafe { &mut *PROCESS.0.get() };
    let probes = arena.probes();
    for module in process.modules.list() {
        if probes.iter().any(|probe| probe.module == module.index) {
            process.patcher.reserve(module);
        }
    }
    poll(arena);
}

/// Whether [`poll`] would do something: the plan is newer than the code, the session is over, or it is time to look
/// whether libraries came or went.
pub fn is_due(arena: Arena) -> bool {
    let now = now_ticks();
    let may_change = || is_stale(arena) || now > LOOK_AGAIN_TICKS.load(Relaxed);
    !detached() && (is_over(arena, now) || !is_frozen() && may_change())
}

fn is_stale(arena: Arena) -> bool {
    arena.control().generation.load(Acquire) != applied()
}

/// Applies the plan if it is newer than the code, if libraries came or went, or if the session is over. Cheap when
/// nothing is to be done; never waits.
pub fn poll(arena: Arena) {
    confinement::obey(arena.control());
    if !is_due(arena) {
        return;
    }
    let now = now_ticks();
    let (over, stale) = (is_over(arena, now), is_stale(arena));
    if !try_lock() {
        return;
    }
    LOOK_AGAIN_TICKS.store(now + MODULES_PERIOD_TICKS, Relaxed);
    // SAFETY: the lock is held.
    let process = unsafe { &mut *PROCESS.0.get() };
    let mut confines = false;
    if over {
        APPLIED.store(CHANGING, SeqCst);
        waits::switch::off();
        // Hooks that cannot be taken out stay, and lead nowhere but on.
        if !is_frozen() {
            unpatch(process, arena);
        }
        DETACHED.store(true, Release);
        attached::ended();
    } else if !is_frozen() && (stale || process.modules.changed()) {
        bring_up_to_date(process, arena);
        confines = !attached::is() && process.modules.has(arena, Fixed::Unseen);
    }
    unlock();
    if confines {
        confinement::expect_any_time();
    }
}

/// A function was looked up: if libraries came or went, the session judges them now, and they are hooked before they are
/// called. Waits for the verdict, but no longer than [`VERDICT_NAPS`].
pub fn libraries_may_have_come(arena: Arena) {
    if detached() || is_frozen() || !try_lock() {
        return;
    }
    // SAFETY: the lock is held.
    let process = unsafe { &mut *PROCESS.0.get() };
    if process.modules.changed() {
        process.modules.refresh(arena, &mut |_| {});
        for module in process.modules.list() {
            verdict(arena, module.index as usize, VERDICT_NAPS);
        }
        bring_up_to_date(process, arena);
    }
    let confines = !attached::is() && process.modules.has(arena, Fixed::Unseen);
    unlock();
    if confines {
        confinement::expect_any_time();
    }
}

fn bring_up_to_date(process: &mut Process, arena: Arena) {
    let control = arena.control();
    let generation = control.generation.load(Acquire);
    APPLIED.store(CHANGING, SeqCst);
    apply(process, arena);
    APPLIED.store(generation, Release);
    control.applications.fetch_add(1, Relaxed);
}

fn apply(process: &mut Process, arena: Arena) {
    let plan = Plan {
        probes: arena.probes(),
        displaced: arena.displaced(),
    };
    let Process { patcher, modules } = process;
    let came_or_went = modules.changed();
    modules.refresh(arena, &mut |loaded| {
        // SAFETY: the loader's lock keeps the modules mapped, ours keeps other threads out.
        unsafe { patcher.apply(&plan, loaded) };
    });
    if came_or_went {
        attached::libraries_came();
    }
}

fn unpatch(process: &mut Process, arena: Arena) {
    let plan = Plan {
        probes: arena.probes(),
        displaced: arena.displaced(),
    };
    let Process { patcher, modules } = process;
    modules.refresh(arena, &mut |loaded| {
        // SAFETY: as for `apply`.
        unsafe { patcher.unpatch(&plan, loaded) };
    });
}

/// Something other than zero that no other thread has.
fn this_thread() -> usize {
    evenkeel_patch::arch::tls::address()
}

fn try_lock() -> bool {
    OWNER
        .compare_exchange(0, this_thread(), Acquire, Relaxed)
        .is_ok()
}

fn unlock() {
    OWNER.store(0, Release);
}

/// The code follows the newest plan one last time, without breakpoints, and stays so.
pub fn freeze(arena: Arena) {
    lock_for_fork();
    if !detached() && !is_frozen() {
        // SAFETY: the lock is held.
        let process = unsafe { &mut *PROCESS.0.get() };
        let generation = arena.control().generation.load(Acquire);
        APPLIED.store(CHANGING, SeqCst);
        let plan = plan_of(arena);
        let Process { patcher, modules } = process;
        modules.refresh(arena, &mut |loaded| {
            // SAFETY: as for `apply`.
            unsafe { patcher.apply_for_good(&plan, loaded) };
        });
        APPLIED.store(generation, Release);
    }
    FROZEN.store(true, Release);
    unlock();
}

/// The code stays as it is from now on, whatever it is.
pub fn stay_frozen() {
    FROZEN.store(true, Release);
}

/// The process was not confined after all.
pub fn thaw() {
    FROZEN.store(false, Release);
}

fn plan_of(arena: Arena) -> Plan<'static> {
    Plan {
        probes: arena.probes(),
        displaced: arena.displaced(),
    }
}

/// Before `fork`: no other thread may be changing code, or the child would inherit it half done.
pub fn lock_for_fork() {
    while OWNER.load(Relaxed) != this_thread() && !try_lock() {
        // SAFETY: no arguments.
        unsafe { libc::sched_yield() };
    }
}

/// After `fork`, in the parent.
pub fn after_fork_in_parent() {
    unlock();
}

/// After `fork`, in the child.
pub fn after_fork_in_child() {
    // SAFETY: the child's only thread.
    unsafe { (*PROCESS.0.get()).patcher.after_fork() };
    unlock();
}

/// A thread executed a breakpoint. True if it was one of the plan's, and the thread can go on.
pub fn on_trap(context: &mut libc::ucontext_t) -> bool {
    let arena = arena::get();
    if !arena.is_mapped() {
        return false;
    }
    let plan = Plan {
        probes: arena.probes(),
        displaced: arena.displaced(),
    };
    // SAFETY: the patcher's tables are made for concurrent readers.
    let process = unsafe { &*PROCESS.0.get() };
    // SAFETY: called from the handler of SIGTRAP.
    let Some((probe, callee)) = (unsafe { process.patcher.on_trap(&plan, context) }) else {
        return false;
    };
    arena.control().traps.fetch_add(1, Relaxed);
    if let Some(callee) = callee {
        note(process, probe, callee);
    }
    true
}

fn note(process: &Process, probe: &Probe, callee: u64) {
    if probe.wanted.load(Relaxed) == Wanted::Discover as u32 {
        let module = process
            .modules
            .list()
            .iter()
            .find(|module| (module.low..module.high).contains(&callee));
        let seen = module.map_or(u64::MAX, |module| {
            (module.index as u64) << 48 | callee.wrapping_sub(module.bias)
        });
        evenkeel_patch::patcher::note_callee(probe, seen);
    }
}
