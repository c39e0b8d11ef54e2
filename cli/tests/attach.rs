//! `evenkeel attach`: to programs with a known answer, to real servers, again and again. Whatever happens, the target does
//! what it would have done. What must be refused: `attach_refused.rs`.

#[path = "attach/failing.rs"]
mod failing;
#[path = "attach/filtered.rs"]
mod filtered;
#[path = "attach/frozen.rs"]
mod frozen;
#[path = "attach/moved.rs"]
mod moved;
#[path = "attach/replaced.rs"]
mod replaced;
#[path = "attach/shared_thread.rs"]
mod shared_thread;
mod support;
#[path = "attach/working.rs"]
mod working;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

use evenkeel_servers::PostgreSql;
use serde_json::Value;

use support::build::{EVENKEEL, own_program, program};
use support::run::{
    Place, Run, as_nobody, eventually, finish, finish_hearing, has_opened_all, interrupted_once,
    intervals_so_far, lacks_root, signal,
};
use support::servers::{
    assert_consistent, assert_unhooked, installed, make_pgbench_tables, pgbench, postgres_options,
};
use working::Working;

/// Sessions one after another on the same process; `EVENKEEL_ATTACH_CYCLES` for more.
fn cycles() -> usize {
    let asked = std::env::var("EVENKEEL_ATTACH_CYCLES").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// Whether a line of progress is the first look at what was measured, or a later one.
fn has_looked(line: &str) -> bool {
    intervals_so_far(line).is_some()
}

fn nodes<'a>(node: &'a Value, name: &str) -> Vec<&'a Value> {
    let below = node["children"].as_array().into_iter().flatten();
    let below = below.flat_map(|child| nodes(child, name));
    (node["name"] == name)
        .then_some(node)
        .into_iter()
        .chain(below)
        .collect()
}

fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .count()
}

fn is_confined(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    status.is_ok_and(|status| status.contains("Seccomp:\t2"))
}

/// Whether filters of system calls can be read here: by root that has none itself.
fn own_filters_are_read() -> bool {
    !lacks_root("read filters of system calls") && !is_confined(std::process::id())
}

fn mappings(pid: u32) -> usize {
    std::fs::read_to_string(format!("/proc/{pid}/maps"))
        .unwrap()
        .lines()
        .count()
}

/// The handler has interrupted a function that holds no lock.
#[test]
fn a_process_that_works_in_the_handler_of_a_signal() {
    let program = own_program("in_handler", include_str!("attach/in_handler.c"));
    for kind in ["sigprocmask", "pthread_sigmask", "kill"] {
        let working = Working::start(program.clone(), &[kind]);
        let options = [
            "--interval",
            "handle_request",
            "--for",
            "1s",
            "--json",
            "run.json",
        ];
        working.attached(&options).ended(0);
        let profile = working.place.json("run.json");
        assert_ne!(profile["intervals_seen"], 0, "{kind}");
        assert_eq!(working.end().ended(0).stdout, "it worked\n");
    }
}

/// The profiler's addresses stay mapped, and are no part of the limit that a program sets itself.
#[test]
fn a_program_that_limits_its_address_space_goes_on() {
    let program = own_program("limited", include_str!("attach/limited.c"));
    let working = Working::start(program, &[]);
    let options = ["--interval", "handle_request", "--for", "2s"];
    working.attached(&options).ended(0);
    std::thread::sleep(std::time::Duration::from_millis(500));
    let run = working.end().ended(0);
    assert!(run.stdout.ends_with(" 0 failed\n"), "{run:?}");
}

/// The kernel fills what is locked: the session's memory would be two gigabytes. The second session's takes the place
/// of the first one's.
#[test]
fn a_program_that_locks_its_memory_locks_none_of_the_sessions() {
    if lacks_root("lock memory") {
        return;
    }
    let program = own_program("locked", include_str!("attach/locked.c"));
    let working = Working::start(program, &[]);
    for _ in 0..2 {
        let options = ["--interval", "handle_request", "--for", "2s"];
        working.attached(&options).ended(0);
    }
    let run = working.end().ended(0);
    let locked = run.stdout.strip_suffix(" MB locked\n").expect("its answer");
    let (_, locked) = locked.split_once(" 0 failed, ").expect("no request failed");
    assert!(locked.parse::<u64>().expect("a number") < 500, "{run:?}");
}

