//! An instruction of the agent's own fails in the target, which the test plants there.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Command;

use crate::support::build::{agent, own_program};
use crate::support::run::{eventually, finish_hearing, signal};
use crate::support::servers::{assert_unhooked, changed_code_bytes};
use crate::working::Working;
use crate::{has_looked, is_confined};

/// `ud2`: SIGILL.
const INVALID: [u8; 2] = [0x0f, 0x0b];
/// `mov rax, [0]`: SIGSEGV.
const READS_NOTHING: [u8; 8] = [0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0];

/// Where the agent's file has a function whose mangled name contains this.
fn offset_of(function: &str) -> u64 {
    let symbols = Command::new("nm").arg(agent()).output().unwrap();
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    let found = symbols.lines().find(|line| line.contains(function));
    let found = found.unwrap_or_else(|| panic!("{function}"));
    u64::from_str_radix(found.split(' ').next().unwrap(), 16).unwrap()
}

/// Where the agent lies in a process: the lowest of its mappings.
fn base_of_agent(pid: u32) -> u64 {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let line = maps.lines().find(|line| line.contains("evenkeel-agent"));
    let line = line.unwrap_or_else(|| panic!("{maps}"));
    u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap()
}

/// Lets a function of the agent's begin with this instruction.
fn plant(pid: u32, function: &str, instruction: &[u8]) {
    let memory = File::options().write(true).open(format!("/proc/{pid}/mem"));
    let at = base_of_agent(pid) + offset_of(function);
    memory.unwrap().write_all_at(instruction, at).unwrap();
}

/// The target continues without hooks and gives right results. The report begins with what happened and where.
fn fails(
    working: Working,
    options: &[&str],
    function: &'static str,
    instruction: &'static [u8],
    said: [&str; 2],
) {
    let pid = working.pid();
    let mut session = working.attach(&["--interval", "run_interval", "--json", "run.json"]);
    let session = session.args(options).spawn().unwrap();
    let (own, mut is_planted) = (session.id() as i32, false);
    let run = finish_hearing(session, move |line| {
        if has_looked(line) && !std::mem::replace(&mut is_planted, true) {
            plant(pid, function, instruction);
            assert!(eventually(
                || is_confined(pid) || changed_code_bytes(pid) == 0
            ));
            signal(own, libc::SIGINT);
        }
    });
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let profile = working.place.json("run.json");
    let failed = profile["failed"].as_str().unwrap_or_default();
    assert!(said.iter().all(|said| failed.contains(said)), "{failed}");
    let first = run
        .stderr
        .lines()
        .find(|line| !line.starts_with("evenkeel: "));
    assert!(
        first.is_some_and(|line| line.starts_with("evenkeel failed")),
        "{}",
        run.stderr
    );
    assert_unhooked(pid);
    assert!(working.end().ended(0).stdout.contains(" 0 wrong"));
}

#[test]
fn where_an_interval_begins() {
    let said = ["SIGILL", "run_interval"];
    let working = Working::threads_with(&["4"]);
    fails(working, &[], "boundaries11enter_short", &INVALID, said);
}

#[test]
fn where_an_interval_ends() {
    let said = ["SIGSEGV", "run_interval"];
    let working = Working::threads_with(&["4"]);
    fails(
        working,
        &[],
        "boundaries11leave_short",
        &READS_NOTHING,
        said,
    );
}

/// The program hands its work to another thread: a wake or a result that is lost would be wrong.
fn handing_over() -> Working {
    let program = own_program("conditions", include_str!("conditions.c"));
    Working::start(program, &[])
}

/// Before the C library's function is called: it is called then, once.
#[test]
fn where_a_release_is_recorded() {
    fails(
        handing_over(),
        &["--waits"],
        "releasing14record_release",
        &INVALID,
        ["SIGILL", "before and after pthread_"],
    );
}

/// After the C library's function has returned: its result is the call's.
#[test]
fn where_a_wait_is_recorded() {
    fails(
        handing_over(),
        &["--waits"],
        "waiting11record_wait",
        &READS_NOTHING,
        ["SIGSEGV", "before and after pthread_"],
    );
}
