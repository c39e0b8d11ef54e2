//! Instructions of the agent that fail: the calls in whose hooks they are return the same as without hooks.

mod harness;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::*};

use evenkeel_patch::arch::fault;
use evenkeel_patch::arch::stubs::{Boundaries, NOT_SHORT, Registers};
use evenkeel_patch::{Plan, thread};
use evenkeel_wire::{Role, Wanted};
use harness::library::Library;
use harness::plan::Harness;
use harness::ring::{RECORDING, Ring};

static HARNESS: AtomicPtr<Harness> = AtomicPtr::new(std::ptr::null_mut());
/// Faults that were left, and the probe of the last.
static LEFT: AtomicU64 = AtomicU64::new(0);
static PROBE: AtomicU64 = AtomicU64::new(0);
/// Where an instruction of the program's own fails; 0: nowhere.
static OWN: AtomicU64 = AtomicU64::new(0);
/// Whether a boundary's function is to fail where it begins.
static ENTERING: AtomicBool = AtomicBool::new(false);
static LEAVING: AtomicBool = AtomicBool::new(false);
static SHORT: AtomicBool = AtomicBool::new(false);
/// Runs one test at a time: signals belong to the process.
static ALONE: Mutex<()> = Mutex::new(());

extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let (context, info) = unsafe { (&mut *context.cast::<libc::ucontext_t>(), &*info) };
    if unsafe { fault::answer_read(context) } {
        return;
    }
    if OWN.load(Relaxed) == fault::program_counter(context) {
        let met = unsafe { info.si_addr() } as u64 == 0x1018;
        unsafe { libc::_exit(if met { 7 } else { 1 }) };
    }
    let harness = unsafe { &*HARNESS.load(Acquire) };
    let plan = Plan {
        probes: &harness.probes,
        displaced: &harness.displaced,
    };
    let in_hook = evenkeel_patch::is_in_hook(fault::program_counter(context));
    match unsafe { harness.patcher.on_fault(&plan, context, !in_hook) } {
        Some(id) => {
            LEFT.fetch_add(1, Relaxed);
            PROBE.store(id.into(), Relaxed);
        }
        None => unsafe {
            libc::signal(signal, libc::SIG_DFL);
        },
    }
}

fn answer_faults() {
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL] {
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Uses registers that calls preserve, and some that they do not, and fails.
#[inline(never)]
fn fail() {
    unsafe {
        std::arch::asm!(
            "mov r12, 1", "mov r13, 2", "mov r14, 3", "mov r15, 4", "pcmpeqd xmm3, xmm3",
            "mov rax, qword ptr [0]",
            out("r12") _, out("r13") _, out("r14") _, out("r15") _, out("xmm3") _, out("rax") _,
        );
    }
}

extern "C" fn enter(id: u32, registers: &mut Registers, after: u64) -> u32 {
    if ENTERING.load(Relaxed) {
        fail();
    }
    (RECORDING.enter)(id, registers, after)
}

extern "C" fn leave(id: u32, registers: &mut Registers, after: u64, now: u64) {
    if LEAVING.load(Relaxed) {
        fail();
    }
    (RECORDING.leave)(id, registers, after, now);
}

extern "C" fn enter_short(_: u32, _: &mut Registers, _: u64) -> u32 {
    if ENTERING.load(Relaxed) && SHORT.load(Relaxed) {
        fail();
    }
    NOT_SHORT
}

extern "C" fn leave_short(_: u32, _: &mut Registers, _: u64, _: u64) -> u32 {
    if LEAVING.load(Relaxed) && SHORT.load(Relaxed) {
        fail();
    }
    NOT_SHORT
}

const FAILING: Boundaries = Boundaries {
    enter,
    leave,
    enter_short,
    leave_short,
};

type Function = extern "C" fn(i64) -> i64;

/// Functions of `forms.s`, and what they add.
const DRIVERS: [(&str, i64); 3] = [("chain", 11), ("aligned", 64), ("indirect", 17)];
const ENTERED: [&str; 7] = [
    "frame", "twos", "ones", "five", "landing", "mixed", "branches",
];

fn check(library: &Library) {
    for (name, adds) in DRIVERS {
        let function: Function = unsafe { std::mem::transmute(library.symbol(name)) };
        assert_eq!(function(100), 100 + adds, "{name}");
    }
}

/// Everything of `forms.s` hooked that can be: calls, tail jumps and entries.
fn hooked(library: &Library, role: Role) -> &'static mut Harness {
    let harness = Harness::with(library, FAILING);
    let mut ids = Vec::new();
    for name in ["chain", "aligned", "indirect", "tail", "tail_of_tail"] {
        let sites = harness.sites_of(name, role);
        let long = sites
            .into_iter()
            .filter(|&id| harness.probes[id].form != evenkeel_wire::Form::ShortIndirectCall as u8);
        ids.extend(long.collect::<Vec<_>>());
    }
    ids.extend(ENTERED.map(|name| harness.entry(name, role)));
    harness.set(&ids, Wanted::On);
    HARNESS.store(harness, Release);
    harness
}

