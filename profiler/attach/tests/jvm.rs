//! Agents are loaded into real JVMs at their socket; skipped where there is no JDK, and in part where this is not root.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use evenkeel_attach::jvm::{JvmKind, load, recognise};

const PROGRAM: &str = "public class Waits { public static void main(String[] a) throws Exception { \
    System.out.println(\"ready \" + ProcessHandle.current().pid()); System.in.read(); System.out.println(\"ended\"); } }";

/// Its options are the path of a file, which it appends a line to; it returns 7 without options.
const AGENT: &str = r#"
#include <stdio.h>
int Agent_OnAttach(void *vm, const char *options, void *reserved) {
    if (!options || !*options) return 7;
    FILE *file = fopen(options, "a");
    if (!file) return 8;
    fputs("attached\n", file);
    return fclose(file);
}
"#;

/// All JDKs of this machine, each once.
fn jdks() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    homes.extend(
        std::fs::read_dir("/usr/lib/jvm")
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path()),
    );
    let homes = homes
        .into_iter()
        .filter(|home| home.join("bin/javac").is_file());
    let found: BTreeSet<PathBuf> = homes.filter_map(|home| home.canonicalize().ok()).collect();
    if found.is_empty() {
        println!("skipped: there is no JDK (JAVA_HOME and /usr/lib/jvm were searched)");
    }
    found.into_iter().collect()
}

fn is_root() -> bool {
    // SAFETY: no arguments.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        println!("skipped: only root can start programs of other users and namespaces");
    }
    root
}

/// A directory that everybody may use, with the program and the agent.
struct Place(tempfile::TempDir);

impl Place {
    fn new(jdk: &Path) -> Self {
        let place = Self(tempfile::tempdir_in("/var/tmp").expect("there is room"));
        std::fs::write(place.file("Waits.java"), PROGRAM).expect("it can be written");
        std::fs::write(place.file("agent.c"), AGENT).expect("it can be written");
        let run = |command: &mut Command| {
            assert!(
                command
                    .current_dir(place.0.path())
                    .status()
                    .expect("it runs")
                    .success()
            )
        };
        run(Command::new(jdk.join("bin/javac")).arg("Waits.java"));
        run(Command::new("cc").args(["-shared", "-fPIC", "-o", "agent.so", "agent.c"]));
        run(Command::new("chmod").args(["-R", "a+rwX", "."]));
        place
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn agent(&self) -> PathBuf {
        self.file("agent.so")
    }

    /// Starts the program, and waits until it runs.
    fn start(&self, jdk: &Path, options: &[&str], prepare: impl FnOnce(&mut Command)) -> Java {
        let mut command = Command::new(jdk.join("bin/java"));
        command
            .args(["-XX:+UseSerialGC", "-Xmx32m"])
            .args(options)
            .arg("-cp")
            .arg(self.0.path())
            .arg("Waits");
        self.started(command, prepare)
    }

    fn started(&self, mut command: Command, prepare: impl FnOnce(&mut Command)) -> Java {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .current_dir("/");
        prepare(&mut command);
        let mut child = command.spawn().expect("java starts");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("java prints");
        assert!(line.starts_with("ready "), "{line}");
        Java { child, output }
    }
}

struct Java {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Java {
    fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// The JVM below a command that started it.
    fn below(&self) -> i32 {
        let family = evenkeel_attach::process::family(self.pid());
        family
            .into_iter()
            .find(|&pid| matches!(recognise(pid), Ok(Some(_))))
            .expect("a JVM")
    }

