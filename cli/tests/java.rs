//! Methods of Java, on every JDK of this machine: the report agrees with the program's own measurement, and the JVM
//! continues unharmed.

mod support;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use support::run::{Place, Run, eventually, finish, finish_hearing, has_opened_all};

const INTERVAL: &str = "Planted.handle";

/// The JDKs of this machine, each once. Without one these tests check nothing, and print so.
fn jdks() -> Vec<PathBuf> {
    let set = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten();
    let mut homes: Vec<PathBuf> = installed
        .filter_map(|entry| Some(entry.ok()?.path()))
        .chain(set)
        .filter(|home| home.join("bin/javac").exists())
        .filter_map(|home| home.canonicalize().ok())
        .collect();
    homes.sort();
    homes.dedup();
    if homes.is_empty() {
        eprintln!(
            "SKIPPED: THERE IS NO JDK; methods of Java are not tested. Install one: scripts/install.sh jvm"
        );
    }
    homes
}

/// Compiles the program in a place.
fn compile(place: &Place, jdk: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Planted.java");
    let compiled = Command::new(jdk.join("bin/javac"))
        .args(["-g", "-d"])
        .arg(place.file("."))
        .arg(source)
        .status();
    assert!(compiled.expect("javac runs").success());
}

/// The command line of the program.
fn java(place: &Place, jdk: &Path, arguments: &[&str]) -> Command {
    let mut command = place.command(jdk.join("bin/java"));
    command
        .args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Planted"])
        .args(arguments)
        .env("UNTIL", place.file("enough"));
    command
}

/// The program's own measurement of its stages.
fn measured(stdout: &str) -> Vec<(String, f64)> {
    let stage = |line: &str| {
        let (name, share) = line.strip_prefix("stage ")?.split_once(' ')?;
        Some((name.to_owned(), share.parse().ok()?))
    };
    stdout.lines().filter_map(stage).collect()
}

/// The node of a method directly below another.
fn child<'a>(node: &'a Value, method: &str) -> Option<&'a Value> {
    let name = format!("Planted.{method}");
    let children = node["children"].as_array()?;
    children.iter().find(|child| child["name"] == *name)
}

#[track_caller]
fn assert_shares(run: &Run, profile: &Value) {
    let stages = measured(&run.stdout);
    assert_eq!(stages.len(), 5, "{run:?}");
    for (stage, expected) in stages {
        let node = child(&profile["tree"], &stage);
        let node = node.unwrap_or_else(|| panic!("{stage} is not in {}", profile["tree"]));
        let (share, se) = (node["share"].as_f64(), node["se"].as_f64());
        let (share, se) = (share.expect("a number"), se.unwrap_or(0.0));
        let allowed = f64::max(0.03, 4.0 * se);
        assert!(
            (share - expected).abs() <= allowed,
            "{stage}: {share} +- {se}, and the program measured {expected}: {}",
            run.stderr
        );
    }
}

#[test]
fn shares_are_those_that_the_program_measured() {
    for jdk in jdks() {
        let place = Place::new();
        compile(&place, &jdk);
        let mut command = place.evenkeel(["profile", "--interval", INTERVAL]);
        command
            .args(["--json", "run.json", "-o", "run.keel", "--"])
            .arg(jdk.join("bin/java"))
            .args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Planted"])
            .env("UNTIL", place.file("enough"));
        let enough = place.file("enough");
        let run = finish_hearing(command.spawn().unwrap(), move |line| {
            if has_opened_all(line) {
                // The round that was opened last needs its intervals.
                std::thread::sleep(std::time::Duration::from_secs(2));
                std::fs::write(&enough, "").unwrap();
            }
        });
        let run = run.ended(0);
        let profile = place.json("run.json");
        assert_shares(&run, &profile);
        // What is behind interfaces, lambdas and exceptions has its place, by the samples of stacks.
        let recursive = child(&profile["tree"], "recursive").expect("it is there");
        assert!(child(recursive, "work").is_some(), "{recursive}");
        assert!(child(recursive, "recursive").is_some(), "{recursive}");
        let exceptions = child(&profile["tree"], "throughExceptions").expect("it is there");
        let above = child(exceptions, "above").expect("it is opened");
        assert!(child(above, "below").is_some(), "{above}");
        let line = recursive["line"].as_u64().expect("its line");
        assert_eq!(recursive["file"], "Planted.java");
        let source = include_str!("java/Planted.java");
        let text = source.lines().nth(line as usize - 1).expect("a line of it");
        assert!(text.contains("recursive(random"), "{text}");
        // The same from the recording.
        let again = place.run(["report", "--json", "run.keel"]).ended(0);
        let again: Value = serde_json::from_str(&again.stdout).expect("JSON");
        assert_eq!(again["tree"], profile["tree"]);
        run.said(&[
            "the Java virtual machine stood still",
            "native functions below",
        ]);
    }
}