/// Without `/proc` the agent does not learn the program's path any more. Its hooks are still in the program, and functions that are opened
/// later are hooked, too.
#[test]
fn a_program_that_leaves_for_an_empty_root_directory_goes_on_and_is_seen() {
    if lacks_root("change the root directory") {
        return;
    }
    let program = own_program("chrooted", include_str!("attach/chrooted.c"));
    let working = Working::start(program, &[]);
    let options = ["--interval", "handle_request", "--json", "run.json"];
    working.attached_until(&options, has_opened_all).ended(0);
    let profile = working.place.json("run.json");
    let run = working.end().ended(0);
    assert_eq!(run.stdout, "left 1, 0 wrong\n");
    let mut factors = profile["factors"].as_array().into_iter().flatten();
    let is_timed = factors.any(|factor| factor["functions"][0] == "pass_time");
    assert!(is_timed, "{profile}");
}

/// Some 25 programs start in each second. Attaching to one takes milliseconds, of which nearly none are permitted.
#[test]
fn programs_that_start_are_attached_to_within_the_permitted_overhead() {
    let program = own_program("executed", include_str!("attach/executed.c"));
    let working = Working::start(program, &[]);
    let mut options = vec!["--interval", "handle_request", "--for", "4s"];
    options.extend(["--max-overhead", "0.01%", "--json", "run.json"]);
    let session = working.attached(&options).ended(0);
    session.said(&["started without being profiled", "--max-overhead"]);
    let profile = working.place.json("run.json");
    assert!(profile["intervals_seen"].as_u64() > Some(0));
    let run = working.end().ended(0);
    assert!(run.stdout.ends_with(" 0 failed\n"), "{run:?}");
}

#[test]
fn a_running_program_gives_its_known_answer() {
    let working = Working::start(program("stages"), &["1000"]);
    let enough = working.place.file("enough");
    let session = working
        .attach(&[
            "--interval",
            "run_interval",
            "--json",
            "run.json",
            "--max-overhead",
            "100%",
        ])
        .spawn()
        .unwrap();
    let run = finish_hearing(session, move |line| {
        if has_opened_all(line) {
            std::fs::write(&enough, "").unwrap();
        }
    })
    .ended(0);
    let run = run.said(&["attached to process", "stood still for"]);
    let words: Vec<&str> = run.stderr.split_whitespace().collect();
    let words = words.join(" ");
    assert!(
        words.contains("attaching stopped one thread for"),
        "{words}"
    );
    let profile = working.place.json("run.json");
    let stops = &profile["overhead"]["stops"];
    assert_eq!(stops["processes"], 1);
    assert!(stops["max_ns"].as_f64() > Some(0.0) && stops["max_ns"] == stops["sum_ns"]);
    working.end().ended(0);
    assert_eq!(profile["closure"]["max_abs_error_ticks"], 0);
    for stage in ["stage_a", "stage_b", "stage_c"] {
        let found = nodes(&profile["tree"], stage);
        assert_eq!(found.len(), 1, "{stage}: {:#}", profile["tree"]);
        assert_eq!(found[0]["calls_mean"], 1.0);
    }
}

#[test]
fn again_and_again() {
    let working = Working::threads();
    let pid = working.pid();
    let mut after_first = None;
    for cycle in 0..cycles() {
        let options = ["--interval", "run_interval", "--json", "run.json"];
        let run = working.attached_until(&options, has_looked).ended(0);
        assert!(
            run.stderr.contains("attached to process"),
            "cycle {cycle}: {}",
            run.stderr
        );
        let seen = working.place.json("run.json")["intervals_seen"]
            .as_u64()
            .unwrap();
        assert!(seen > 0, "cycle {cycle}");
        assert_unhooked(pid);
        let (files, maps) = *after_first.get_or_insert((descriptors(pid), mappings(pid)));
        assert_eq!(descriptors(pid), files, "cycle {cycle}");
        assert!(
            mappings(pid) <= maps + 40,
            "cycle {cycle}: {} mappings",
            mappings(pid)
        );
    }
    assert!(working.end().ended(0).stdout.contains(" 0 wrong"));
}

