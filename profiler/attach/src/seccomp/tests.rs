use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use super::*;

const ALLOW: u32 = 0x7fff_0000;
const EPERM: u32 = 0x0005_0001;
const KILL: u32 = 0x8000_0000;

fn instruction(code: u16, jump_true: u8, jump_false: u8, k: u32) -> Instruction {
    Instruction {
        code,
        jump_true,
        jump_false,
        k,
    }
}

/// Answers one call so, and all others otherwise.
fn for_one(number: libc::c_long, answer: u32, others: u32) -> Vec<Instruction> {
    vec![
        instruction(0x20, 0, 0, 0),
        instruction(0x15, 0, 1, number as u32),
        instruction(0x06, 0, 0, answer),
        instruction(0x06, 0, 0, others),
    ]
}

/// `MemoryDenyWriteExecute=` of systemd: no memory becomes executable.
fn deny_execute() -> Vec<Instruction> {
    vec![
        instruction(0x20, 0, 0, 0),
        instruction(0x15, 0, 4, libc::SYS_mprotect as u32),
        instruction(0x20, 0, 0, 32),
        instruction(0x54, 0, 0, libc::PROT_EXEC as u32),
        instruction(0x15, 0, 1, libc::PROT_EXEC as u32),
        instruction(0x06, 0, 0, EPERM),
        instruction(0x06, 0, 0, ALLOW),
    ]
}

fn refusal(filters: Vec<Vec<Instruction>>) -> String {
    permits_all(&filters, &[]).expect_err("it does not let everything through")
}

#[test]
fn a_call_that_all_filters_allow_is_allowed() {
    let filters = vec![
        for_one(libc::SYS_ptrace, KILL, ALLOW),
        for_one(libc::SYS_perf_event_open, EPERM, ALLOW),
    ];
    permits_all(&filters, &[]).expect("nothing that is needed");
}

#[test]
fn the_severest_of_several_answers_counts() {
    let filters = vec![
        for_one(libc::SYS_recvmsg, EPERM, ALLOW),
        for_one(libc::SYS_recvmsg, KILL, ALLOW),
        for_one(libc::SYS_ptrace, EPERM, ALLOW),
    ];
    assert!(refusal(filters).contains("ends it at recvmsg"));
}

#[test]
fn a_refusal_names_the_call_and_what_it_is_for() {
    let refused = refusal(vec![for_one(libc::SYS_recvmsg, EPERM, ALLOW)]);
    assert!(
        refused.contains("refuses recvmsg, which is needed for handing over"),
        "{refused}"
    );
    let refused = refusal(vec![for_one(libc::SYS_futex, 0x7fc0_0000, ALLOW)]);
    assert!(
        refused.contains("lets another process decide on futex"),
        "{refused}"
    );
    // A list of what is allowed, that ends the process at the rest.
    let refused = refusal(vec![for_one(libc::SYS_read, ALLOW, KILL)]);
    assert!(refused.contains("ends it at"), "{refused}");
}

#[test]
fn a_dispensable_call_may_be_refused_but_not_end_the_process() {
    permits_all(&vec![for_one(libc::SYS_membarrier, EPERM, ALLOW)], &[])
        .expect("single threads need none");
    permits_all(
        &vec![for_one(libc::SYS_process_vm_readv, EPERM, ALLOW)],
        &[],
    )
    .expect("copies of stacks");
    let refused = refusal(vec![for_one(libc::SYS_process_vm_readv, KILL, ALLOW)]);
    assert!(refused.contains("ends it at process_vm_readv"), "{refused}");
}

#[test]
fn calls_for_locked_memory_are_asked_about_where_there_is_some() {
    let filters = vec![for_one(libc::SYS_munlock, KILL, ALLOW)];
    permits_all(&filters, &[]).expect("nothing is locked");
    let refused = permits_all(&filters, LOCKED).expect_err("munlock is made");
    assert!(refused.contains("ends it at munlock"), "{refused}");
}

#[test]
fn memory_need_not_become_executable_where_code_can_be_written_in_place() {
    permits_all(&vec![deny_execute()], &[]).expect("code is written in place");
    let both = vec![deny_execute(), for_one(libc::SYS_pwrite64, EPERM, ALLOW)];
    assert!(refusal(both).contains("mprotect with PROT_EXEC and pwrite64"));
}

/// A process that has installed a filter.
fn confined_by(filter: Vec<Instruction>) -> Child {
    let mut command = Command::new("sleep");
    command.arg("60");
    let install = move || {
        let program = (filter.len() as u16, filter.as_ptr());
        #[repr(C)]
        struct Program(u16, *const Instruction);
        let program = Program(program.0, program.1);
        // SAFETY: a program that outlives the calls.
        let installed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, 2, &raw const program) == 0
        };
        match installed {
            true => Ok(()),
            false => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: system calls alone.
    unsafe { command.pre_exec(install) };
    command.spawn().expect("sleep")
}

/// The system itself: what was installed is read, and judged.
#[test]
fn filters_of_a_process_are_read() {
    // SAFETY: no arguments.
    let is_root = unsafe { libc::geteuid() } == 0;
    for (filter, words) in [
        (for_one(libc::SYS_ptrace, KILL, ALLOW), None),
        (
            for_one(libc::SYS_recvmsg, KILL, ALLOW),
            Some("ends it at recvmsg"),
        ),
    ] {
        let mut child = confined_by(filter);
        let judged = check(child.id() as i32);
        child.kill().expect("it runs");
        child.wait().expect("it was killed");
        match (judged, words) {
            (Err(why), _) if !is_root || process::own_status("Seccomp").as_deref() != Some("0") => {
                assert!(why.to_string().contains("run evenkeel as root"), "{why}");
            }
            (Ok(()), None) => {}
            (Err(why), Some(words)) => assert!(why.to_string().contains(words), "{why}"),
            (judged, words) => panic!("{judged:?} instead of {words:?}"),
        }
    }
}