/// The program, and what it prints.
struct Running {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(mut command: Command) -> Running {
        command.stderr(Stdio::null());
        let mut child = command.spawn().expect("java starts");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("java prints");
        assert!(line.starts_with("ready "), "{line}");
        Running { child, output }
    }

    /// Lets it end, which it does only where nothing has harmed it.
    fn end(mut self, place: &Place) -> String {
        std::fs::write(place.file("enough"), "").unwrap();
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("it prints");
        assert!(self.child.wait().expect("it ends").success());
        rest
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_running_jvm_is_attached_to_again_and_again() {
    for jdk in jdks() {
        let place = Place::new();
        compile(&place, &jdk);
        let running = Running::start(java(&place, &jdk, &[]));
        let pid = running.child.id().to_string();
        let attach = ["attach", &pid, "--interval", INTERVAL];
        let session = |more: &[&str]| place.evenkeel(attach.iter().chain(more)).spawn().unwrap();
        let profiled = |name: &str| {
            let run = finish(session(&["--for", "3s", "--json", name])).ended(0);
            let profile = place.json(name);
            assert!(profile["intervals"].as_u64() > Some(0), "{run:?}");
            assert!(child(&profile["tree"], "locked").is_some(), "{run:?}");
        };
        profiled("first.json");
        profiled("second.json");
        // A killed session leaves probes in the code. They are off once its lease has run out, and the next session
        // reuses them.
        let mut killed = session(&["--json", "killed.json"]);
        let stderr = killed.stderr.take().expect("piped");
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("profiling")));
        let busy = finish(session(&["--for", "1s"])).ended(2);
        busy.said(&["another session is at work"]);
        killed.kill().expect("it runs");
        killed.wait().expect("it was killed");
        let after = eventually(|| {
            let run = finish(session(&["--for", "3s", "--json", "third.json"]));
            run.code == Some(0)
        });
        assert!(after, "the JVM can be attached to once the lease is out");
        let stages = measured(&running.end(&place));
        assert_eq!(stages.len(), 5);
    }
}

#[test]
fn unprofilable_methods_are_refused_with_a_remedy() {
    for jdk in jdks() {
        let place = Place::new();
        compile(&place, &jdk);
        let running = Running::start(java(&place, &jdk, &[]));
        let pid = running.child.id().to_string();
        let refused = |interval: &str, more: &[&str], said: &[&str]| {
            let words = ["attach", &pid, "--for", "2s", "--interval", interval];
            let run = place.evenkeel(words.iter().chain(more)).spawn().unwrap();
            finish(run).ended(2).said(said);
        };
        refused(
            "Planted.handel",
            &[],
            &["no code in a method handel", "handle", "throughLambdas"],
        );
        refused(
            "Planted.handle,label=text:1",
            &[],
            &["label= is for native functions"],
        );
        refused(INTERVAL, &["--waits"], &["--waits is for native functions"]);
        refused("java.lang.Runnable.run", &[], &["may be abstract"]);
        running.end(&place);
    }
}

#[test]
fn intervals_on_virtual_threads_are_refused_by_name() {
    for jdk in jdks() {
        // Virtual threads exist from version 21 on.
        let has_them = jdk.join("lib/modules").exists() && version(&jdk) >= Some(21);
        if !has_them {
            continue;
        }
        let place = Place::new();
        compile(&place, &jdk);
        let running = Running::start(java(&place, &jdk, &["virtual"]));
        let pid = running.child.id().to_string();
        let words = ["attach", &pid, "--for", "3s", "--interval", INTERVAL];
        let run = finish(place.evenkeel(words).spawn().unwrap()).ended(2);
        run.said(&["on virtual threads", "platform threads"]);
        assert_eq!(measured(&running.end(&place)).len(), 5);
    }
}

/// The major version of a JDK.
fn version(jdk: &Path) -> Option<u32> {
    let release = std::fs::read_to_string(jdk.join("release")).ok()?;
    let version = release
        .lines()
        .find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
    version.split(['.', '"', '-']).next()?.parse().ok()
}
