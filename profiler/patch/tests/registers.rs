//! Every register and every stack argument is the same with a hook and without.
//!
//! The assembly below is generated. A caller loads all registers from `input`, leaves 16 arguments on the stack and
//! calls through `target`. A callee stores what it sees to `seen`, overwrites everything with `output` and returns.
//! Then the caller stores what it sees to `after`.

mod harness;

use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, OnceLock};

use evenkeel_patch::arch::stubs::Boundaries;
use evenkeel_patch::arch::trampoline::Hook;
use evenkeel_patch::arch::trampoline::ID_AT;
use evenkeel_patch::region::{Part, Region};
use evenkeel_patch::{Frame, Thread, thread};
use evenkeel_wire::now_ticks;
use evenkeel_wire::{Form, Operand, Role};
use harness::library::Library;
use harness::ring::{BYPASSING, RECORDING, RECORDING_SHORT, Ring};

const GENERAL: [&str; 15] = [
    "rax", "rcx", "rdx", "rbx", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15",
];
const ARGUMENTS: usize = 16;
/// 15 general registers, 32 vectors of 64 bytes, 7 masks.
const STATE_WORDS: usize = 16 + 32 * 8 + 8;

/// Number of vector registers, their bytes, and the name of one.
fn vectors() -> (usize, usize, &'static str) {
    if std::is_x86_feature_detected!("avx512bw") {
        (32, 64, "zmm")
    } else if std::is_x86_feature_detected!("avx") {
        (16, 32, "ymm")
    } else {
        (16, 16, "xmm")
    }
}

/// Whether this machine has the register of a word of the state.
fn is_present(word: usize) -> bool {
    let (count, bytes, _) = vectors();
    match word {
        0..16 => word < GENERAL.len(),
        16..272 => (word - 16) / 8 < count && (word - 16) % 8 * 8 < bytes,
        _ => count == 32 && word > 272,
    }
}

fn moves(text: &mut String, store: bool, state: &str) {
    let mut line = |operation: &str, register: &str, word: usize| {
        let memory = format!("{state}+{}(%rip)", 8 * word);
        let (from, to) = if store {
            (format!("%{register}"), memory)
        } else {
            (memory, format!("%{register}"))
        };
        writeln!(text, "{operation} {from}, {to}").unwrap();
    };
    let (vectors, _, kind) = vectors();
    let operation = if kind == "xmm" { "movups" } else { "vmovups" };
    for i in 0..vectors {
        line(operation, &format!("{kind}{i}"), 16 + 8 * i);
    }
    if vectors == 32 {
        (1..8).for_each(|i| line("kmovq", &format!("k{i}"), 16 + 256 + i));
    }
    GENERAL
        .iter()
        .enumerate()
        .for_each(|(i, register)| line("movq", register, i));
}

fn assembly() -> String {
    let mut text = String::from(
        ".text\n.globl run, callee, returned\n.type run, @function\nrun:\n.cfi_startproc\n",
    );
    let saved = ["rbx", "rbp", "r12", "r13", "r14", "r15"];
    saved
        .iter()
        .for_each(|register| writeln!(text, "push %{register}").unwrap());
    writeln!(text, "sub ${}, %rsp", 8 * ARGUMENTS + 8).unwrap();
    for i in 0..ARGUMENTS {
        writeln!(
            text,
            "mov arguments+{}(%rip), %rax\nmov %rax, {}(%rsp)",
            8 * i,
            8 * i
        )
        .unwrap();
    }
    moves(&mut text, false, "input");
    text += "call *target(%rip)\nreturned:\n";
    moves(&mut text, true, "after");
    writeln!(text, "add ${}, %rsp", 8 * ARGUMENTS + 8).unwrap();
    saved
        .iter()
        .rev()
        .for_each(|register| writeln!(text, "pop %{register}").unwrap());
    text +=
        "ret\n.cfi_endproc\n.size run, .-run\n.type callee, @function\ncallee:\n.cfi_startproc\n";
    moves(&mut text, true, "seen");
    for i in 0..ARGUMENTS {
        writeln!(
            text,
            "mov {}(%rsp), %rax\nmov %rax, found+{}(%rip)",
            8 * i + 8,
            8 * i
        )
        .unwrap();
    }
    text += "mov interlude(%rip), %rax\ntest %rax, %rax\njz 1f\nsub $8, %rsp\ncall *%rax\nadd $8, %rsp\n1:\n";
    moves(&mut text, false, "output");
    text +=
        "ret\n.cfi_endproc\n.size callee, .-callee\n.section .note.GNU-stack\n.bss\n.balign 64\n";
    for name in ["input", "seen", "output", "after"] {
        writeln!(
            text,
            ".globl {name}\n.hidden {name}\n{name}: .zero {}",
            8 * STATE_WORDS
        )
        .unwrap();
    }
    for name in ["arguments", "found"] {
        writeln!(text, "{name}: .zero {}", 8 * ARGUMENTS).unwrap();
    }
    text += "target: .zero 8\ninterlude: .zero 8\n.data\n.globl table, callee_slot\ncallee_slot: .quad callee\ntable: .quad input, seen, output, after, arguments, found, target, interlude\n";
    text
}