/// A thread may stand still at that moment, within a call that the kernel then ends with EINTR: `epoll_wait`, as after any stop.
#[test]
fn the_session_is_killed_at_any_moment() {
    let working = Working::threads_with(&["4", "interrupted"]);
    for after_ms in [20, 60, 120, 200, 300, 600] {
        let mut session = working
            .attach(&["--interval", "run_interval"])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(after_ms));
        signal(session.id() as i32, libc::SIGKILL);
        session.wait().unwrap();
    }
    // The agent takes a killed session for alive until its lease of ten seconds has run out.
    let attached_again = || {
        let options = ["--interval", "run_interval", "--for", "1s"];
        let run = working.attached(&options);
        assert!(
            run.code == Some(0) || run.stderr.contains("another evenkeel is at work"),
            "{}",
            run.stderr
        );
        run.code == Some(0)
    };
    assert!(
        eventually(attached_again),
        "no session after those that were killed"
    );
    assert_unhooked(working.pid());
    assert!(working.end().ended(0).stdout.contains(" 0 wrong"));
}

/// Processes of others, and those whose rights are more than their user's: refused to whoever is not root.
#[test]
fn processes_with_other_rights_are_refused() {
    if lacks_root("run programs as somebody else") {
        return;
    }
    let place = Place::new();
    let folder = place.file("open");
    fs::create_dir(&folder).unwrap();
    for open in [place.file(""), place.file("tmp"), folder.clone()] {
        fs::set_permissions(open, Permissions::from_mode(0o777)).unwrap();
    }
    let copied = |file: &Path, mode: u32| -> PathBuf {
        let copy = folder.join(file.file_name().unwrap());
        // By another process: what is open here for writing while another test forks could not be run.
        let mut cp = place.command("cp");
        finish(cp.arg(file).arg(&copy).spawn().unwrap()).ended(0);
        fs::set_permissions(&copy, Permissions::from_mode(mode)).unwrap();
        copy
    };
    let evenkeel = copied(Path::new(EVENKEEL), 0o755);
    let attach = |pid: u32| {
        let mut command = place.command(&evenkeel);
        command.args(["attach", &pid.to_string(), "--interval", "run_interval"]);
        finish(as_nobody(&mut command).spawn().unwrap())
    };
    let of_root = Working::threads();
    attach(of_root.pid())
        .ended(2)
        .said(&["it runs as user 0", "as root"]);
    assert!(of_root.end().ended(0).stdout.contains(" 0 wrong"));
    let source = own_program("threads", include_str!("attach/threads.c"));
    let mut command = place.command(copied(&source, 0o4755));
    command.args(["2"]).env("UNTIL", place.file("enough"));
    let ready = folder.join("ready");
    command.env("READY", &ready);
    let mut changed = as_nobody(&mut command).spawn().unwrap();
    assert!(eventually(|| ready.exists()), "it has not begun");
    attach(changed.id()).ended(2).said(&["setuid", "as root"]);
    std::fs::write(place.file("enough"), "").unwrap();
    assert!(changed.wait().unwrap().success());
}

/// Attaches and detaches while the program forks, starts threads, loads libraries, receives signals, or forks during
/// a dlopen of another thread.
#[test]
fn in_the_middle_of_storms() {
    for storm in ["forks", "threads", "libraries", "signals", "beside"] {
        let working = Working::start(
            own_program("storm", include_str!("attach/storm.c")),
            &[storm],
        );
        for session in 0..3 {
            let run = working.attached_until(&["--interval", "run_interval"], has_looked);
            // Shown where hooks are left, too.
            eprintln!("{storm}, session {session}: {}", run.stderr);
            assert_eq!(run.code, Some(0));
        }
        assert_unhooked(working.pid());
        let run = working.end().ended(0);
        assert!(run.stdout.contains(" 0 wrong"), "{storm}: {}", run.stdout);
    }
}

/// With waits, the C library's functions are replaced in running code, in the version that was bound. The oldest
/// versions have another layout of condition variables, and are not followed. The child cannot open the agent's
/// library, which would wait for ever: it continues unprofiled, and its parent is profiled.
#[test]
fn forked_while_a_library_was_opened() {
    let reason = "forked while another thread of its parent was opening or closing a library";
    let working = Working::start(own_program("listed", include_str!("attach/listed.c")), &[]);
    let child = fs::read_to_string(working.place.file("ready")).unwrap();
    let mut alone = working.place.evenkeel(["attach", &child]);
    alone.args(["--interval", "run_interval"]);
    let alone = finish(alone.spawn().unwrap());
    alone.ended(2).said(&[reason]);
    let both = working.attached(&["--interval", "run_interval", "--for", "2s"]);
    both.ended(0).said(&[reason]);
    let run = working.end().ended(0);
    assert!(run.stdout.contains("the child ended with 7"), "{run:?}");
}

