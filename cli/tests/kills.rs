//! Ends of every kind: of the target, of the profiler, of the run; and targets that live oddly. Whatever happens, the target
//! does what it would have done, and nothing is left behind.

mod support;

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use support::build::{own_program, program};
use support::run::{
    Place, Run, eventually, finish, finish_hearing, has_opened_all, intervals_so_far, lacks_root,
    runs, signal,
};
use support::servers::assert_unhooked;
use support::terminal::Terminal;

/// Seconds for which a server would go on that nobody ends: more than any test waits.
const LONG: &str = "600";
/// Duration in which even a busy machine serves some hundred requests, one a millisecond where it is not.
const LONG_ENOUGH: &str = "5s";

fn server() -> PathBuf {
    own_program("server", include_str!("kills/server.c"))
}

/// `evenkeel profile` of the server, with a recording and JSON. The server runs until the place has the file
/// `enough`.
fn profiling(place: &Place, options: &[&str], server_arguments: &[&str]) -> Command {
    let mut command = place.evenkeel([
        "profile",
        "--interval",
        "run_interval",
        "--json",
        "run.json",
        "-o",
        "run.keel",
    ]);
    command
        .args(options)
        .arg("--")
        .arg(server())
        .args(server_arguments)
        .env("UNTIL", place.file("enough"));
    command
}

/// The server's process, once it is there and some of its intervals are recorded.
#[track_caller]
fn server_under_profile(place: &Place) -> i32 {
    // The recording is flushed every second: some hundred intervals of three records each, beside its head and the sites.
    let recorded =
        || std::fs::metadata(place.file("run.keel")).is_ok_and(|file| file.len() > 16_000);
    server_under_profile_by(place, recorded)
}

/// A profiled server, with another sign that its intervals are recorded.
#[track_caller]
fn server_under_profile_by(place: &Place, recorded: impl Fn() -> bool) -> i32 {
    let mut found = None;
    let is_server = |pid: &i32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "server\n")
    };
    let there = eventually(|| {
        found = place.processes().into_iter().find(is_server);
        found.is_some() && recorded()
    });
    assert!(there, "no server is profiled");
    found.unwrap()
}

/// At its end the server has its original code, and all of its results were right.
#[track_caller]
fn assert_served(run: &Run) {
    assert!(
        run.stdout.contains("\n0 wrong"),
        "stdout: {}\nstderr: {}",
        run.stdout,
        run.stderr
    );
}

#[track_caller]
fn assert_unpatched(run: &Run) {
    assert_served(run);
    let bare = finish(
        Place::new()
            .command(server())
            .args(["serve", "0"])
            .spawn()
            .unwrap(),
    );
    let code = |stdout: &str, when: &str| {
        let line = stdout
            .lines()
            .find_map(|line| line.strip_prefix(&format!("code {when}:")));
        line.unwrap_or_else(|| panic!("no code {when} in {stdout}"))
            .to_owned()
    };
    let original = code(&bare.stdout, "before");
    assert_ne!(code(&run.stdout, "before"), original, "it was hooked");
    assert_eq!(code(&run.stdout, "after"), original, "its hooks are out");
}

#[track_caller]
fn intervals_seen(place: &Place) -> u64 {
    place.json("run.json")["intervals_seen"].as_u64().unwrap()
}

#[test]
fn the_target_is_killed() {
    let place = Place::new();
    let profiler = profiling(&place, &[], &["serve", LONG]).spawn().unwrap();
    signal(server_under_profile(&place), libc::SIGKILL);
    finish(profiler).ended(1).said(&["killed by signal 9"]);
    assert!(intervals_seen(&place) > 100, "what was drained is reported");
    place.run(["report", "run.keel"]).ended(0);
    place.assert_nothing_left();
}

