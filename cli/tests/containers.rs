//! Attaches from outside to programs in containers. The strictest one has the default filter of system calls, its own
//! namespaces, no capability, and a memory limit. Its root file system is read-only and holds only the program and
//! its libraries. Where podman is missing or cannot start it, bubblewrap, and then unshare(1), make the namespaces.

mod support;
#[path = "attach/working.rs"]
mod working;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use evenkeel_attach::process;
use serde_json::Value;

use support::build::own_program;
use support::run::{
    Place, Run, eventually, finish, has_opened_all, interrupted_once, intervals_so_far, lacks_root,
    signal,
};

const PROGRAM: &str = "filtered";
const SOURCE: &str = include_str!("attach/filtered.c");

/// A way to start a container: the command, and podman if that started it.
type Way = fn(&Place, &Path, &str) -> (Command, Option<Podman>);

/// A program in a container.
struct Contained {
    place: Place,
    /// What started the container, and ends it.
    child: Child,
    /// The program, by its number outside.
    pid: i32,
    podman: Option<Podman>,
    /// Keeps the program from outliving a test that fails.
    _ends: Ends,
}

/// Ends the program of this number and name if it still runs.
struct Ends(i32, String);

impl Drop for Ends {
    fn drop(&mut self) {
        if process::name(self.0).as_ref() == Some(&self.1) {
            signal(self.0, libc::SIGKILL);
        }
    }
}

fn name_of(program: &Path) -> &str {
    program.file_name().unwrap().to_str().unwrap()
}

/// How podman is called: with directories of the test's own.
#[derive(Clone)]
struct Podman {
    directory: PathBuf,
    name: String,
}

impl Podman {
    fn command(&self) -> Command {
        // crun wants one hierarchy of control groups, where machines may have both.
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c"]);
        command.arg("umount /sys/fs/cgroup/unified 2>/dev/null; exec podman \"$@\"");
        command.arg("podman");
        for (option, value) in [("--root", "store"), ("--runroot", "run")] {
            command.arg(option).arg(self.directory.join(value));
        }
        command.args(["--cgroup-manager=cgroupfs", "--events-backend=file"]);
        command
    }

    fn inspect(&self, format: &str) -> String {
        let mut command = self.command();
        command.args(["inspect", "--format", format, &self.name]);
        let answer = command.output().unwrap();
        String::from_utf8(answer.stdout).unwrap().trim().to_owned()
    }
}