    /// Lets the program end, which it does only where nothing has harmed it.
    fn end(mut self) {
        drop(self.child.stdin.take());
        let mut line = String::new();
        self.output.read_line(&mut line).expect("java prints");
        assert_eq!(
            line, "ended\n",
            "nothing else was printed, and it ran to its end"
        );
        self.child.wait().expect("it ends");
    }
}

impl Drop for Java {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

fn refused(pid: i32, place: &Place, options: &str) -> String {
    load(pid, &place.agent(), options)
        .expect_err("it is refused")
        .to_string()
}

#[test]
fn agents_are_loaded_and_called_again() {
    for jdk in jdks() {
        let place = Place::new(&jdk);
        let java = place.start(&jdk, &[], |_| ());
        // Not every JDK has a file that tells its version.
        let kind = recognise(java.pid());
        assert!(
            matches!(
                kind,
                Ok(Some(JvmKind::HotSpot {
                    version: None | Some(11..)
                }))
            ),
            "{kind:?}"
        );
        let called = place.file("called");
        for times in 1..=3 {
            load(java.pid(), &place.agent(), called.to_str().expect("text"))
                .expect("it is attached to");
            assert_eq!(lines(&called), times);
        }
        let error = refused(java.pid(), &place, "");
        assert!(error.contains("code 7"), "{error}");
        let no_library = load(java.pid(), &place.file("agent.c"), "x")
            .expect_err("no library")
            .to_string();
        assert!(no_library.contains("agent.c"), "{no_library}");
        let long = refused(java.pid(), &place, &"x".repeat(2_000));
        assert!(long.contains("2000 bytes"), "{long}");
        java.end();
    }
}

#[test]
fn a_jvm_that_does_not_catch_the_signal_has_its_socket_or_is_left_alone() {
    for jdk in jdks() {
        let place = Place::new(&jdk);
        let called = place.file("called");
        let java = place.start(&jdk, &["-Xrs"], |_| ());
        load(java.pid(), &place.agent(), called.to_str().expect("text"))
            .expect("its socket is there from the start");
        assert_eq!(lines(&called), 1);
        // Without the socket the signal would end the process.
        std::fs::remove_file(format!("/tmp/.java_pid{}", java.pid())).expect("its socket");
        let error = refused(java.pid(), &place, "x");
        assert!(error.contains("does not catch SIGQUIT"), "{error}");
        assert!(
            !Path::new(&format!("/tmp/.attach_pid{}", java.pid())).exists(),
            "nothing is left behind"
        );
        java.end();
    }
}

#[test]
fn options_that_forbid_agents_are_named() {
    for jdk in jdks() {
        let place = Place::new(&jdk);
        for option in [
            "-XX:+DisableAttachMechanism",
            "-XX:-EnableDynamicAgentLoading",
        ] {
            let java = place.start(&jdk, &[option], |_| ());
            let error = refused(java.pid(), &place, "x");
            assert!(
                error.contains(option) && error.contains("start it without"),
                "{error}"
            );
            java.end();
        }
        // In a file of options the switch cannot be seen beforehand: the JVM reports it.
        let options = place.file("options");
        std::fs::write(&options, "-XX:-EnableDynamicAgentLoading").expect("it can be written");
        let java = place.start(&jdk, &[&format!("@{}", options.display())], |_| ());
        let error = refused(java.pid(), &place, "x");
        assert!(
            error.contains("EnableDynamicAgentLoading forbids it"),
            "{error}"
        );
        java.end();
    }
}

#[test]
fn jvms_of_other_users_are_attached_to() {
    if !is_root() {
        return;
    }
    for jdk in jdks() {
        let place = Place::new(&jdk);
        let called = place.file("called");
        let java = place.start(&jdk, &[], |command| {
            command.uid(65_534).gid(65_534);
        });
        load(java.pid(), &place.agent(), called.to_str().expect("text"))
            .expect("it is attached to");
        assert_eq!(lines(&called), 1);
        // A library that the other user cannot reach is copied for it.
        let hidden = tempfile::tempdir_in("/var/tmp").expect("there is room");
        let agent = hidden.path().join("agent.so");
        std::fs::copy(place.agent(), &agent).expect("it can be copied");
        load(java.pid(), &agent, called.to_str().expect("text")).expect("it is attached to");
        assert_eq!(lines(&called), 2);
        java.end();
    }
}

#[test]
fn jvms_in_namespaces_of_their_own_are_attached_to() {
    if !is_root() {
        return;
    }
    for jdk in jdks() {
        let place = Place::new(&jdk);
        let mut command = Command::new("unshare");
        let script = "mount -t tmpfs none /tmp && exec \"$@\"";
        command.args([
            "--fork",
            "--pid",
            "--mount",
            "--mount-proc",
            "sh",
            "-c",
            script,
            "sh",
        ]);
        command
            .arg(jdk.join("bin/java"))
            .args(["-XX:+UseSerialGC", "-Xmx32m", "-cp"])
            .arg(place.0.path())
            .arg("Waits");
        let java = place.started(command, |_| ());
        let called = place.file("called");
        load(java.below(), &place.agent(), called.to_str().expect("text"))
            .expect("it is attached to");
        assert_eq!(lines(&called), 1);
        // Where it does not see the library, it gets a copy in its own /tmp.
        let elsewhere = tempfile::tempdir_in("/tmp").expect("there is room");
        let agent = elsewhere.path().join("agent.so");
        std::fs::copy(place.agent(), &agent).expect("it can be copied");
        load(java.below(), &agent, called.to_str().expect("text")).expect("it is attached to");
        assert_eq!(lines(&called), 2);
        let left =
            std::fs::read_dir(Path::new(&format!("/proc/{}/root", java.below())).join("tmp"))
                .expect("its /tmp");
        let left: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
        assert!(
            !left
                .iter()
                .any(|name| name.to_string_lossy().contains("evenkeel")),
            "{left:?}"
        );
        java.end();
    }
}

#[test]
fn other_programs_are_refused_by_name() {
    let mut sleep = Command::new("sleep")
        .arg("1000")
        .spawn()
        .expect("sleep starts");
    let pid = sleep.id() as i32;
    let error = load(pid, Path::new("/bin/true"), "x")
        .expect_err("no JVM")
        .to_string();
    assert!(error.contains("no Java virtual machine"), "{error}");
    sleep.kill().expect("it runs");
    sleep.wait().expect("it ends");
    let error = load(pid, Path::new("/bin/true"), "x")
        .expect_err("it has ended")
        .to_string();
    assert!(error.contains("there is no process"), "{error}");

    // What marks a native image is a section.
    let directory = tempfile::tempdir().expect("there is room");
    let (source, program) = (
        directory.path().join("image.c"),
        directory.path().join("image"),
    );
    let text = "#include <unistd.h>\n__attribute__((section(\".svm_heap\"))) int heap = 1;\nint main(void) { for (;;) pause(); }\n";
    std::fs::write(&source, text).expect("it can be written");
    assert!(
        Command::new("cc")
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .status()
            .expect("cc")
            .success()
    );
    let mut image = Command::new(&program).spawn().expect("it starts");
    let error = load(image.id() as i32, Path::new("/bin/true"), "x")
        .expect_err("no JVM")
        .to_string();
    assert!(error.contains("native image of GraalVM"), "{error}");
    image.kill().expect("it runs");
    image.wait().expect("it ends");
}