#[test]
fn condition_variables_in_the_middle_of_their_life() {
    assert_work_is_followed(own_program(
        "conditions",
        include_str!("attach/conditions.c"),
    ));
}

/// The call that uses a descriptor does not show the value it was registered with: the kernel supplies earlier
/// registrations.
#[test]
fn descriptors_that_were_registered_before() {
    assert_work_is_followed(own_program("epolls", include_str!("attach/epolls.c")));
}

/// No function of the C library announces this wait, and the process ran before the attach. Only the kernel's context
/// switches show the sleep. Each interval has its sleep, which is not the function's own time.
#[test]
fn sleeps_that_only_the_kernel_sees() {
    let working = Working::start(program("raw_futex"), &["1000"]);
    let options = ["--interval", "run_interval", "--waits", "--plant", "every"];
    let options = [
        &options[..],
        &["--max-overhead", "100%", "--json", "run.json"],
    ]
    .concat();
    let enough = |line: &str| intervals_so_far(line).is_some_and(|intervals| intervals >= 200);
    working.attached_until(&options, enough).ended(0);
    let profile = working.place.json("run.json");
    working.end().ended(0);
    let warnings = profile["warnings"].as_array().unwrap();
    let texts = warnings.iter().filter_map(Value::as_str);
    let mut texts = texts.filter(|text| text.contains("the kernel does not report"));
    if let Some(text) = texts.next() {
        eprintln!("left out: {text}");
        return;
    }
    let names = ["off-CPU", "waits: something unannounced"];
    let sleeps: f64 = names
        .iter()
        .flat_map(|name| nodes(&profile["tree"], name))
        .filter_map(|node| node["calls_mean"].as_f64())
        .sum();
    assert!(sleeps > 0.9, "{sleeps} sleeps: {:#}", profile["tree"]);
}

/// The wait is followed to the thread that ends it, and into what that does; in one session after another.
fn assert_work_is_followed(program: PathBuf) {
    let working = Working::start(program, &[]);
    let options = ["--interval", "run_interval", "--waits", "--plant", "every"];
    let options = [
        &options[..],
        &["--max-overhead", "100%", "--json", "run.json"],
    ]
    .concat();
    for session in 0..3 {
        let enough = |line: &str| intervals_so_far(line).is_some_and(|intervals| intervals >= 200);
        let run = working.attached_until(&options, enough);
        assert_eq!(run.code, Some(0), "session {session}: {}", run.stderr);
        let profile = working.place.json("run.json");
        let found = nodes(&profile["tree"], "work");
        let calls: f64 = found
            .iter()
            .filter_map(|node| node["calls_mean"].as_f64())
            .sum();
        assert!(
            (calls - 1.0).abs() < 0.1,
            "session {session}: {calls} calls in {:#}",
            profile["tree"]
        );
    }
    assert_unhooked(working.pid());
    assert!(working.end().ended(0).stdout.contains(" 0 wrong"));
}

/// A thread that meets a breakpoint with SIGTRAP blocked would be the process' end.
#[test]
fn threads_that_block_every_signal() {
    let working = Working::start(own_program("masks", include_str!("attach/masks.c")), &[]);
    for waits in [&[][..], &["--waits"]] {
        let options = [&["--interval", "run_interval"], waits].concat();
        let run = working.attached_until(&options, has_looked);
        assert_eq!(run.code, Some(0), "{waits:?}: {}", run.stderr);
    }
    assert_unhooked(working.pid());
    assert!(working.end().ended(0).stdout.contains(" 0 wrong"));
}

