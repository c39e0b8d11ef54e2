//! Libraries that come and go while the plan is applied.

mod harness;

use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

use evenkeel_wire as wire;
use harness::arena::Arena;
use harness::build;
use harness::plan::{Hook, Hooks};
use wire::{Mode, Probe, Role};

/// One call, whose probe is the first.
const HOOKS: [Hook<'static>; 1] = [Hook::new("request", Role::Whole)];

fn wait_until(program: &mut Child, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(program.try_wait().expect("a child of ours").is_none());
        assert!(began.elapsed() < Duration::from_secs(60), "it never is");
        std::thread::sleep(Duration::from_micros(50));
    }
}

fn hooks_are_taken_out(path: &Path, arguments: &[&str]) {
    let arena = Arena::create(false);
    // Rings are not read here.
    arena.skip(true);
    let mut program = Command::new(path)
        .args(arguments)
        .env("LD_PRELOAD", build::agent())
        .env(wire::ARENA_VARIABLE, arena.variable())
        .spawn()
        .expect("the program starts");
    // SAFETY: the layout of `wire`.
    let probe = unsafe { &*arena.base.add(wire::PROBES_AT).cast::<Probe>() };
    wait_until(&mut program, || {
        arena.judge(path, &Hooks(&HOOKS));
        probe.planted.load(Relaxed) == 1
    });
    arena.control().mode.store(Mode::Detach as u32, Release);
    wait_until(&mut program, || probe.planted.load(Relaxed) == 0);
    program.kill().unwrap();
    program.wait().unwrap();
}

/// Whatever another thread loads or unloads at that moment. Its hooks would stay for good: nobody looks again.
#[test]
fn hooks_are_taken_out_while_libraries_come_and_go() {
    let path = build::program("libraries");
    hooks_are_taken_out(&path, &[]);
    hooks_are_taken_out(&path, &["odd"]);
}
