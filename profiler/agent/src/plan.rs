//! Brings this process in line with the plan: when, and by which thread.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};

use evenkeel_patch::arch::fault;
use evenkeel_patch::arch::stubs::Boundaries;
use evenkeel_patch::arch::trap::{Carried, argument, step_back};
use evenkeel_patch::shadow::Shadow;
use evenkeel_patch::{Patcher, Plan, kernel, thread, trap_budget, writing};
use evenkeel_wire::now_ticks;
use evenkeel_wire::{Control, FAULT_IN_FUNCTION, Fixed, Frozen, Probe, Wanted};

use crate::arch::replacement;
use crate::arena::{self, Arena};
use crate::code_state::{applied, detached, is_frozen, is_java, leaves};
use crate::modules::{self, Modules};
use crate::next::Next;
use crate::verdict::{is_over, nap, verdict};
use crate::{bound, code_state, loader, waits};

/// How often a busy thread checks whether libraries were loaded, in ticks (some tens of milliseconds).
const MODULES_PERIOD_TICKS: u64 = 100_000_000;

/// How often a look-up asks for a verdict before it continues without one: two seconds.
const VERDICT_NAPS: u32 = 10_000;

/// How often an attaching session asks for the lock: two seconds.
const LOCK_NAPS: u32 = 10_000;

/// Threads that can begin intervals after the process confined itself; further ones are not recorded.
const THREADS_AFTER: usize = 64;

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
/// Whether shadow stacks were laid in.
static PROVIDED: AtomicBool = AtomicBool::new(false);
static LOOK_AGAIN_TICKS: AtomicU64 = AtomicU64::new(0);

/// Prepares the patcher and announces the modules. The executable's index, if all went well.
pub fn prepare(arena: Arena, boundaries: Boundaries) -> Option<usize> {
    // SAFETY: called by the loader, before there is a second thread.
    let process = unsafe { &mut *PROCESS.0.get() };
    let mut executable = None;
    loader::find_lock();
    if process.patcher.prepare(boundaries) {
        executable = process.modules.refresh(arena, &mut |_| {});
    }
    executable
}

/// Announces the modules to a further session.
pub fn announce(arena: Arena) -> Option<usize> {
    if !lock_patiently() {
        return None;
    }
    // SAFETY: the lock is held.
    let process = unsafe { &mut *PROCESS.0.get() };
    let executable = process.modules.refresh(arena, &mut |_| {});
    unlock();
    executable
}

/// Makes ready for another session than the one before, whose hooks are out. False if another thread stays at work on the
/// code.
pub fn renew() -> bool {
    if !lock_patiently() {
        return false;
    }
    // SAFETY: the lock is held.
    let process = unsafe { &mut *PROCESS.0.get() };
    process.patcher.renew();
    process.modules.forget();
    code_state::set_applied(0);
    code_state::renew();
    LOOK_AGAIN_TICKS.store(0, Relaxed);
    unlock();
    true
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
    !is_java() && !detached() && (leaves() || is_over(arena, now) || !is_frozen() && may_change())
}

fn is_stale(arena: Arena) -> bool {
    arena.control().generation.load(Acquire) != applied()
}

/// Applies the plan if it is newer than the code, if libraries came or went, or if the session is over. Cheap when
/// nothing is to be done; never waits.
pub fn poll(arena: Arena) {
    obey(arena.control());
    if !is_due(arena) {
        return;
    }
    if try_lock() {
        follow(arena);
    }
}

/// As [`poll`], but waits while another thread changes the code or forks. False if that one does not come to an end.
pub fn poll_patiently(arena: Arena) -> bool {
    obey(arena.control());
    if is_due(arena) {
        if !lock_patiently() {
            return false;
        }
        follow(arena);
    }
    true
}

/// Does what is due, with the lock held, and releases the lock.
fn follow(arena: Arena) {
    let now = now_ticks();
    let (over, stale) = (leaves() || is_over(arena, now), is_stale(arena));
    LOOK_AGAIN_TICKS.store(now + MODULES_PERIOD_TICKS, Relaxed);
    // SAFETY: the lock is held.
    let process = unsafe { &mut *PROCESS.0.get() };
    let mut confines = false;
    if over {
        code_state::set_changing();
        waits::switch::off();
        // Hooks that cannot be taken out stay, and lead nowhere but on.
        if !is_frozen() {
            unpatch(process, arena);
        }
        writing::drop_taken();
        code_state::set_detached(true);
        bound::ended();
    } else if !is_frozen() && (stale || process.modules.changed()) {
        bring_up_to_date(process, arena);
        confines = !bound::is() && process.modules.has(arena, Fixed::Unseen);
    } else if !is_frozen() && bound::has_unbound() {
        bound::bind_rest();
    }
    unlock();
    if confines {
        expect_filter(arena);
    }
}