/// The program and its libraries, in a directory that becomes the container's root.
fn make_root(root: &Path, program: &Path) {
    for folder in ["proc", "sys", "dev", "tmp", "run", "etc", "work"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::copy(program, root.join(name_of(program))).unwrap();
    let linked = Command::new("ldd").arg(program).output().unwrap();
    let linked = String::from_utf8(linked.stdout).unwrap();
    let files = linked
        .split_whitespace()
        .filter(|word| word.starts_with('/'));
    // What the agent needs, and the loader of musl, which ldd does not name.
    let more = [
        "/lib/x86_64-linux-gnu/libgcc_s.so.1",
        "/lib/ld-musl-x86_64.so.1",
    ];
    for file in files.chain(more) {
        let inside = root.join(&file[1..]);
        fs::create_dir_all(inside.parent().unwrap()).unwrap();
        if Path::new(file).exists() {
            fs::copy(file, inside).unwrap();
        }
    }
}

fn in_podman(place: &Place, program: &Path, does: &str) -> (Command, Option<Podman>) {
    podman_with(place, program, does, &["--userns=host"])
}

/// The container's users are others than the machine's: its root is nobody outside.
fn in_podman_with_users(place: &Place, program: &Path, does: &str) -> (Command, Option<Podman>) {
    let everybody = fs::Permissions::from_mode(0o777);
    fs::set_permissions(place.file(""), everybody).unwrap();
    let users = ["--uidmap=0:100000:65536", "--gidmap=0:100000:65536"];
    let started = podman_with(place, program, does, &users);
    let mut owned = Command::new("chown");
    owned.args(["-R", "100000:100000"]).arg(place.file("root"));
    assert!(owned.status().unwrap().success());
    started
}

fn podman_with(
    place: &Place,
    program: &Path,
    does: &str,
    users: &[&str],
) -> (Command, Option<Podman>) {
    let root = place.file("root");
    make_root(&root, program);
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let podman = Podman {
        directory: place.file("podman"),
        name: format!(
            "evenkeel-test-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Relaxed)
        ),
    };
    let work = format!("--volume={}:/shared", place.file("").display());
    let mut command = podman.command();
    command
        .args([
            "run",
            "--rm",
            "--name",
            &podman.name,
            "--network=none",
            "--read-only",
        ])
        .args([
            "--cap-drop=all",
            "--memory=256m",
            "--ulimit=nofile=1024:1024",
        ])
        .args(["--ulimit=nproc=1000:1000", &work])
        .args(users)
        .args([
            "--env=READY=/shared/ready",
            "--env=UNTIL=/shared/enough",
            "--rootfs",
        ])
        .arg(&root)
        .args([&format!("/{}", name_of(program)), does]);
    (command, Some(podman))
}

fn in_bubblewrap(place: &Place, program: &Path, does: &str) -> (Command, Option<Podman>) {
    let mut command = Command::new("bwrap");
    command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    command
        .arg("--bind")
        .arg(place.file(""))
        .arg(place.file(""));
    command.args(["--unshare-all", "--cap-drop", "ALL", "--die-with-parent"]);
    command.arg(program).arg(does);
    (command, None)
}

fn in_bubblewrap_with_users(
    place: &Place,
    program: &Path,
    does: &str,
) -> (Command, Option<Podman>) {
    let (plain, podman) = in_bubblewrap(place, program, does);
    let users = ["--unshare-user", "--uid", "1000"];
    (with_first(&users, &plain), podman)
}

/// The same command, with these options before its own.
fn with_first(options: &[&str], plain: &Command) -> Command {
    let mut command = Command::new(plain.get_program());
    command.args(options).args(plain.get_args());
    command
}

fn in_namespaces(_: &Place, program: &Path, does: &str) -> (Command, Option<Podman>) {
    let mut command = Command::new("unshare");
    command.args([
        "--pid",
        "--fork",
        "--mount-proc",
        "--net",
        "--ipc",
        "--uts",
        "--kill-child",
    ]);
    command.arg(program).arg(does);
    (command, None)
}

fn in_namespaces_with_users(
    place: &Place,
    program: &Path,
    does: &str,
) -> (Command, Option<Podman>) {
    let (plain, podman) = in_namespaces(place, program, does);
    (with_first(&["--map-root-user"], &plain), podman)
}

const WAYS: &[(&str, Way)] = &[
    ("podman", in_podman),
    ("bubblewrap", in_bubblewrap),
    ("unshare", in_namespaces),
];

impl Contained {
    fn start() -> Option<Contained> {
        Contained::start_in_one_of(WAYS, "nothing")
    }

    /// One whose child does the work.
    fn start_with_child() -> Option<Contained> {
        Contained::start_in_one_of(WAYS, "child")
    }

    /// With a user namespace.
    fn start_with_users() -> Option<Contained> {
        let ways: &[(&str, Way)] = &[
            ("podman", in_podman_with_users),
            ("bubblewrap", in_bubblewrap_with_users),
            ("unshare", in_namespaces_with_users),
        ];
        Contained::start_in_one_of(ways, "nothing")
    }

    /// In the first way that works here; prints what the others lack.
    fn start_in_one_of(ways: &[(&str, Way)], does: &str) -> Option<Contained> {
        if lacks_root("attach to containers from outside") {
            return None;
        }
        Contained::start_one(ways, &own_program(PROGRAM, SOURCE), does)
    }

    fn start_one(ways: &[(&str, Way)], program: &Path, does: &str) -> Option<Contained> {
        for &(name, way) in ways {
            match Contained::start_in(way, program, does) {
                Ok(contained) => return Some(contained),
                Err(why) => eprintln!("no container by {name} here: {why}"),
            }
        }
        assert!(
            std::env::var_os("CI").is_none(),
            "no container could be started"
        );
        None
    }

    fn start_in(way: Way, program: &Path, does: &str) -> Result<Contained, String> {
        let place = Place::new();
        let (made, podman) = way(&place, program, does);
        let mut command = place.command(made.get_program());
        command.args(made.get_args());
        command.env("READY", place.file("ready"));
        command.env("UNTIL", place.file("enough"));
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let ready = place.file("ready");
        let mut ended = None;
        eventually(|| {
            ended = child.try_wait().unwrap();
            ready.exists() || ended.is_some()
        });
        if !ready.exists() || ended.is_some() {
            let run = finish(child);
            return Err(format!(
                "it ended with {:?}: {}",
                run.code,
                run.stderr.trim()
            ));
        }
        let name = name_of(program);
        let is_it = |&pid: &i32| process::name(pid).as_deref() == Some(name) && is_inside(pid);
        let pid = match &podman {
            Some(podman) => podman.inspect("{{.State.Pid}}").parse().ok(),
            None => process::family(child.id() as i32).into_iter().find(is_it),
        };
        let pid = pid.expect("it runs");
        Ok(Contained {
            pid,
            _ends: Ends(pid, name.to_owned()),
            place,
            child,
            podman,
        })
    }

    fn attach(&self, options: &[&str]) -> Command {
        let mut command = self.place.evenkeel(["attach", &self.pid.to_string()]);
        command.args(["--interval", "run_interval"]).args(options);
        command
    }

    /// Lets it end.
    fn end(self) -> Run {
        fs::write(self.place.file("enough"), "").unwrap();
        finish(self.child)
    }
}

fn is_inside(pid: i32) -> bool {
    let numbers = process::status(pid, "NSpid").unwrap_or_default();
    numbers.split_whitespace().count() > 1
}

fn names(node: &Value) -> Vec<String> {
    let below = node["children"].as_array().into_iter().flatten();
    let own = node["name"].as_str().map(str::to_owned);
    own.into_iter().chain(below.flat_map(names)).collect()
}

fn is_hooked(pid: i32) -> bool {
    let mappings = process::mappings(pid).unwrap_or_default();
    mappings
        .iter()
        // The directory in which the tests run may have the name, too.
        .filter_map(|mapping| mapping.path.rsplit('/').next())
        .any(|file| file.contains("evenkeel"))
}

#[test]
fn a_program_in_a_container_gives_its_known_answer() {
    for start in [
        Contained::start,
        Contained::start_with_child,
        Contained::start_with_users,
    ] {
        if let Some(contained) = start() {
            gives_its_answer(contained);
        }
    }
}

fn gives_its_answer(contained: Contained) {
    for options in [
        &["--json", "run.json"][..],
        &["--json", "run.json", "--waits"],
    ] {
        let session = contained.attach(options).spawn().unwrap();
        interrupted_once(session, has_opened_all)
            .ended(0)
            .said(&["attached to process"]);
        let profile = contained.place.json("run.json");
        assert_eq!(profile["closure"]["max_abs_error_ticks"], 0);
        let found = names(&profile["tree"]);
        for function in ["work_fast", "work_slow"] {
            assert!(
                found.iter().any(|name| name == function),
                "{function}: {found:?}"
            );
        }
    }
    contained.end().ended(0);
}

/// The program in the container continues, however the session ends. If the container ends, the session reports the
/// intervals up to then.
#[test]
fn the_ends_of_a_session_and_of_a_container() {
    let Some(mut contained) = Contained::start() else {
        return;
    };
    let mut session = contained.attach(&[]).spawn().unwrap();
    assert!(
        eventually(|| is_hooked(contained.pid)),
        "nothing came inside"
    );
    session.kill().unwrap();
    session.wait().unwrap();
    // Until the lease of the dead session has run out the process is not free: its agent cannot see that the session is gone.
    let pid = contained.pid;
    let attach_until_killed = || {
        let mut killed = false;
        let session = contained.attach(&["--json", "run.json"]).spawn().unwrap();
        support::run::finish_hearing(session, move |line| {
            if !killed && intervals_so_far(line).is_some_and(|intervals| intervals > 100) {
                killed = true;
                signal(pid, libc::SIGKILL);
            }
        })
    };
    let mut run = attach_until_killed();
    while run.code == Some(2) && run.stderr.contains("another evenkeel is at work") {
        std::thread::sleep(Duration::from_millis(500));
        run = attach_until_killed();
    }
    run.ended(0);
    let profile = contained.place.json("run.json");
    assert!(profile["intervals"]["seen"].as_u64() > Some(100) || !profile["tree"].is_null());
    contained.child.wait().unwrap();
}

/// A container is found by its name and by its id; for an unknown one the message says that it does not exist.
#[test]
fn containers_by_name() {
    let Some(contained) = Contained::start() else {
        return;
    };
    let place = &contained.place;
    let nothing = [
        "attach",
        "--container",
        "no-such-container",
        "--interval",
        "x",
    ];
    finish(place.evenkeel(nothing).spawn().unwrap())
        .ended(2)
        .said(&["no container is named no-such-container"]);
    let Some(podman) = &contained.podman else {
        contained.end().ended(0);
        return;
    };
    let id = podman.inspect("{{.Id}}");
    // Our podman has directories that the one on the path does not know: the control group has the id.
    let options = [
        "attach",
        "--container",
        &id[..12],
        "--interval",
        "run_interval",
    ];
    let mut session = place.evenkeel(options);
    let enough = |line: &str| intervals_so_far(line).is_some();
    interrupted_once(session.spawn().unwrap(), enough).ended(0);
    contained.end().ended(0);
}

/// An image for musl, as Alpine's are, is refused by name, and its program continues.
#[test]
fn musl_in_a_container_is_refused() {
    const SOURCE: &str = "// build: musl-gcc -O1 for_musl.c\n#include <fcntl.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
        int main(void) { close(open(getenv(\"READY\"), O_CREAT | O_WRONLY, 0600)); for (;;) pause(); }\n";
    if lacks_root("attach to containers from outside") {
        return;
    }
    if Command::new("musl-gcc").arg("--version").output().is_err() {
        eprintln!("there is no musl-gcc: nothing was tested");
        return;
    }
    let program = own_program("for_musl", SOURCE);
    let Some(mut contained) = Contained::start_one(WAYS, &program, "nothing") else {
        return;
    };
    let session = contained.attach(&["--for", "1s"]).spawn().unwrap();
    finish(session).ended(2).said(&["is linked with musl"]);
    assert_eq!(process::name(contained.pid).as_deref(), Some("for_musl"));
    assert!(!is_hooked(contained.pid));
    signal(contained.pid, libc::SIGKILL);
    contained.child.wait().unwrap();
}
