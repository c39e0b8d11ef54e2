//! A profile as root, as a user without privileges, and with perf events forbidden. Everybody sees critical paths.
//! The kernel's part is shown where the system permits it, and the report says what is missing.
//!
//! The program and what holds of it: `waits_processor.c`.

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use evenkeel_kernel::{KernelEvents, Watched};
use serde_json::Value;
use support::build::{EVENKEEL, agent, program};
use support::run::{Place, Run, as_nobody, finish, is_root};

const INTERVALS: u64 = 24;
/// The warning where the kernel reports nothing.
const NOT_DISTINGUISHED: &str = "run-queue delay and blocked time are not told apart";

/// Users who profile.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    /// The user of this test run.
    Caller,
    /// A user without privileges.
    Nobody,
    /// A user without privileges (or the caller, unless that is root) where perf events are forbidden, as containers do it.
    InContainer,
}

/// The profile that `who` gets of the program with every call timed.
#[track_caller]
fn profiled_by(who: Who) -> Value {
    let place = Place::new();
    let folder = place.file("open");
    fs::create_dir(&folder).unwrap();
    for open in [place.file(""), place.file("tmp"), folder.clone()] {
        fs::set_permissions(open, Permissions::from_mode(0o777)).unwrap();
    }
    // Copies, since nobody may not reach the directory of the build.
    let copied = |file: &Path| -> PathBuf {
        let copy = folder.join(file.file_name().unwrap());
        fs::copy(file, &copy).unwrap();
        copy
    };
    let mut command = place.command(copied(Path::new(EVENKEEL)));
    command
        .args([
            "profile",
            "--interval",
            "main>run_interval",
            "--waits",
            "--plant",
            "every",
        ])
        .args(["--json", "open/run.json", "--"])
        .arg(copied(&program("waits_processor")))
        .arg(INTERVALS.to_string())
        .env("EVENKEEL_AGENT", copied(agent()));
    if who != Who::Caller && is_root() {
        as_nobody(&mut command);
    }
    if who == Who::InContainer {
        forbid_perf_events(&mut command);
    }
    let Run { stderr, .. } = finish(command.spawn().unwrap()).ended(0);
    place.assert_nothing_left();
    let profile = place.json("open/run.json");
    for warning in profile["warnings"].as_array().unwrap() {
        let first_words: Vec<&str> = warning.as_str().unwrap().split(' ').take(4).collect();
        assert!(
            stderr.contains(&first_words.join(" ")),
            "{warning} in {stderr}"
        );
    }
    profile
}

/// Lets `perf_event_open` fail with EPERM in what the command starts, by a filter of system calls (seccomp(2)), as containers do.
fn forbid_perf_events(command: &mut Command) {
    let step = |code: u32, jump_if_not: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: jump_if_not,
        k,
    };
    let filter = [
        // The number of the system call is the first word of seccomp_data.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            1,
            libc::SYS_perf_event_open as u32,
        ),
        step(
            libc::BPF_RET | libc::BPF_K,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
        ),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let install = move || {
        let program = libc::sock_fprog {
            len: filter.len() as u16,
            filter: filter.as_ptr().cast_mut(),
        };
        // SAFETY: plain system calls; the kernel copies the filter.
        let installed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
        };
        if installed {
            Ok(())
        } else {
            Err(std::io::Error::last_os_error())
        }
    };
    // SAFETY: between fork and exec, two system calls and nothing else.
    unsafe { command.pre_exec(install) };
}

fn warns(profile: &Value, words: &str) -> bool {
    let warnings = profile["warnings"].as_array().unwrap();
    warnings
        .iter()
        .any(|warning| warning.as_str().unwrap().contains(words))
}

/// The child of a node by its name.
fn child<'a>(node: &'a Value, name: &str) -> Option<&'a Value> {
    node["children"]
        .as_array()?
        .iter()
        .find(|child| child["name"] == name)
}