/// A function was looked up: if libraries came or went, the session judges them now, and they are hooked before they are
/// called. Waits for the verdict, but no longer than [`VERDICT_NAPS`].
pub fn libraries_may_have_come(arena: Arena) {
    let is_over = || detached() || leaves() || is_frozen() || is_over(arena, now_ticks());
    if is_over() || !try_lock() {
        return;
    }
    // SAFETY: the lock is held.
    let process = unsafe { &mut *PROCESS.0.get() };
    // Hooks may have been taken out before the lock was: they would be put back, and nobody takes them out again.
    if !is_over() && process.modules.changed() {
        process.modules.refresh(arena, &mut |_| {});
        for module in process.modules.list() {
            verdict(arena, module.index as usize, VERDICT_NAPS);
        }
        bring_up_to_date(process, arena);
    }
    let confines = !bound::is() && process.modules.has(arena, Fixed::Unseen);
    unlock();
    if confines {
        expect_filter(arena);
    }
}

fn bring_up_to_date(process: &mut Process, arena: Arena) {
    let control = arena.control();
    let generation = control.generation.load(Acquire);
    code_state::set_changing();
    apply(process, arena);
    code_state::set_applied(generation);
    control.applications.fetch_add(1, Relaxed);
}

fn apply(process: &mut Process, arena: Arena) {
    let plan = plan_of(arena);
    let Process { patcher, modules } = process;
    let came_or_went = modules.changed();
    modules.refresh(arena, &mut |loaded| {
        // SAFETY: the loader's lock keeps the modules mapped, ours keeps other threads out.
        unsafe { patcher.apply(&plan, loaded) };
    });
    if came_or_went {
        bound::bind_rest();
    }
}

fn unpatch(process: &mut Process, arena: Arena) {
    let plan = plan_of(arena);
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

/// As [`try_lock`], after others have done what they are at: a program that forks without pause holds the lock for most of the
/// time. False if it never comes free.
fn lock_patiently() -> bool {
    for _ in 0..LOCK_NAPS {
        if try_lock() {
            return true;
        }
        if OWNER.load(Relaxed) == this_thread() {
            return false;
        }
        nap();
    }
    false
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
        code_state::set_changing();
        let plan = plan_of(arena);
        let Process { patcher, modules } = process;
        modules.refresh(arena, &mut |loaded| {
            // SAFETY: as for `apply`.
            unsafe { patcher.apply_for_good(&plan, loaded) };
        });
        code_state::set_applied(generation);
    }
    code_state::set_frozen(true);
    unlock();
}

/// From now on nothing is changed, and no system call made.
pub fn confine(arena: Arena) {
    if !is_frozen() {
        freeze(arena);
    }
    if !PROVIDED.swap(true, Relaxed) {
        Shadow::provide(THREADS_AFTER);
    }
    kernel::confine(true);
}

/// The program may install a filter of system calls at any time, unnoticed.
pub fn expect_filter(arena: Arena) {
    if kernel::is_confined() {
        return;
    }
    confine(arena);
    arena.control().frozen[Frozen::Unseen as usize].fetch_add(1, Relaxed);
}

/// Makes no system call any more if the session has seen a filter that was not noticed here.
fn obey(control: &Control) {
    if control.filter_seen.load(Relaxed) != 0 && !kernel::is_confined() {
        code_state::set_frozen(true);
        kernel::confine_at_once();
    }
}

/// The process leaves the session, since calls cannot be followed any more, for this reason. Its hooks are out when this
/// returns, unless another thread stays at work on the code: then they are soon.
pub fn leave_session(arena: Arena, why: Frozen) {
    if !arena.is_mapped() || detached() || leaves() || is_java() {
        return;
    }
    code_state::set_leaves();
    arena.control().frozen[why as usize].fetch_add(1, Relaxed);
    poll_patiently(arena);
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
    let plan = plan_of(arena);
    // SAFETY: the patcher's tables are made for concurrent readers.
    let process = unsafe { &*PROCESS.0.get() };
    // SAFETY: called from the handler of SIGTRAP.
    let Some((probe, carried)) = (unsafe { process.patcher.on_trap(&plan, context) }) else {
        // SAFETY: the same.
        let is_withdrawn = unsafe { process.patcher.is_withdrawn(context) };
        if is_withdrawn {
            step_back(context);
        }
        return is_withdrawn;
    };
    arena.control().traps.fetch_add(1, Relaxed);
    let callee = match carried {
        Carried::On(callee) => callee,
        Carried::Faulted(fault) => {
            fault::fail_again(context, fault);
            return true;
        }
    };
    learn(process, context, probe, callee);
    if !trap_budget::may_stay(arena.control(), probe) {
        withdraw(arena, probe);
    }
    true
}