/// The assembly, loaded.
struct Machine {
    library: Library,
    region: *mut Region,
}
unsafe impl Send for Machine {}

fn machine() -> MutexGuard<'static, Machine> {
    static MACHINE: OnceLock<Mutex<Machine>> = OnceLock::new();
    let make = || {
        let file = tempfile::Builder::new().suffix(".s").tempfile().unwrap();
        std::fs::write(file.path(), assembly()).unwrap();
        let library = Library::build_from(file.path(), "registers");
        let region = Region::create(library.loaded.low, library.loaded.high);
        assert!(!region.is_null());
        Mutex::new(Machine { library, region })
    };
    MACHINE
        .get_or_init(make)
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Machine {
    fn array(&self, index: usize) -> *mut u64 {
        unsafe { *(self.library.symbol("table") as *const *mut u64).add(index) }
    }

    fn words(&self, index: usize, len: usize) -> Vec<u64> {
        unsafe { std::slice::from_raw_parts(self.array(index), len).to_vec() }
    }

    /// Loads the registers, calls through `target`, and compares what callee and caller saw.
    fn check(&self, target: u64, interlude: Option<extern "C" fn()>) {
        let mut seed = 0x1234_5678_9abc_def1_u64;
        for (array, len) in [(0, STATE_WORDS), (2, STATE_WORDS), (4, ARGUMENTS)] {
            for i in 0..len {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                unsafe { *self.array(array).add(i) = seed };
            }
        }
        unsafe {
            *self.array(6) = target;
            *self.array(7) = interlude.map_or(0, |function| function as *const () as u64);
            let run: extern "C" fn() = std::mem::transmute(self.library.symbol("run"));
            run();
        }
        for (wanted, found, what) in [(0, 1, "the callee sees"), (2, 3, "the caller sees")] {
            let (wanted, found) = (
                self.words(wanted, STATE_WORDS),
                self.words(found, STATE_WORDS),
            );
            let of_machine = |words: Vec<u64>| -> Vec<u64> {
                words
                    .into_iter()
                    .enumerate()
                    .filter(|&(word, _)| is_present(word))
                    .map(|(_, value)| value)
                    .collect()
            };
            let (wanted, found) = (of_machine(wanted), of_machine(found));
            assert_eq!(wanted, found, "{what}");
        }
        assert_eq!(self.words(4, ARGUMENTS), self.words(5, ARGUMENTS));
    }

    fn hook(&self, form: Form, role: Role, id: u32, boundaries: &Boundaries) -> u64 {
        let returned = self.library.symbol("returned");
        let displacement = self.library.symbol("callee_slot").wrapping_sub(returned) as i32;
        let operand = Operand {
            base: Operand::RIP,
            index: Operand::NONE,
            scale: 1,
            register: 0,
            displacement,
        };
        let hook = Hook {
            id,
            form,
            role,
            site: returned - 6,
            len: 6,
            target: self.library.symbol("callee"),
            operand,
        };
        let region = unsafe { &mut *self.region };
        let part = if hook.moving() {
            Part::Moving
        } else {
            Part::Constant
        };
        let at = region.take(part, hook.code_bytes()).unwrap();
        assert!(unsafe { hook.write(at, boundaries) });
        region.seal();
        at as u64
    }
}

const FORMS: [Form; 3] = [Form::Call, Form::IndirectCall, Form::TailJump];

#[test]
fn without_a_hook() {
    let machine = machine();
    machine.check(machine.library.symbol("callee"), None);
}

