//! Processes that forbid themselves system calls, or to make memory executable.

use crate::support::build::own_program;
use crate::support::run::{has_opened_all, lacks_root};
use crate::working::Working;
use crate::{nodes, own_filters_are_read};

fn filtered(arguments: &[&str]) -> Working {
    let program = own_program("filtered", include_str!("filtered.c"));
    Working::start(program, arguments)
}

/// Profiles it until its calls are expanded. Its answer is known; it continues, and ends as without the profiler.
fn gives_its_answer(working: Working) {
    for _ in 0..2 {
        let options = ["--interval", "run_interval", "--json", "run.json"];
        working
            .attached_until(&options, has_opened_all)
            .ended(0)
            .said(&["attached to process"]);
        let profile = working.place.json("run.json");
        assert_eq!(profile["closure"]["max_abs_error_ticks"], 0);
        for function in ["work_fast", "work_slow"] {
            let found = nodes(&profile["tree"], function);
            assert_eq!(found.len(), 1, "{function}: {:#}", profile["tree"]);
            assert_eq!(found[0]["calls_mean"], 1.0);
        }
    }
    working.end().ended(0);
}

#[test]
fn a_filter_that_lets_no_memory_become_executable() {
    let working = filtered(&["execute"]);
    if own_filters_are_read() {
        gives_its_answer(working);
    } else {
        working
            .attached(&["--interval", "run_interval"])
            .ended(2)
            .said(&["cannot be read", "run evenkeel as root"]);
        working.end().ended(0);
    }
}

#[test]
fn a_process_that_may_make_no_memory_executable() {
    let mut working = filtered(&["mdwe"]);
    let child = working.child.as_mut().expect("it was started");
    std::thread::sleep(std::time::Duration::from_millis(200));
    if let Some(status) = child.try_wait().expect("a child of ours") {
        assert_eq!(status.code(), Some(77));
        eprintln!("this kernel does not have PR_SET_MDWE: nothing was tested");
        return;
    }
    gives_its_answer(working);
}

/// As Debian starts memcached: root hands over what the process may not open.
#[test]
fn one_that_has_changed_its_user_besides() {
    if lacks_root("change the user of a process") {
        return;
    }
    let working = filtered(&["nobody"]);
    let open = || {
        let folder = format!("/proc/{}/fd", working.pid());
        std::fs::read_dir(folder).expect("it runs").count()
    };
    let before = open();
    let options = ["--interval", "run_interval", "--json", "run.json"];
    working.attached_until(&options, has_opened_all).ended(0);
    assert_eq!(open(), before, "nothing of what was handed over stays open");
    gives_its_answer(working);
}

/// The filters are asked about every call that an attach makes. Any other call would end the program, such as
/// restart_syscall, by which the kernel continues a `poll` that the stop interrupted.
#[test]
fn no_call_is_made_that_was_not_asked_about() {
    if lacks_root("read filters of system calls") {
        return;
    }
    let numbers: Vec<String> = evenkeel_attach::system_calls()
        .map(|number| number.to_string())
        .collect();
    let list = numbers.join(",");
    gives_its_answer(filtered(&["list", &list]));
    gives_its_answer(filtered(&["list", &list, "polls"]));
}
