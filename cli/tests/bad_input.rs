//! Wrong input, end to end: a clear message with the next step, exit code 2, nothing left behind.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use support::build::{own_program, program};
use support::run::{Place, Run, finish, lacks_root};

/// Profiles the stages program with these options and fails.
#[track_caller]
fn refused(options: &[&str], words: &[&str]) -> Run {
    let place = Place::new();
    let program = program("stages");
    let mut arguments = vec!["profile"];
    arguments.extend(options);
    arguments.extend(["--", program.to_str().unwrap(), "400"]);
    place.run(arguments).ended(2).said(words)
}

/// Profiles `program` and fails.
#[track_caller]
fn refused_program(place: &Place, program: &Path, words: &[&str]) -> Run {
    place
        .run([
            "profile",
            "--interval",
            "main",
            "--",
            program.to_str().unwrap(),
        ])
        .ended(2)
        .said(words)
}

fn executable(place: &Place, name: &str, bytes: &[u8]) -> PathBuf {
    let path = place.file(name);
    std::fs::write(&path, bytes).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

// The interval.

#[test]
fn no_such_function() {
    refused(
        &["--interval", "run_intervall"],
        &[
            "no function is named run_intervall",
            "did you mean run_interval",
        ],
    );
}

#[test]
fn an_ambiguous_function() {
    // Two static functions of one name in two compilation units.
    let place = Place::new();
    std::fs::write(place.file("a.c"), "__attribute__((noinline)) static int work(int x) { return x * 3; } int other(int); int main(int c, char **v) { (void)v; return work(c) + other(c) == 0; }").unwrap();
    std::fs::write(place.file("b.c"), "__attribute__((noinline)) static int work(int x) { return x * 5 + 1; } int other(int x) { return work(x) + 1; }").unwrap();
    let compiled = finish(
        place
            .command("gcc")
            .args(["-O1", "-g", "-fno-ipa-cp", "a.c", "b.c", "-o", "two"])
            .spawn()
            .unwrap(),
    );
    compiled.ended(0);
    let run = place
        .run(["profile", "--interval", "work", "--", "./two"])
        .ended(2);
    run.said(&["work is ambiguous", "file:function", "a.c", "b.c"]);
}

#[test]
fn nonsense_for_an_interval() {
    for text in [
        "",
        "begin..",
        ">callee",
        "run_interval,label=text",
        "run_interval,label=colour:0",
    ] {
        refused(
            &["--interval", text],
            &["cannot be read", "CALLER>FUNCTION"],
        );
    }
    refused(&["--interval", "0xzz"], &["not an address", "hexadecimal"]);
    refused(&["--interval", "0x1"], &["no function lies at 0x1"]);
    refused(
        &["--interval", "main>nothing_like_it"],
        &["nothing_like_it"],
    );
    refused(
        &["--interval", "stage_a>stage_b"],
        &["stage_a does not call stage_b"],
    );
}

#[test]
fn an_interval_that_never_occurs() {
    let place = Place::new();
    let source = "// build: gcc -O1 -g never.c\n__attribute__((noinline)) int never(int x) { return x + 1; }\n\
                  int main(int argc, char **argv) { return argc > 5 ? never((int)argv[0][0]) : 0; }\n";
    let never = own_program("never", source);
    let run = place.run([
        "profile",
        "--interval",
        "never",
        "--",
        never.to_str().unwrap(),
    ]);
    run.ended(2)
        .said(&["the interval never never ended", "--for", "--interval"]);
}

#[test]
fn a_library_that_is_not_there() {
    refused(
        &["--interval", "libnone.so!work"],
        &["no library libnone.so was loaded", "ldd"],
    );
}

#[test]
fn no_interval_and_unknown_presets() {
    refused(&[], &["--interval FUNCTION", "--preset", "postgres"]);
    refused(&["--preset", "oracle"], &["no preset oracle", "postgres"]);
    refused(&["--preset", "postgres"], &["postgres", "--interval"]);
}

#[test]
fn a_library_that_is_never_loaded() {
    let place = Place::new();
    let program = program("dlopen");
    let words = [
        "profile",
        "--interval",
        "plagin.so!plugin_work",
        "--",
        program.to_str().unwrap(),
        "400",
    ];
    let run = place
        .run(words)
        .ended(2)
        .said(&["plagin.so", "/proc/PID/maps"]);
    assert!(
        run.stdout.starts_with("dlopen: 400 intervals"),
        "it ran all the same: {}",
        run.stdout
    );
}

// The options.

#[test]
fn nonsense_for_an_option() {
    let wrong = [
        (&["--for", "0"][..], "not a positive duration"),
        (&["--for", "3parsecs"], "not a unit of time"),
        (&["--for", "soon"], "write 30s"),
        (&["--max-overhead", "3"], "write 3% or 0.03"),
        (&["--threshold=-1%"], "write 3% or 0.03"),
        (&["--specificity", "4"], "1..=3"),
        (&["--tail", "p42"], "p95, p99 and p99.9"),
        (&["--plant", "some"], "neither a number nor `every`"),
        (
            &["--user", "nobody_of_that_name"],
            "no user nobody_of_that_name",
        ),
        (&["--max-probes", "many"], "invalid"),
    ];
    for (options, words) in wrong {
        refused(
            &[&["--interval", "run_interval"], options].concat(),
            &[words],
        );
    }
}

#[test]
fn contradictory_options() {
    refused(
        &["--interval", "run_interval", "--plant", "10", "--manual"],
        &["--plant", "--manual"],
    );
}

#[test]
fn no_command() {
    Place::new()
        .run(["profile", "--interval", "main"])
        .ended(2)
        .said(&["COMMAND"]);
}

// The command.

#[test]
fn a_command_that_does_not_exist() {
    let place = Place::new();
    refused_program(
        &place,
        Path::new("no-such-command-anywhere"),
        &["cannot find the command", "PATH"],
    );
    refused_program(
        &place,
        Path::new("./not/here"),
        &["cannot find the command", "path"],
    );
}

#[test]
fn a_file_without_permission() {
    let place = Place::new();
    let path = executable(&place, "plain", &std::fs::read(program("stages")).unwrap());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    refused_program(&place, &path, &["may not be executed", "chmod +x"]);
}

#[test]
fn a_directory() {
    let place = Place::new();
    refused_program(&place, &place.file("tmp"), &["tmp"]);
}

#[test]
fn a_static_program() {
    let place = Place::new();
    std::fs::write(place.file("static.c"), "int main(void) { return 0; }").unwrap();
    finish(
        place
            .command("gcc")
            .args(["-static", "static.c", "-o", "static"])
            .spawn()
            .unwrap(),
    )
    .ended(0);
    refused_program(&place, &place.file("static"), &["static"]);
}

#[test]
fn a_setuid_program() {
    if lacks_root("give a file away") {
        return;
    }
    let place = Place::new();
    let path = executable(&place, "setuid", &std::fs::read(program("stages")).unwrap());
    // Owned by nobody: for its owner the kernel would change nothing.
    std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4755)).unwrap();
    refused_program(
        &place,
        &path,
        &["is setuid", "run a copy of it", "or run as the user"],
    );
}

