//! Programs behave under the agent as they do without it, waits on or off.

mod harness;

use std::process::Command;

use harness::{How, build, run};

fn alone(name: &str) -> String {
    let output = Command::new(build::program(name)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A process that was killed while it added to the table of modules holds nobody up for good.
#[test]
fn a_table_that_a_killed_process_holds() {
    let how = How {
        table_held: true,
        ..How::default()
    };
    assert_eq!(run("unharmed", &how).stdout(), alone("unharmed"));
}

#[test]
fn everything_around_waiting() {
    let expected = alone("unharmed");
    assert!(expected.ends_with("done\n"));
    assert_eq!(run("unharmed", &How::default()).stdout(), expected);
    let how = How {
        waits: true,
        ..How::default()
    };
    let run = run("unharmed", &how);
    assert_eq!(run.stdout(), expected);
    // Cancelled waits and those left by jumps are forgotten: at the end nobody waits.
    assert_eq!(run.still_announced, 0);
}
