//! Targets that cannot be attached to, and programs with nothing to profile: the message has the reason and the
//! remedy, and the process is unharmed.

mod support;
#[path = "attach/working.rs"]
mod working;

use support::build::own_program;
use support::run::{Place, signal};
use support::servers::assert_unhooked;
use working::Working;

/// A program that nothing can be loaded into.
const FIXED: &str = "// build: gcc -O1 -static fixed.c\n#include <fcntl.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
    int main(void) { close(open(getenv(\"READY\"), O_CREAT | O_WRONLY, 0600)); for (;;) pause(); }\n";

#[test]
fn unattachable_processes_are_refused_and_unharmed() {
    let place = Place::new();
    let gone = i32::MAX.to_string();
    place
        .run(["attach", &gone, "--interval", "x"])
        .ended(2)
        .said(&["there is no process"]);
    place
        .run(["attach", "--name", "no-such-server", "--interval", "x"])
        .ended(2)
        .said(&["no process is named no-such-server"]);
    let nothing = place.run(["attach", "--interval", "x"]);
    nothing.ended(2).said(&["PID", "--name", "--unit"]);
    place
        .run(["attach", &gone, "--name", "x", "--interval", "x"])
        .ended(2)
        .said(&["cannot be used with"]);
    let fixed = Working::start(own_program("fixed", FIXED), &[]);
    fixed
        .attached(&["--interval", "main"])
        .ended(2)
        .said(&["static"]);
    let traced = Working::threads();
    // SAFETY: seizing our own child; it continues to run.
    let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, traced.pid() as i32, 0, 0) };
    assert_eq!(seized, 0);
    traced
        .attached(&["--interval", "run_interval"])
        .ended(2)
        .said(&["traces it already"]);
}

/// Why no interval has ended is found out where the agent was brought in, too.
#[test]
fn nothing_to_profile_in_a_running_process() {
    // A stop ends `epoll_wait` with EINTR.
    let working = Working::threads_with(&["4", "interrupted"]);
    let pid = working.pid() as i32;
    // It computes all the time, and has called that one before.
    working
        .attached(&["--interval", "main", "--for", "3s"])
        .ended(2)
        .said(&["nobody called it", "of a processor"]);
    signal(pid, libc::SIGSTOP);
    working
        .attached(&["--interval", "run_interval", "--for", "1s"])
        .ended(2)
        .said(&["is stopped", &format!("kill -CONT {pid}")]);
    signal(pid, libc::SIGCONT);
    assert_unhooked(working.pid());
    assert!(working.end().ended(0).stdout.contains(" 0 wrong"));
}

/// Facts about a process that can be known before anything is done to it.
#[test]
fn the_doctor_checks_a_process() {
    let working = Working::threads();
    let pid = working.pid().to_string();
    let run = Place::new().run(["doctor", &pid]).ended(0);
    assert!(
        run.stdout.contains("it can be attached to"),
        "{}",
        run.stdout
    );
    working.end().ended(0);
    let fixed = Working::start(own_program("fixed", FIXED), &[]);
    let pid = fixed.pid().to_string();
    let run = Place::new().run(["doctor", &pid]).ended(2);
    assert!(
        run.stdout.contains("is statically linked")
            && !run.stdout.contains("it can be attached to"),
        "{}",
        run.stdout
    );
}
