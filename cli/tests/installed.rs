//! The files that `make install` installs work without the build that they came from.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::build::{EVENKEEL, agent, package, program};
use support::run::{Place, finish};

/// Installs the programs that cargo built below a place, under a prefix; returns the prefix's directory there.
fn install(place: &Place) -> PathBuf {
    agent();
    package("evenkeel-servers");
    package("evenkeel-locks-c");
    let built = Path::new(EVENKEEL).parent().unwrap();
    let mut make = Command::new("make");
    make.args(["-s", "install-built", "PREFIX=/opt/evenkeel"])
        .arg(format!("BUILT={}", built.display()))
        .arg(format!("DESTDIR={}", place.file("root").display()))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    run(&mut make);
    place.file("root/opt/evenkeel")
}

/// The output of a command, which has to succeed.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {err}");
    String::from_utf8(output.stdout).unwrap()
}

/// The installed command, alone in a directory: it finds its agent in itself.
fn alone(place: &Place, prefix: &Path) -> Command {
    fs::create_dir_all(place.file("alone")).unwrap();
    let copy = place.file("alone/evenkeel");
    fs::copy(prefix.join("bin/evenkeel"), &copy).unwrap();
    let mut command = place.command(copy);
    command.env_remove("EVENKEEL_AGENT");
    command
}

#[test]
fn the_command_is_one_file() {
    let place = Place::new();
    let prefix = install(&place);
    let doctor = run(alone(&place, &prefix).arg("doctor"));
    let line = doctor.lines().next().unwrap();
    assert!(line.starts_with("ok       agent: carried by "), "{doctor}");
    let (_, agent) = line.split_once("preloaded from ").unwrap();
    assert!(Path::new(agent).exists(), "{agent}");

    let mut profile = alone(&place, &prefix);
    profile.args([
        "profile",
        "--interval",
        "run_interval",
        "--json",
        "run.json",
        "--",
    ]);
    // Through a program that executes another one.
    profile.args(["sh", "-c", "exec \"$0\" 400"]);
    profile.arg(program("stages"));
    finish(profile.spawn().unwrap()).ended(0);
    assert_eq!(place.json("run.json")["intervals_seen"], 400);

    let mut demo = alone(&place, &prefix);
    demo.args(["demo", "--bundled", "--for", "5s"]);
    let run = finish(demo.spawn().unwrap()).ended(0);
    assert!(run.stdout.contains("transaction"), "{}", run.stdout);
    // This build's; others may be in use.
    let _ = fs::remove_dir_all(Path::new(agent).parent().unwrap());
}

#[test]
fn pages_and_completions_are_installed() {
    let place = Place::new();
    let prefix = install(&place);
    for file in [
        "share/man/man1/evenkeel.1",
        "share/man/man1/evenkeel-profile.1",
        "share/bash-completion/completions/evenkeel",
        "share/zsh/site-functions/_evenkeel",
        "share/fish/vendor_completions.d/evenkeel.fish",
    ] {
        let text = fs::read_to_string(prefix.join(file)).unwrap();
        assert!(text.contains("evenkeel"), "{file}: {text}");
    }
    let completion = prefix.join("share/bash-completion/completions/evenkeel");
    run(Command::new("bash").arg("-n").arg(completion));
}

/// The key-value store builds as pkg-config says, against the shared library and against the static one.
#[test]
fn the_lock_managers_library_is_found_by_pkg_config() {
    let place = Place::new();
    let prefix = install(&place);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/locks-c/examples/kv.c");
    let library = prefix.join("lib");
    for (options, name) in [
        (&["--cflags", "--libs"][..], "kv"),
        (&["--cflags", "--libs", "--static"][..], "kv-static"),
    ] {
        let mut asked = Command::new("pkg-config");
        asked.args(options).arg("evenkeel_locks");
        let flags = run(asked.env("PKG_CONFIG_PATH", library.join("pkgconfig")));
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-D_GNU_SOURCE"]).arg(&source);
        for flag in flags.split_whitespace() {
            // The shared library is preferred by name: a static program asks for the archive.
            let archive = name == "kv-static" && flag == "-levenkeel_locks";
            compiler.arg(if archive {
                "-l:libevenkeel_locks.a"
            } else {
                flag
            });
        }
        run(compiler.args(["-lpthread", "-o"]).arg(place.file(name)));
        let mut store = Command::new(place.file(name));
        let printed = run(store.arg("ldsf").env("LD_LIBRARY_PATH", &library));
        assert!(
            printed.ends_with("0 wrong audits, sum 64000\n"),
            "{printed}"
        );
        let needed = run(Command::new("objdump").arg("-p").arg(place.file(name)));
        let mut words = needed.split_whitespace();
        let shared = words.any(|word| word == "libevenkeel_locks.so.0");
        assert_eq!(shared, name == "kv", "{needed}");
    }
}

/// The installed headers are taken by compilers as strict as their users', of whichever standard.
#[test]
fn headers_are_of_every_standard() {
    let place = Place::new();
    let include = install(&place).join("include");
    let includes =
        "#include <evenkeel.h>\n#include <evenkeel_locks.h>\nint main(void) { return 0; }\n";
    let c = (
        "strict.c",
        ["cc", "clang"],
        &["c89", "c99", "c11", "c17", "c2x"][..],
    );
    let cpp = (
        "strict.cc",
        ["c++", "clang++"],
        &["c++98", "c++11", "c++14", "c++17", "c++20", "c++2b"][..],
    );
    for (file, compilers, standards) in [c, cpp] {
        std::fs::write(place.file(file), includes).unwrap();
        for (compiler, standard) in compilers
            .iter()
            .flat_map(|compiler| standards.iter().map(move |standard| (compiler, standard)))
        {
            let mut command = Command::new(compiler);
            command.args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wconversion"]);
            command.arg(format!("-std={standard}"));
            command.arg("-I").arg(&include).arg("-fsyntax-only");
            let Ok(compiled) = command.arg(place.file(file)).output() else {
                eprintln!("skipped: there is no {compiler}");
                continue;
            };
            let why = String::from_utf8_lossy(&compiled.stderr);
            assert!(
                compiled.status.success(),
                "{compiler} -std={standard}\n{why}"
            );
        }
    }
}