/// Takes the breakpoint of a call out at once, even in the middle of an interval: its traps have cost enough. Does nothing while another
/// thread changes the code, or forks; the next trap tries again.
fn withdraw(arena: Arena, probe: &Probe) {
    if is_frozen() || kernel::is_confined() || !try_lock() {
        return;
    }
    // SAFETY: the lock is held.
    let Process { patcher, .. } = unsafe { &mut *PROCESS.0.get() };
    let mut probes = arena.probes().iter();
    let id = probes.position(|one| core::ptr::eq(one, probe));
    if let Some(id) = id {
        // SAFETY: the code stays mapped, for this thread has just come from there and may return.
        unsafe { patcher.withdraw(&plan_of(arena), id as u32) };
    }
    unlock();
}

/// Notes the callee of a trapped call, or the functions that it passes on to be called back.
fn learn(process: &Process, context: &libc::ucontext_t, probe: &Probe, callee: Option<u64>) {
    if probe.callbacks == 0 {
        callee
            .into_iter()
            .for_each(|callee| note(process, probe, callee));
        return;
    }
    let handed_on = (0..u8::BITS as usize).filter(|argument| probe.callbacks >> argument & 1 == 1);
    handed_on
        .filter_map(|number| argument(context, number))
        .for_each(|function| note(process, probe, function));
}

/// A thread's instruction has failed. If it belongs to the agent and the thread can continue, it does so, the hooks
/// are taken out, and the session is told. In a process that has confined itself no system call is made: hooks stay
/// there, and only pass calls on.
pub fn on_fault(context: &mut libc::ucontext_t, info: &libc::siginfo_t) -> bool {
    // SAFETY: called from the handler of a fault.
    if unsafe { fault::answer_read(context) } {
        return true;
    }
    let (arena, at) = (arena::get(), fault::program_counter(context));
    let in_agent = modules::is_own(at);
    if !arena.is_mapped() || !(in_agent || evenkeel_patch::is_in_hook(at)) {
        return false;
    }
    let thread = thread::current();
    if core::mem::replace(&mut thread.leaves_fault, true) {
        return false; // the way on fails, too
    }
    // SAFETY: the patcher's tables are made for concurrent readers.
    let process = unsafe { &*PROCESS.0.get() };
    // SAFETY: called from the handler of a fault.
    let left = unsafe { leave(process, context, arena, in_agent) };
    if let Some(place) = left {
        thread.active = 0;
        thread.closed = true;
        tell(arena.control(), place, info.si_signo);
        take_out(arena);
    }
    thread.leaves_fault = false;
    left.is_some()
}

/// The agent's code in which a thread's instruction has failed.
#[derive(Clone, Copy)]
enum Place {
    /// The hook of this probe.
    Hook(u32),
    /// A replacement of this function of the C library.
    Function(&'static Next),
}

/// Lets a thread leave the agent's innermost code that it is in, and returns that code; `None` if the thread cannot
/// continue.
unsafe fn leave(
    process: &Process,
    context: &mut libc::ucontext_t,
    arena: Arena,
    in_agent: bool,
) -> Option<Place> {
    let guard = thread::current().guard;
    // Of two on one stack the lower one is the inner one.
    let call =
        replacement::innermost(context).filter(|&call| in_agent && (guard == 0 || call < guard));
    // SAFETY: called from the handler of a fault.
    unsafe {
        if let Some(call) = call {
            return replacement::leave(context, call).map(Place::Function);
        }
        let plan = plan_of(arena);
        let id = process.patcher.on_fault(&plan, context, in_agent);
        id.map(Place::Hook)
    }
}

/// Reports the place of the agent's first fault to the session.
fn tell(control: &Control, place: Place, signal: i32) {
    if control.faults.fetch_add(1, Relaxed) > 0 {
        return;
    }
    control.fault_signal.store(signal as u32, Relaxed);
    let probe = match place {
        Place::Hook(id) => id + 1,
        Place::Function(next) => {
            let name = next.name().to_bytes().iter();
            for (byte, to) in name.zip(&control.fault_function) {
                to.store(*byte, Relaxed);
            }
            FAULT_IN_FUNCTION
        }
    };
    control.fault_probe.store(probe, Release);
}

/// After a fault of the agent: the process leaves the session, and its hooks go as soon as nobody else changes its
/// code.
fn take_out(arena: Arena) {
    code_state::set_leaves();
    waits::switch::off();
    if is_frozen() || kernel::is_confined() {
        return;
    }
    if OWNER.load(Relaxed) == this_thread() {
        // The change that failed is not finished by anybody: what is half done are breakpoints, which lead on.
        code_state::set_frozen(true);
        unlock();
    } else if try_lock() {
        // SAFETY: the lock is held. The modules are those of the last look at them.
        let process = unsafe { &mut *PROCESS.0.get() };
        let Process { patcher, modules } = process;
        // SAFETY: as for `apply`.
        unsafe { patcher.unpatch(&plan_of(arena), modules.list()) };
        unlock();
    }
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
        evenkeel_patch::discovery::note_callee(probe, seen);
    }
}
