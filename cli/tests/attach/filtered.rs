//! Processes that forbid themselves system calls, or to make memory executable.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use evenkeel_attach::process;

use crate::support::build::own_program;
use crate::support::run::{eventually, finish_hearing, has_opened_all, lacks_root, signal};
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
    let folder = format!("/proc/{}/fd", working.pid());
    let open = || std::fs::read_dir(&folder).expect("it runs").count();
    // The file that says that it is ready is there before it is closed.
    let ready = working.place.file("ready");
    let is_ready = |to: std::io::Result<std::path::PathBuf>| to.is_ok_and(|to| to == ready);
    assert!(eventually(|| {
        let descriptors = std::fs::read_dir(&folder).expect("it runs").flatten();
        let mut links = descriptors.map(|descriptor| std::fs::read_link(descriptor.path()));
        !links.any(is_ready)
    }));
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

/// The file in which the function lies that a program's import leads to at present.
fn bound_to(pid: i32, program: &Path, import: &str) -> String {
    let listed = Command::new("readelf").arg("-rW").arg(program).output();
    let listed = String::from_utf8(listed.expect("binutils come with gcc").stdout).unwrap();
    let of_import = |line: &&str| line.contains("JUMP_SLO") && line.contains(import);
    let line = listed.lines().find(of_import).expect("it is imported");
    let offset = line.split_whitespace().next().expect("an offset");
    let offset = u64::from_str_radix(offset, 16).unwrap();
    let mappings = process::mappings(pid).unwrap();
    let name = program.to_str().unwrap();
    let bias = mappings
        .iter()
        .find(|mapping| mapping.path == name)
        .expect("it is mapped")
        .range
        .start;
    let mut word = [0; 8];
    let memory = File::open(format!("/proc/{pid}/mem")).unwrap();
    memory.read_exact_at(&mut word, bias + offset).unwrap();
    let word = u64::from_le_bytes(word);
    let found = mappings
        .iter()
        .find(|mapping| mapping.range.contains(&word));
    found.expect("it leads to code").path.clone()
}

/// What would install a filter goes through the agent, though the loader has not looked for it yet.
#[test]
fn functions_that_were_never_called_are_bound_to_the_agent() {
    let program = own_program("confined", include_str!("confined.c"));
    let working = Working::start(program.clone(), &["later"]);
    let pid = working.pid() as i32;
    assert_eq!(bound_to(pid, &program, "prctl"), program.to_str().unwrap());
    let options = ["--interval", "run_interval"];
    let session = working.attach(&options).spawn().unwrap();
    let of_session = session.id() as i32;
    let (send, bound) = std::sync::mpsc::channel();
    let of_program = program.clone();
    finish_hearing(session, move |line| {
        if has_opened_all(line) {
            let _ = send.send(bound_to(pid, &of_program, "prctl"));
            signal(of_session, libc::SIGINT);
        }
    })
    .ended(0);
    let bound = bound.recv().expect("it opened all");
    assert!(bound.contains("evenkeel"), "{bound}");
    let afterwards = bound_to(pid, &program, "prctl");
    assert!(afterwards.contains("libc"), "{afterwards}");
}