/// A recording of sums is complete up to the last period. Reading it while it grows, or after its writer was killed,
/// yields whole periods, which can be merged.
#[test]
fn a_session_of_sums_is_killed() {
    let place = Place::new();
    let sums = ["--summary=500ms"];
    let profiler = profiling(&place, &sums, &["serve", LONG]).spawn().unwrap();
    let server = server_under_profile_by(&place, || intervals_reported(&place) > 100);
    let before = intervals_reported(&place);
    signal(profiler.id() as i32, libc::SIGKILL);
    signal(server, libc::SIGKILL);
    finish(profiler);
    assert!(intervals_reported(&place) >= before);
    let report = place.run(["report", "run.keel"]).ended(0);
    for said in ["ends early", "exact: in all"] {
        assert!(report.stdout.contains(said), "{}", report.stdout);
    }
    std::fs::copy(place.file("run.keel"), place.file("other.keel")).unwrap();
    place
        .run(["merge", "run.keel", "other.keel", "-o", "both.keel"])
        .ended(0);
    let seen = |file: &str| {
        let report = place.run(["report", "--json", file]).ended(0);
        let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
        report["intervals_seen"].as_u64().unwrap()
    };
    assert_eq!(seen("both.keel"), 2 * seen("run.keel"));
}

/// Intervals that the recording has so far.
fn intervals_reported(place: &Place) -> u64 {
    let run = finish(
        place
            .evenkeel(["report", "--json", "run.keel"])
            .spawn()
            .unwrap(),
    );
    let report = serde_json::from_str::<serde_json::Value>(&run.stdout);
    report.map_or(0, |report| report["intervals_seen"].as_u64().unwrap_or(0))
}

#[test]
fn the_profiler_is_killed() {
    let place = Place::new();
    let profiler = profiling(&place, &[], &["serve", LONG]).spawn().unwrap();
    let server = server_under_profile(&place);
    signal(profiler.id() as i32, libc::SIGKILL);
    // The agent does so once the lease has run out.
    assert_unhooked(server as u32);
    std::fs::write(place.file("enough"), "").unwrap();
    // Ends when the server does: it holds the other end of the pipe.
    let run = finish(profiler);
    assert_eq!(run.code, None);
    assert_unpatched(&run);
    assert!(eventually(|| !runs(server)));
    let report = place.run(["report", "run.keel"]).ended(0);
    assert!(report.stdout.contains("ends early"), "{}", report.stdout);
}

#[test]
fn the_profiler_is_stopped_for_longer_than_its_lease() {
    let place = Place::new();
    let profiler = profiling(&place, &[], &["serve", LONG]).spawn().unwrap();
    let server = server_under_profile(&place);
    let pid = profiler.id() as i32;
    signal(pid, libc::SIGSTOP);
    assert_unhooked(server as u32);
    signal(pid, libc::SIGCONT);
    std::fs::write(place.file("enough"), "").unwrap();
    let run = finish(profiler).ended(0);
    assert_unpatched(&run);
    assert!(intervals_seen(&place) > 100);
    place.assert_nothing_left();
}

#[test]
fn ctrl_c_on_a_terminal() {
    let place = Place::new();
    let terminal = Terminal::open();
    let child = terminal.start(&mut profiling(&place, &[], &["serve", LONG]));
    server_under_profile(&place);
    // The terminal sends SIGINT to the profiler and to the server.
    terminal.type_text("\x03");
    let (code, screen) = terminal.watch(child);
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("VARIANCE TREE"), "{screen}");
    assert!(intervals_seen(&place) > 100);
    place.assert_nothing_left();
}

#[test]
fn the_profiler_is_asked_to_end() {
    for asked in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        let place = Place::new();
        let profiler = profiling(&place, &[], &["serve", LONG]).spawn().unwrap();
        let server = server_under_profile(&place);
        signal(profiler.id() as i32, asked);
        finish(profiler).ended(0).said(&["VARIANCE TREE"]);
        assert!(!runs(server), "the command was stopped, too");
        place.assert_nothing_left();
    }
}

#[test]
fn the_time_is_up() {
    let place = Place::new();
    let run = finish(
        profiling(&place, &["--for", LONG_ENOUGH], &["serve", LONG])
            .spawn()
            .unwrap(),
    )
    .ended(0);
    assert!(
        !run.stdout.contains("wrong"),
        "stopped before it was done: {}",
        run.stdout
    );
    assert!(intervals_seen(&place) > 100);
    place.assert_nothing_left();
}

#[test]
fn the_command_is_kept() {
    let place = Place::new();
    let mut profiler = profiling(&place, &["--for", LONG_ENOUGH, "--keep"], &["serve", LONG])
        .spawn()
        .unwrap();
    let server = server_under_profile(&place);
    let ended = eventually(|| profiler.try_wait().unwrap().is_some());
    assert!(ended && runs(server), "the profiler ends first");
    assert_unhooked(server as u32);
    std::fs::write(place.file("enough"), "").unwrap();
    assert_unpatched(&finish(profiler).ended(0));
    assert!(intervals_seen(&place) > 100);
    assert!(eventually(|| !runs(server)));
}