/// The node by the names on the way below the root.
#[track_caller]
fn path<'a>(profile: &'a Value, names: &[&str]) -> &'a Value {
    names.iter().fold(&profile["tree"], |node, name| {
        child(node, name).unwrap_or_else(|| panic!("no {name} of {names:?} below {node:#}"))
    })
}

fn has_kind(node: &Value, kind: &str) -> bool {
    let children = node["children"].as_array().unwrap();
    node["kind"] == kind || children.iter().any(|child| has_kind(child, kind))
}

/// Holds for every user: each interval closes, and the way to the answering thread is there.
#[track_caller]
fn assert_critical_path(profile: &Value) {
    assert_eq!(
        profile["intervals_seen"], INTERVALS,
        "{}",
        profile["warnings"]
    );
    assert_eq!(
        profile["discarded"], 0,
        "{}",
        profile["discarded_by_reason"]
    );
    assert_eq!(profile["closure"]["max_abs_error_ticks"], 0);
    let blocked = path(profile, &["fetch", "read", "waits: pipe"]);
    assert_eq!(blocked["kind"], "socket");
    assert!(
        child(blocked, "thread outside of intervals")
            .is_some_and(|other| child(other, "answer").is_some()),
        "{blocked:#}"
    );
}

/// Ready without a processor in compute, where nothing blocks; blocked in read.
#[track_caller]
fn assert_preemption_apart(profile: &Value) {
    assert!(
        !warns(profile, NOT_DISTINGUISHED),
        "{}",
        profile["warnings"]
    );
    let compute = path(profile, &["compute"]);
    let ready = child(compute, "runnable, waiting for a CPU")
        .unwrap_or_else(|| panic!("never preempted: {compute:#}"));
    assert_eq!(ready["kind"], "preempted");
    assert!(ready["mean_ns"].as_f64().unwrap() > 0.0);
    assert!(
        !has_kind(compute, "lock") && !has_kind(compute, "socket"),
        "{compute:#}"
    );
    let doing = profile["doing"].as_array().unwrap();
    for what in ["running", "off_processor", "blocked"] {
        assert!(
            doing.iter().any(|line| line["doing"] == what),
            "{what} in {doing:#?}"
        );
    }
}

/// Whether the system reports context switches: to this process, and by perf_event_paranoid(5) to anybody about their own.
fn is_reported_to(who: Who) -> bool {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let to_anybody = paranoid.trim().parse::<i32>().is_ok_and(|level| level <= 2);
    KernelEvents::watch(Watched::Children).is_ok() && (who == Who::Caller || to_anybody)
}

/// Time without a CPU counts as compute's own, and the report has a warning with the remedy.
#[track_caller]
fn assert_said_what_is_missing(profile: &Value) {
    assert!(warns(profile, NOT_DISTINGUISHED), "{}", profile["warnings"]);
    assert!(
        warns(profile, "perf_event_paranoid"),
        "{}",
        profile["warnings"]
    );
    assert!(
        !has_kind(&profile["tree"], "preempted"),
        "{:#}",
        profile["tree"]
    );
    path(profile, &["compute"]);
}

#[track_caller]
fn assert_reported_for(profile: &Value, who: Who) {
    assert_critical_path(profile);
    if is_reported_to(who) {
        assert_preemption_apart(profile);
    } else {
        assert_said_what_is_missing(profile);
    }
}

#[test]
fn the_user_of_the_tests_sees_preemption() {
    assert_reported_for(&profiled_by(Who::Caller), Who::Caller);
}

#[test]
fn nobody_sees_preemption_where_the_system_tells_of_it() {
    if is_root() {
        assert_reported_for(&profiled_by(Who::Nobody), Who::Nobody);
    } // else this is the test above
}

#[test]
fn a_container_hides_preemption_alone_and_the_report_says_so() {
    let profile = profiled_by(Who::InContainer);
    assert_critical_path(&profile);
    assert_said_what_is_missing(&profile);
}