#[test]
fn programs_of_other_machines() {
    let place = Place::new();
    // ELF header (System V ABI, chapter 4): class, data, version; then type, machine, version.
    let mut header = std::fs::read(program("stages")).unwrap();
    header[18] = 183; // EM_AARCH64
    refused_program(
        &place,
        &executable(&place, "aarch64", &header),
        &["aarch64", "x86-64"],
    );
    let mut header = std::fs::read(program("stages")).unwrap();
    header[4] = 1; // ELFCLASS32
    header[18] = 3; // EM_386
    refused_program(
        &place,
        &executable(&place, "i386", &header),
        &["32-bit", "64-bit build"],
    );
    refused_program(
        &place,
        &executable(&place, "text", b"no program at all, just text\n"),
        &["text"],
    );
    refused_program(&place, &executable(&place, "empty", b""), &["empty"]);
    let head = std::fs::read(program("stages")).unwrap();
    refused_program(&place, &executable(&place, "cut", &head[..300]), &["cut"]);
}

#[test]
fn a_target_that_exits_at_once() {
    let place = Place::new();
    let run = place
        .run(["profile", "--interval", "work", "--", "/bin/true"])
        .ended(2);
    assert!(run.stderr.contains("work"), "{}", run.stderr);
    // A failing one: said, too.
    let source = "// build: gcc -O1 -g fails.c\n__attribute__((noinline)) int never(int x) { return x + 1; }\n\
                  int main(int argc, char **argv) { return argc > 5 ? never((int)argv[0][0]) : 3; }\n";
    let fails = own_program("fails", source);
    let run = place.run([
        "profile",
        "--interval",
        "never",
        "--",
        fails.to_str().unwrap(),
    ]);
    run.ended(2)
        .said(&["the command failed with exit code 3", "never ended"]);
}

#[test]
fn a_command_that_fails_after_it_was_profiled() {
    let source = "// build: gcc -O1 -g fails_later.c\n__attribute__((noinline)) int work(int x) { for (volatile int i = 0; i < 1000; i++) {} return x + 1; }\n\
                  int main(void) { int x = 0; for (int i = 0; i < 3000; i++) x = work(x); return x == 3000 ? 7 : 9; }\n";
    let program = own_program("fails_later", source);
    let place = Place::new();
    let run = place
        .profile(&["--interval", "work"], &program, &[])
        .ended(1);
    run.said(&["failed with exit code 7"]);
    assert_eq!(place.json("run.json")["intervals_seen"], 3000);
}

/// `--json` takes a file when a program is profiled, and none when a recording is reported.
#[test]
fn a_report_as_json_goes_to_standard_output() {
    let place = Place::new();
    let words = ["out.json is no recording", "write --json=out.json"];
    let arguments = ["report", "run.keel", "--json", "out.json"];
    place.run(arguments).ended(2).said(&words);
}