/// A server that lives in some way, profiled until some hundred intervals are measured; then it ends.
#[track_caller]
fn lives(mode: &str) -> (Place, Run) {
    let place = Place::new();
    let command = profiling(&place, &[], &[mode, LONG]);
    let enough = place.file("enough");
    lives_until(place, command, enough)
}

#[track_caller]
fn lives_until(place: Place, mut command: Command, enough: PathBuf) -> (Place, Run) {
    let run = finish_hearing(command.spawn().unwrap(), move |line| {
        if intervals_so_far(line).is_some_and(|intervals| intervals > 200) {
            std::fs::write(&enough, "").unwrap();
        }
    })
    .ended(0);
    assert_served(&run);
    assert!(intervals_seen(&place) > 100, "{}", run.stderr);
    place.assert_nothing_left();
    (place, run)
}

#[test]
fn it_closes_all_descriptors() {
    lives("closing");
}

#[test]
fn it_closes_all_descriptors_and_starts_itself_anew() {
    lives("starting");
}

#[test]
fn it_goes_into_the_background() {
    lives("daemon");
}

#[test]
fn it_becomes_another_program() {
    let (_place, run) = lives("changing");
    assert!(run.stdout.ends_with("another program\n"), "{}", run.stdout);
}

#[test]
fn it_changes_its_root() {
    if lacks_root("change the root directory") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let place = Place::new();
    let path = root.path();
    let mut command = profiling(&place, &[], &["chroot", LONG, path.to_str().unwrap()]);
    // As the server sees it.
    command.env("UNTIL", "/enough");
    lives_until(place, command, path.join("enough"));
}

/// Lowers a limit of the process that `command` becomes.
fn limited(command: &mut Command, resource: libc::__rlimit_resource_t, bytes: u64) -> &mut Command {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(resource, &limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        })
    }
}

#[test]
fn no_memory_for_the_profiler() {
    for resource in [libc::RLIMIT_AS, libc::RLIMIT_FSIZE] {
        let place = Place::new();
        let mut command = profiling(&place, &[], &["serve", "1"]);
        limited(&mut command, resource, 500 << 20);
        finish(command.spawn().unwrap())
            .ended(2)
            .said(&["cannot make shared memory", "ulimit"]);
        place.assert_nothing_left();
    }
}

#[test]
fn no_memory_for_the_agent() {
    // The target's own limit leaves no room to map the arena: it runs as if nobody looked.
    let place = Place::new();
    let mut command = place.evenkeel([
        "profile",
        "--interval",
        "run_interval",
        "--",
        "/bin/sh",
        "-c",
    ]);
    command.arg(format!(
        "ulimit -v 300000; exec {} serve 1",
        server().display()
    ));
    let run = finish(command.spawn().unwrap()).ended(2);
    assert_served(&run);
    place.assert_nothing_left();
}

#[test]
fn a_person_chooses() {
    let place = Place::new();
    let mut command = place.evenkeel([
        "profile",
        "--manual",
        "--interval",
        "run_interval",
        "--json",
        "run.json",
        "--",
    ]);
    command
        .arg(program("recursion"))
        .arg("1600")
        .env("UNTIL", place.file("enough"))
        .stdin(Stdio::piped());
    // Without a controlling terminal the answers come from standard input.
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            Ok(())
        });
    }
    let mut profiler: Child = command.spawn().unwrap();
    // An answer out of range is asked again.
    profiler
        .stdin
        .take()
        .unwrap()
        .write_all(b"17\n1\na\n\n")
        .unwrap();
    // Three rankings are answered: one is opened, then all, then nothing more.
    let (enough, mut rankings) = (place.file("enough"), 0);
    let run = finish_hearing(profiler, move |line| {
        rankings += u32::from(intervals_so_far(line).is_some());
        if rankings == 3 || has_opened_all(line) {
            std::fs::write(&enough, "").unwrap();
        }
    })
    .ended(0)
    .said(&["Which? Numbers", "Numbers from 1 to"]);
    assert!(
        place.json("run.json")["rounds"].as_array().unwrap().len() >= 2,
        "{}",
        run.stderr
    );
    assert!(run.printed_intervals("recursion") >= 1600);
}
