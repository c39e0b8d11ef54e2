//! The bundled demonstration server as a program.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

fn demo_server() -> Command {
    Command::new(env!("CARGO_BIN_EXE_evenkeel-demo-server"))
}

#[test]
fn runs_its_time_and_prints_its_count() {
    let output = demo_server()
        .args(["--threads", "2", "--seconds", "1"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && text.starts_with("transactions "),
        "{text}"
    );
    let count: u64 = text["transactions ".len()..]
        .split(',')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(count > 0);
}

#[test]
fn either_signal_ends_it_cleanly() {
    for signal in [Signal::TERM, Signal::INT] {
        let child = demo_server()
            .args(["--seconds", "1000"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Signals before the handler is there would end it too, only not cleanly: wait until its threads run.
        let tasks = format!("/proc/{}/task", child.id());
        while std::fs::read_dir(&tasks).unwrap().count() < 5 {
            thread::sleep(Duration::from_millis(5));
        }
        kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{signal:?}: {}", output.status);
        assert!(output.stdout.starts_with(b"transactions "));
    }
}

#[test]
fn no_thread_is_refused() {
    let output = demo_server().args(["--threads", "0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