/// A boundary's function fails, at the beginning of the call or after its return, on the short way or the long one.
#[test]
fn a_boundary_that_fails_is_left() {
    let _alone = ALONE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    answer_faults();
    for role in [Role::Whole, Role::End] {
        let library = Library::build("forms.s");
        hooked(&library, role);
        let _ring = Ring::start();
        check(&library);
        for (at_begin, short) in [(true, true), (true, false), (false, true), (false, false)] {
            let before = LEFT.load(Relaxed);
            SHORT.store(short, Relaxed);
            ENTERING.store(at_begin, Relaxed);
            LEAVING.store(!at_begin, Relaxed);
            check(&library);
            assert!(
                LEFT.load(Relaxed) > before + 50,
                "{role:?} {at_begin} {short}"
            );
            ENTERING.store(false, Relaxed);
            LEAVING.store(false, Relaxed);
            check(&library);
        }
        assert_eq!(thread::current().guard, 0, "nobody is in a boundary");
    }
}

/// The ring's memory is gone, or the top of the shadow stack leads nowhere.
#[test]
fn an_inner_hook_that_fails_is_left() {
    let _alone = ALONE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    answer_faults();
    let library = Library::build("forms.s");
    let harness = hooked(&library, Role::Inner);
    let _ring = Ring::start();
    check(&library);
    let thread = thread::current();
    let (ring, top) = (thread.ring, thread.top);
    let before = LEFT.load(Relaxed);
    thread.ring = std::ptr::without_provenance_mut(0x10);
    check(&library);
    assert!(LEFT.load(Relaxed) > before + 50, "behind calls");
    thread::current().ring = ring;
    check(&library);
    let before = LEFT.load(Relaxed);
    thread::current().top = std::ptr::without_provenance_mut(0x10);
    check(&library);
    assert!(LEFT.load(Relaxed) > before + 50, "before calls");
    thread::current().top = top;
    check(&library);
    let probe = PROBE.load(Relaxed) as usize;
    assert!(probe < harness.probes.len());
}

/// A jump through a pointer that leads nowhere, while it is trapped: the program meets its own fault.
#[test]
fn an_operand_that_cannot_be_read_is_the_programs_own_fault() {
    let _alone = ALONE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    answer_faults();
    let library = Library::build("entries.s");
    let harness = Harness::new(&library);
    let ids = harness.sites_of("fails", Role::Inner);
    harness.set(&ids, Wanted::Discover);
    HARNESS.store(harness, Release);
    let child = unsafe { libc::fork() };
    if child == 0 {
        let fails: extern "C" fn(u64) -> i64 =
            unsafe { std::mem::transmute(library.symbol("fails")) };
        OWN.store(library.symbol("fails"), Relaxed);
        fails(0x1000);
        unsafe { libc::_exit(2) };
    }
    let mut status = 0;
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 7 << 8, "it meets the fault");
}
