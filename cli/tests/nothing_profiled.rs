//! Small programs where nothing is profiled, or not all: each message has the reason, which the profiler has checked.

mod support;

use std::path::Path;

use support::build::own_program;
use support::run::{Place, Run, finish, interrupted_once};

/// Programs that run until they are stopped.
const FOREVER: &str = "#include <stdint.h>\n#define FUNCTION __attribute__((noinline, noclone))\nvolatile uint64_t sink;\n";

/// Profiles a program for a while and gets nothing.
#[track_caller]
fn profiled(place: &Place, interval: &str, command: &[&str]) -> Run {
    let mut words = vec!["profile", "--interval", interval, "--for", "3s", "--"];
    words.extend(command);
    place.run(words).ended(2)
}

/// Compiles a shared library or a program in the test's own place.
#[track_caller]
fn compile(place: &Place, source: &str, arguments: &[&str]) {
    std::fs::write(place.file("source.c"), source).unwrap();
    let mut gcc = place.command("gcc");
    gcc.args(["-O1", "-g", "source.c"]).args(arguments);
    finish(gcc.spawn().unwrap()).ended(0);
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The function is only called with more arguments than the program gets; it counts until then.
fn busy() -> String {
    let program = own_program(
        "busy_elsewhere",
        &format!(
            "// build: gcc -O1 -g busy_elsewhere.c\n{FOREVER}FUNCTION void work(void) {{ sink++; }}\n\
             int main(int c, char **v) {{ (void)v; for (;;) {{ if (c > 5) work(); else sink++; }} }}\n"
        ),
    );
    text(&program).to_owned()
}

#[test]
fn a_busy_program_that_does_not_call_the_function() {
    let run = profiled(&Place::new(), "work", &[&busy()]);
    let run = run.said(&["nobody called it, in 1 process", "busy", "something else"]);
    assert!(!run.stderr.contains("under load"), "{}", run.stderr);
}

#[test]
fn an_idle_program() {
    let idle = own_program(
        "idle_server",
        "// build: gcc -O1 -g idle_server.c\n#include <unistd.h>\n\
         __attribute__((noinline)) void work(void) { sleep(1); }\n\
         int main(int c, char **v) { (void)v; for (;;) { if (c > 5) work(); pause(); } }\n",
    );
    let run = profiled(&Place::new(), "work", &[text(&idle)]);
    run.said(&["nobody called it", "were idle", "put them under load"]);
}

/// It has the function, and starts a tool that does not: the tool is no reason.
#[test]
fn a_program_that_starts_others() {
    let starts = own_program(
        "starts_others",
        "// build: gcc -O1 -g starts_others.c\n#include <stdlib.h>\n#include <unistd.h>\n\
         __attribute__((noinline)) void work(void) { sleep(1); }\n\
         int main(int c, char **v) { (void)v; for (;;) { if (c > 5) work(); if (system(\"sleep 0.5\")) return 1; } }\n",
    );
    let run = profiled(&Place::new(), "work", &[text(&starts)]);
    let run = run.said(&["nobody called it, in 1 process"]);
    assert!(
        !run.stderr.contains("no function is named"),
        "{}",
        run.stderr
    );
}

/// The message names the program, not the last tool that it started, and says where its names are.
#[test]
fn a_stripped_program_that_starts_others() {
    let place = Place::new();
    let program = "#include <stdlib.h>\nint main(void) { while (!system(\"sleep 0.5\")); }";
    compile(&place, program, &["-s", "-o", "stripped"]);
    let run = profiled(&place, "serve_client", &["./stripped"]);
    let is_about = |line: &&str| line.contains("stripped: no function is named serve_client");
    let last = run.stderr.lines().rev().find(is_about);
    let last = last.unwrap_or_else(|| panic!("{}", run.stderr));
    assert!(
        last.contains("nor is it in ") && last.contains("functions have no symbol"),
        "{last}"
    );
}

#[test]
fn a_misspelt_function_of_a_library() {
    let place = Place::new();
    let library = format!("{FOREVER}FUNCTION void alike_work(void) {{ sink++; }}\n");
    compile(&place, &library, &["-shared", "-fPIC", "-o", "libalike.so"]);
    let program = "void alike_work(void); int main(void) { for (;;) alike_work(); }";
    let here = format!("-Wl,-rpath,{}", text(&place.file("")));
    compile(&place, program, &["-o", "caller", "-L.", "-lalike", &here]);
    profiled(&place, "alike_wrk", &["./caller"])
        .said(&["did you mean --interval 'libalike.so!alike_work'?"]);
}

#[test]
fn a_function_of_a_library() {
    let place = Place::new();
    let library = format!("{FOREVER}FUNCTION void library_work(void) {{ sink++; }}\n");
    compile(&place, &library, &["-shared", "-fPIC", "-o", "libwork.so"]);
    let program = "void library_work(void); int main(void) { for (;;) library_work(); }";
    let here = format!("-Wl,-rpath,{}", text(&place.file("")));
    compile(&place, program, &["-o", "caller", "-L.", "-lwork", &here]);
    profiled(&place, "library_work", &["./caller"])
        .said(&["libwork.so has it", "--interval 'libwork.so!library_work'"]);
}

#[test]
fn a_wrapper_that_clears_the_environment() {
    let busy = busy();
    let run = profiled(&Place::new(), "work", &["env", "-i", &busy]);
    run.said(&[
        "busy_elsewhere runs without the agent",
        "cleared its environment",
        "LD_PRELOAD",
    ]);
}

#[test]
fn an_outermost_call_that_does_not_return() {
    let recursive = own_program(
        "recursive_loop",
        &format!(
            "// build: gcc -O1 -g recursive_loop.c\n{FOREVER}\
             FUNCTION void work(int n) {{ if (n > 0) {{ work(n - 1); sink++; }} else for (;;) sink++; }}\n\
             int main(void) {{ work(3); }}\n"
        ),
    );
    let run = profiled(&Place::new(), "work", &[text(&recursive)]);
    run.said(&[
        "one has begun and still runs",
        "calls itself",
        "outermost call",
        "CALLER>FUNCTION",
    ]);
}

#[test]
fn a_loop_that_does_not_end() {
    let program = own_program(
        "endless_loop",
        &format!(
            "// build: gcc -O1 -g endless_loop.c\n{FOREVER}\
             FUNCTION void serve(void) {{ for (;;) sink++; }}\n\
             int main(void) {{ serve(); }}\n"
        ),
    );
    let run = profiled(&Place::new(), "serve", &[text(&program)]);
    run.said(&["one has begun and still runs", "for each piece of work"]);
}

#[test]
fn a_library_opened_where_code_may_not_be_changed() {
    let place = Place::new();
    let library = format!("{FOREVER}FUNCTION void plugin_work(void) {{ sink++; }}\n");
    compile(&place, &library, &["-shared", "-fPIC", "-o", "late.so"]);
    let path = place.file("late.so");
    // PR_SET_MDWE with PR_MDWE_REFUSE_EXEC_GAIN.
    let program = format!(
        "#include <dlfcn.h>\n#include <stdio.h>\n#include <sys/prctl.h>\nint main(void) {{\n\
         if (prctl(65, 1, 0, 0, 0)) puts(\"refused\");\n\
         void *plugin = dlopen(\"{}\", RTLD_NOW);\n\
         void (*work)(void) = (void (*)(void))dlsym(plugin, \"plugin_work\"); for (;;) work(); }}",
        text(&path)
    );
    compile(&place, &program, &["-o", "sealed"]);
    let run = profiled(&place, "late.so!plugin_work", &["./sealed"]);
    assert_eq!(run.stdout, "", "the kernel knows PR_SET_MDWE (Linux 6.3)");
    run.said(&[
        "gave up the right to change its code",
        "MemoryDenyWriteExecute=no",
    ]);
}

/// The program calls a library and a copy of it in turn. Half of the calls are seen, and the report names the
/// library.
#[test]
fn a_library_that_is_loaded_twice() {
    let place = Place::new();
    let library = format!(
        "{FOREVER}FUNCTION void plugin_work(void) {{ for (int i = 0; i < 1000; i++) sink++; }}\n"
    );
    compile(
        &place,
        &library,
        &["-shared", "-fPIC", "-Wl,--build-id", "-o", "late.so"],
    );
    std::fs::copy(place.file("late.so"), place.file("copy.so")).unwrap();
    let program = "#include <dlfcn.h>\n\
         typedef void (*work)(void);\n\
         static work of(const char *path) { return (work)dlsym(dlopen(path, RTLD_NOW), \"plugin_work\"); }\n\
         int main(void) { work late = of(\"./late.so\"), copy = of(\"./copy.so\"); for (;;) { late(); copy(); } }\n";
    compile(&place, program, &["-o", "loads_twice"]);
    let run = place.run([
        "profile",
        "--interval",
        "late.so!plugin_work",
        "--for",
        "3s",
        "--json",
        "run.json",
        "--",
        "./loads_twice",
    ]);
    run.ended(0).said(&["late.so twice, or a copy of it"]);
    let warnings = place.json("run.json")["warnings"].to_string();
    assert!(warnings.contains("late.so twice"), "{warnings}");
}

/// Each interval begins on the first thread and ends on the second, which has begun none. No longjmp is to blame.
#[test]
fn intervals_that_end_on_another_thread() {
    let program = own_program(
        "ends_elsewhere",
        "// build: gcc -O1 -g -pthread ends_elsewhere.c\n#include <pthread.h>\n#include <sched.h>\n\
         static volatile int turn;\n\
         __attribute__((noinline)) void begin_work(void) { turn = 1; }\n\
         __attribute__((noinline)) void end_work(void) { turn = 0; }\n\
         static void *ends(void *none) { for (;;) { while (!turn) sched_yield(); end_work(); } return none; }\n\
         int main(void) { pthread_t thread; pthread_create(&thread, 0, ends, 0);\n\
         for (;;) { begin_work(); while (turn) sched_yield(); } }\n",
    );
    let run = profiled(&Place::new(), "begin_work..end_work", &[text(&program)]);
    let run = run.said(&["where none was open", "key=0:0"]);
    assert!(!run.stderr.contains("longjmp"), "{}", run.stderr);
}

/// A server that executes its own program with a clean environment, as nginx does to upgrade it: the new process is
/// not profiled.
#[test]
fn a_program_that_starts_itself_without_the_agent() {
    let renewed = own_program(
        "renewed",
        &format!(
            "// build: gcc -O1 -g renewed.c\n#include <unistd.h>\n{FOREVER}\
             FUNCTION void work(void) {{ for (int i = 0; i < 1000; i++) sink++; }}\n\
             int main(int c, char **v) {{\n\
             char *words[] = {{v[0], \"anew\", 0}}, *none[] = {{0}};\n\
             if (c == 1 && fork() == 0) {{ execve(v[0], words, none); _exit(1); }}\n\
             for (;;) work(); }}\n"
        ),
    );
    let place = Place::new();
    let options = ["--interval", "work", "--json", "run.json", "--"];
    let mut session = place.evenkeel(["profile"]);
    session.args(options).arg(&renewed);
    let said = |line: &str| line.contains("renewed runs without the agent");
    interrupted_once(session.spawn().unwrap(), said).said(&["cleared its environment"]);
    let warnings = place.json("run.json")["warnings"].to_string();
    assert!(
        warnings.contains("intervals are missing: ") && warnings.contains("renewed runs without"),
        "{warnings}"
    );
}