#[test]
fn inner_and_boundary_hooks_preserve_everything() {
    let machine = machine();
    let mut ring = Ring::start();
    let kinds = [
        (Role::Inner, &RECORDING),
        (Role::Whole, &RECORDING),
        (Role::Whole, &RECORDING_SHORT),
    ];
    for (role, boundaries) in kinds {
        for (id, form) in FORMS.into_iter().enumerate() {
            let id = 0xa_5550 + id as u32;
            let hook = machine.hook(form, role, id, boundaries);
            let before = now_ticks();
            machine.check(hook, None);
            let after = now_ticks();
            let [record] = ring.records()[..] else {
                panic!("one record")
            };
            assert_eq!(record.id(), id);
            assert!(before < record.start && record.end() < after && record.duration() > 0);
            assert!(thread::current().frames().is_empty());
        }
    }
}

#[test]
fn the_lap_bit_changes_with_the_lap() {
    let machine = machine();
    let mut ring = Ring::start();
    let hook = machine.hook(Form::Call, Role::Inner, 1, &RECORDING);
    let mut records = 0;
    for _ in 0..70 {
        (0..1000).for_each(|_| machine.check(hook, None));
        records += ring.records().len(); // asserts the lap bits
    }
    assert_eq!(records, 70_000, "more than two laps");
}

/// The trampoline's data for a frame: the probe's id follows the address that the call returns to.
static TRAMPOLINE: [u64; ID_AT / 8 + 1] = {
    let mut words = [0; ID_AT / 8 + 1];
    words[ID_AT / 8] = LEFT as u64;
    words
};
/// The probe of the calls that are left.
const LEFT: u32 = 77;

/// Leaves a frame as a call does that is left by something that neither the unwinder nor `longjmp` reports.
extern "C" fn leave_stale_frame() {
    harness::ring::scribble();
    let sp = (&raw const *thread::current() as u64).min(0x1000);
    assert!(thread::current().push(Frame {
        ret: 1,
        sp,
        start: 1,
        after: TRAMPOLINE.as_ptr() as u64
    }));
}

#[test]
fn slow_paths_preserve_everything() {
    let machine = machine();
    let mut ring = Ring::start();
    for role in [Role::Inner, Role::Whole] {
        for (id, form) in FORMS.into_iter().enumerate() {
            let hook = machine.hook(form, role, id as u32, &RECORDING);
            leave_stale_frame(); // found stale on entry
            machine.check(hook, Some(leave_stale_frame)); // found on top on return
            let records = ring.records();
            let ids: Vec<u32> = records.iter().map(|record| record.id()).collect();
            assert_eq!(ids, [LEFT, LEFT, id as u32]);
            assert!(
                records[1].end() <= records[2].end(),
                "no later than who called it"
            );
            assert!(thread::current().frames().is_empty());
        }
    }
}

#[test]
fn bypasses_preserve_everything() {
    let machine = machine();
    let mut ring = Ring::start();
    for form in FORMS {
        machine.check(machine.hook(form, Role::Whole, 1, &BYPASSING), None);
        let hook = machine.hook(form, Role::Inner, 1, &RECORDING);
        thread::current().active = 0;
        machine.check(hook, None);
        assert!(ring.records().is_empty());
        thread::current().active = 1;
        let (top, full) = (thread::current().top, thread::current().shadow_full);
        let limit = std::mem::replace(&mut thread::current().limit, top);
        machine.check(hook, None);
        thread::current().limit = limit;
        assert!(ring.records().is_empty());
        assert_eq!(thread::current().shadow_full, full + 1);
    }
}

#[test]
fn a_full_ring_ends_the_timing_of_the_interval() {
    let machine = machine();
    let mut ring = Ring::start();
    for form in FORMS {
        let hook = machine.hook(form, Role::Inner, 1, &RECORDING);
        thread::current().active = Thread::IN_INTERVAL;
        ring.fill();
        let dropped = ring.dropped();
        machine.check(hook, None);
        assert_eq!(ring.dropped(), dropped + 1);
        assert!(ring.records().is_empty(), "and raises the limit again");
        machine.check(hook, None);
        assert!(ring.records().is_empty(), "though there is room");
        assert_eq!(thread::current().active, 0);
    }
}

#[test]
fn a_full_ring_counts_what_it_drops() {
    let machine = machine();
    let mut ring = Ring::start();
    thread::current().active = Thread::ALWAYS;
    for role in [Role::Inner, Role::Whole] {
        for form in FORMS {
            let hook = machine.hook(form, role, 1, &RECORDING);
            ring.fill();
            let dropped = ring.dropped();
            machine.check(hook, None);
            assert_eq!(ring.dropped(), dropped + 1);
            assert!(ring.records().is_empty(), "and raises the limit again");
            machine.check(hook, None);
            assert_eq!(ring.records().len(), 1);
        }
    }
}
