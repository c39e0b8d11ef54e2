//! A library that was replaced since the process loaded it, as an upgrade does: what the process runs is what counts.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use super::support::build::EVENKEEL;
use super::support::run::{
    Place, Run, as_nobody, eventually, finish, has_opened_all, interrupted_once, lacks_root,
};

/// `handle` varies by `slow`. In the newer version everything lies elsewhere.
const LIBRARY: &str = "
#include <stdlib.h>
#include <unistd.h>
#ifdef NEWER
__attribute__((noinline)) unsigned added(unsigned n) { for (volatile int i = 0; i < 10; i++) {} return n * 7; }
#endif
__attribute__((noinline)) unsigned quick(unsigned n) { for (volatile int i = 0; i < 2000; i++) {} return n * 5; }
__attribute__((noinline)) unsigned slow(unsigned n) { for (volatile int i = 0; i < 2000 + (n % 4 == 0) * 200000; i++) {} return n * 3; }
unsigned handle(unsigned n) {
#ifdef NEWER
    n += added(n);
#endif
    return quick(n) + slow(n);
}
void stay(void) {
    while (access(getenv(\"UNTIL\"), F_OK) != 0) {}
}
";
const PROGRAM: &str = "
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
unsigned handle(unsigned n);
void stay(void);
__attribute__((noinline)) unsigned run_interval(unsigned n) { return handle(n) + 1; }
int main(int argc, char **argv) {
    fclose(fopen(getenv(\"READY\"), \"w\"));
    if (argc > 1 && argv[1][0] == 's') stay();
    for (unsigned n = 0; access(getenv(\"UNTIL\"), F_OK) != 0; n++) {
        run_interval(n);
        if (argc > 1) usleep(100);
    }
}
";

/// A place where everybody may write, with the library and the program that runs it.
struct Upgraded {
    place: Place,
    program: PathBuf,
}

impl Upgraded {
    fn new() -> Upgraded {
        let place = Place::new();
        for open in [place.file(""), place.file("tmp")] {
            fs::set_permissions(open, Permissions::from_mode(0o777)).unwrap();
        }
        let upgraded = Upgraded {
            program: place.file("program"),
            place,
        };
        upgraded.library(&[]);
        fs::write(upgraded.place.file("program.c"), PROGRAM).unwrap();
        let mut gcc = upgraded.place.command("gcc");
        gcc.args(["-O1", "-g", "program.c", "-o", "program", "libwork.so"]);
        gcc.arg(format!("-Wl,-rpath,{}", upgraded.place.file("").display()));
        finish(gcc.spawn().unwrap()).ended(0);
        // By another process: what is open here for writing while another test forks could not be run.
        let mut copy = upgraded.place.command("cp");
        copy.args([EVENKEEL, "evenkeel"]);
        finish(copy.spawn().unwrap()).ended(0);
        upgraded
    }

    /// Makes the library, and moves it to where the last one was.
    fn library(&self, options: &[&str]) {
        fs::write(self.place.file("work.c"), LIBRARY).unwrap();
        let mut gcc = self.place.command("gcc");
        gcc.args(["-O1", "-g", "-shared", "-fPIC", "-Wl,--build-id"]);
        gcc.args(["-fno-semantic-interposition", "work.c", "-o", "next.so"]);
        finish(gcc.args(options).spawn().unwrap()).ended(0);
        fs::rename(self.place.file("next.so"), self.place.file("libwork.so")).unwrap();
    }

    /// Replaces the library while the program runs, and attaches with these options. The program pauses between intervals if it is given
    /// `pause`, and has none if it is given `stay`; `as_user` makes both processes another user's.
    fn attached(
        &self,
        options: &[&str],
        arguments: &[&str],
        as_user: fn(&mut Command) -> &mut Command,
    ) -> Run {
        let _ = fs::remove_file(self.place.file("enough"));
        let _ = fs::remove_file(self.place.file("ready"));
        self.library(&[]);
        let mut command = self.place.command(&self.program);
        command.args(arguments);
        command.env("READY", self.place.file("ready"));
        command.env("UNTIL", self.place.file("enough"));
        let program = as_user(&mut command).spawn().unwrap();
        assert!(eventually(|| self.place.file("ready").exists()));
        self.library(&["-DNEWER"]);
        let mut attach = self.place.command(self.place.file("evenkeel"));
        attach.args(["attach", &program.id().to_string()]);
        let session = as_user(attach.args(options)).spawn().unwrap();
        let run = interrupted_once(session, has_opened_all);
        fs::write(self.place.file("enough"), "").unwrap();
        finish(program).ended(0);
        run
    }
}

fn as_ourselves(command: &mut Command) -> &mut Command {
    command
}

#[test]
fn a_replaced_library_is_read_as_it_was_loaded() {
    if lacks_root("read what a process has mapped and no name leads to") {
        return;
    }
    let upgraded = Upgraded::new();
    for interval in ["libwork.so!handle", "run_interval"] {
        let options = ["--interval", interval, "--for", "1m", "--json", "run.json"];
        upgraded.attached(&options, &[], as_ourselves).ended(0);
        let run = upgraded.place.json("run.json");
        let first = &run["factors"][0];
        assert_eq!(first["functions"][0], "slow", "{interval}: {first:#}");
        assert!(first["contribution"].as_f64().unwrap() > 0.5, "{first:#}");
        assert!(!run.to_string().contains("(deleted)"), "{run:#}");
    }
}

/// Its functions are not looked for in the file that has its name now, and no thread is used that is inside of it.
#[test]
fn a_replaced_library_that_cannot_be_read() {
    if lacks_root("run programs as somebody else") {
        return;
    }
    let upgraded = Upgraded::new();
    let reason = "was replaced since the process loaded it";
    let attached = |interval: &str, arguments: &[&str], most: &str| {
        let options = ["--interval", interval, "--for", most];
        upgraded.attached(&options, arguments, as_nobody)
    };
    let inside = attached("libwork.so!handle", &["pause"], "1m").ended(2);
    inside.said(&["libwork.so ", reason, "run evenkeel as root"]);
    let outside = attached("run_interval", &["pause"], "1m").ended(0);
    outside.said(&["libwork.so ", reason]);
    let never_left = attached("run_interval", &["stay"], "5s").ended(2);
    never_left.said(&["inside of libwork.so, ", reason, "run evenkeel as root"]);
}
