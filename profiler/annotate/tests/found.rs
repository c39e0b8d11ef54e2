//! The crate finds what is preloaded, and does nothing where nothing is.

use std::path::Path;
use std::process::Command;

/// Set in the process that annotates.
const ANNOTATES: &str = "EVENKEEL_TEST_ANNOTATES";

#[test]
fn annotations_reach_the_agent() {
    if std::env::var_os(ANNOTATES).is_some() {
        evenkeel_annotate::begin(7);
        evenkeel_annotate::work(evenkeel_annotate::shared(8));
        evenkeel_annotate::enqueue(9);
        evenkeel_annotate::dequeue(9);
        evenkeel_annotate::end(7);
        evenkeel_annotate::class(7, "checkout");
        evenkeel_annotate::trace(7, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        evenkeel_annotate::attribute(7, "rows", -3);
        return;
    }
    let alone = annotate(None);
    assert!(!alone.contains("begin"), "{alone}");
    let agent = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agent.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agent.c");
    let compiled = Command::new("gcc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&agent)
        .arg(source)
        .status()
        .unwrap();
    assert!(compiled.success());
    let printed = annotate(Some(&agent));
    let lines: Vec<&str> = printed.lines().collect();
    let expected = [
        "begin 7",
        "work 9223372036854775816", // 2^63 + 8
        "enqueue 9",
        "dequeue 9",
        "end 7",
        "class 7 checkout",
        "class 7 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "attribute 7 rows -3",
    ];
    assert!(
        lines.windows(expected.len()).any(|lines| lines == expected),
        "{printed}"
    );
}

/// The output of a process that runs this test with an agent preloaded.
fn annotate(agent: Option<&Path>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "annotations_reach_the_agent",
        "--nocapture",
        "--test-threads=1",
    ]);
    command.env(ANNOTATES, "1");
    if let Some(agent) = agent {
        command.env("LD_PRELOAD", agent);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}
