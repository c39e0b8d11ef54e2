//! A worker that sleeps in the kernel when the session begins, as one does that waits for a disk.

use std::fs;
use std::path::PathBuf;

use super::working::Working;
use crate::support::build::own_program;
use crate::support::run::{finish_hearing, lacks_root};

/// A control group that can be frozen: its processes sleep in the kernel (state D).
struct Freezer(PathBuf);

impl Freezer {
    /// None where this machine has no such groups (version 1 of control groups has).
    fn new() -> Option<Freezer> {
        let place = PathBuf::from(format!("/sys/fs/cgroup/freezer/ek-{}", std::process::id()));
        fs::create_dir(&place).ok().map(|()| Freezer(place))
    }

    fn take(&self, pid: &str) {
        fs::write(self.0.join("cgroup.procs"), pid).unwrap();
        self.set("FROZEN");
    }

    fn set(&self, state: &str) {
        fs::write(self.0.join("freezer.state"), state).unwrap();
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("freezer.state"), "THAWED");
        let others = self.0.with_file_name("cgroup.procs");
        let inside = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        for pid in inside.lines() {
            let _ = fs::write(&others, pid);
        }
        let _ = fs::remove_dir(&self.0);
    }
}

/// Attaches to a server while one of its processes is frozen, which `frozen` finds in the server's place. It is thawed once the session
/// has said that it tries again.
fn frozen_at_first(frozen: impl Fn(&Working) -> String) {
    if lacks_root("freeze processes") {
        return;
    }
    let Some(freezer) = Freezer::new() else {
        println!("skipped: control groups of version 1 are missing, which freeze processes");
        return;
    };
    let working = Working::start(own_program("frozen", include_str!("frozen.c")), &[]);
    freezer.take(&frozen(&working));
    let options = [
        "--interval",
        "handle_request",
        "--for",
        "4s",
        "--json",
        "run.json",
    ];
    let session = working.attach(&options).spawn().unwrap();
    let state = freezer.0.join("freezer.state");
    let run = finish_hearing(session, move |line| {
        if line.contains("tries it again") {
            fs::write(&state, "THAWED").unwrap();
        }
    });
    let run = run.ended(0).said(&["tries it again by itself"]);
    let profile = working.place.json("run.json");
    assert!(profile["intervals_seen"].as_u64() > Some(0), "{run:?}");
    let warnings = profile["warnings"].to_string();
    assert!(!warnings.contains("state D"), "{warnings}");
    drop(freezer);
    working.end().ended(0);
}

/// It cannot be stopped at first, and is profiled once it runs again.
#[test]
fn a_process_that_could_not_be_stopped_is_tried_again() {
    frozen_at_first(|working| {
        let worker = fs::read_to_string(working.place.file("ready")).unwrap();
        worker.trim().to_owned()
    });
}

/// So is the process that was named.
#[test]
fn the_named_process_may_sleep_at_first() {
    frozen_at_first(|working| working.pid().to_string());
}