/// Its threads are called upon by a signal while they stand still; it must not be one that they wait for.
#[test]
fn signals_that_are_waited_for_by_signalfd() {
    let program = own_program("signalfd", include_str!("attach/signalfd.c"));
    let working = Working::start(program, &[]);
    for session in 0..5 {
        let run = working.attached_until(&["--interval", "run_interval"], has_looked);
        assert_eq!(run.code, Some(0), "session {session}: {}", run.stderr);
        assert!(!run.stderr.contains("ended with signal"), "{}", run.stderr);
    }
    assert_unhooked(working.pid());
    let run = working.end().ended(0);
    assert!(run.stdout.contains(" 0 lost"), "{}", run.stdout);
}

#[test]
fn a_session_at_a_time() {
    let working = Working::threads();
    let options = ["--interval", "run_interval"];
    let first = working.attach(&options).spawn().unwrap();
    let pid = first.id() as i32;
    let (attached, is_attached) = mpsc::channel();
    let first = std::thread::spawn(move || {
        finish_hearing(first, move |line| {
            if line.contains("attached to process") {
                let _ = attached.send(());
            }
        })
    });
    is_attached.recv().expect("the first session attaches");
    working
        .attached(&["--interval", "run_interval", "--for", "1s"])
        .ended(2)
        .said(&["another evenkeel is at work in it"]);
    signal(pid, libc::SIGINT);
    first.join().unwrap().ended(0);
    assert!(working.end().ended(0).stdout.contains(" 0 wrong"));
}

#[test]
fn a_process_with_a_filter_is_refused_and_unharmed() {
    let confined = Working::start(
        own_program("confined", include_str!("attach/confined.c")),
        &[],
    );
    confined
        .attached(&["--interval", "run_interval"])
        .ended(2)
        .said(&["filter of system calls (seccomp)", "evenkeel profile"]);
    // The program survives: its filter would end it at any foreign system call.
    confined.end().ended(0);
}

#[test]
fn a_filter_that_comes_while_attached() {
    let confined = Working::start(
        own_program("confined", include_str!("attach/confined.c")),
        &["later"],
    );
    let options = ["--interval", "run_interval", "--json", "run.json"];
    let session = confined.attach(&options).spawn().unwrap();
    let (of_session, of_program) = (session.id() as i32, confined.pid());
    let now = confined.place.file("now");
    finish_hearing(session, move |line| {
        if has_opened_all(line) && !now.exists() {
            std::fs::write(&now, "").unwrap();
            assert!(eventually(|| is_confined(of_program)), "no filter came");
            signal(of_session, libc::SIGINT);
        }
    })
    .ended(0);
    let warnings = confined.place.json("run.json")["warnings"].to_string();
    assert!(warnings.contains("seccomp"), "{warnings}");
    confined.end().ended(0);
}

#[test]
fn a_postgresql_under_load_and_its_backends_to_come() {
    let Some(prepared) = installed(PostgreSql::prepare(&postgres_options(&[]))) else {
        return;
    };
    let server = prepared.start(None).unwrap();
    make_pgbench_tables(&server);
    let place = Place::new();
    let postmaster = server.pid().expect("it runs");
    let before = descriptors(postmaster);
    let over = AtomicBool::new(false);
    // Connections that stay for a while, and one for each transaction: backends that were there, and those to come.
    let load = |arguments: &[&str]| {
        while !over.load(Relaxed) {
            pgbench(&server, arguments);
        }
    };
    let sessions: Vec<Run> = std::thread::scope(|scope| {
        let sessions = scope.spawn(|| {
            let session = || {
                let mut session = place.evenkeel([
                    "attach",
                    &postmaster.to_string(),
                    "--preset",
                    "postgres",
                    "--json",
                    "run.json",
                ]);
                interrupted_once(session.spawn().unwrap(), |line| {
                    intervals_so_far(line).is_some_and(|intervals| intervals > 100)
                })
            };
            // However they end, the load does.
            let sessions = std::panic::catch_unwind(|| (0..2).map(|_| session()).collect());
            over.store(true, Relaxed);
            sessions
        });
        let staying = scope.spawn(|| load(&["-c", "4", "-T", "8"]));
        load(&["-c", "2", "-C", "-T", "2"]);
        staying.join().expect("no transaction failed");
        sessions.join().flatten().expect("sessions")
    });
    for session in sessions {
        session.ended(0);
    }
    let profile = place.json("run.json");
    assert!(profile["intervals_seen"].as_u64().unwrap() > 100);
    assert!(eventually(|| descriptors(postmaster) <= before));
    assert_consistent(&server, None);
}
