//! Names and lines of a stripped program from its separate debug file.

mod fixture;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use evenkeel_symbols::{DebugNote, DebugSources, Debuginfod, Module};
use fixture::{Workshop, load, run};

/// A stripped program, and its debug file where nobody looks for it.
fn separate(workshop: &Workshop) -> (PathBuf, PathBuf) {
    let program = workshop.build(
        "split",
        &["one.c", "two.c"],
        &["-g", "-O1", "-Wl,--build-id"],
    );
    let debug = workshop.path("elsewhere.debug");
    let keep = ["--only-keep-debug", "--compress-debug-sections=zlib"];
    run(Command::new("objcopy").args(keep).arg(&program).arg(&debug));
    (workshop.strip(&program), debug)
}

fn rooted(root: &Path) -> DebugSources {
    DebugSources {
        roots: vec![root.to_owned()],
        debuginfod: None,
    }
}

/// The place of a debug file below a root.
fn place(root: &Path, build_id: &[u8]) -> PathBuf {
    let hex: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = root
        .join(".build-id")
        .join(&hex[..2])
        .join(format!("{}.debug", &hex[2..]));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    path
}

fn assert_has_names(module: &Module) {
    let helper = module.find("two.c:helper").unwrap();
    assert_eq!(module.name(helper), "helper");
    let line = module.line(module.find("two").unwrap()).unwrap();
    assert_eq!(
        (line.file.ends_with("two.c"), line.line),
        (true, 7),
        "{line:?}"
    );
    // Its first instruction is that of a function inlined into it.
    let line = module.line(helper).unwrap();
    assert_eq!(
        (line.file.ends_with("inline.h"), line.line),
        (true, 4),
        "{line:?}"
    );
}

#[test]
fn by_build_id() {
    let workshop = Workshop::new();
    let (program, debug) = separate(&workshop);
    let bare = load(&program);
    assert!(
        bare.find("helper").is_err() && bare.debug_file().is_none() && bare.line(0x1000).is_none()
    );
    let root = workshop.path("root");
    let path = place(&root, bare.build_id());
    std::fs::copy(debug, &path).unwrap();
    let module = Module::load(&program, &rooted(&root)).unwrap();
    assert_eq!(module.debug_file(), Some(&*path));
    assert_has_names(&module);
}

#[test]
fn a_debug_file_of_another_build_is_left_out() {
    let workshop = Workshop::new();
    let (program, _) = separate(&workshop);
    let other = workshop.build("other", &["graph.c"], &["-g", "-Wl,--build-id"]);
    let root = workshop.path("root");
    let path = place(&root, load(&program).build_id());
    std::fs::copy(other, &path).unwrap();
    let module = Module::load(&program, &rooted(&root)).unwrap();
    assert_eq!(module.notes(), [DebugNote::OtherBuild { path }]);
    assert!(module.find("helper").is_err());
}

#[test]
fn by_link_with_its_checksum() {
    let workshop = Workshop::new();
    let (program, debug) = separate(&workshop);
    let linked = workshop.path("linked");
    let link = format!("--add-gnu-debuglink={}", debug.display());
    run(Command::new("objcopy").arg(link).arg(&program).arg(&linked));
    // In the program's directory.
    assert_has_names(&load(&linked));
    // In .debug there.
    let below = workshop.path(".debug");
    std::fs::create_dir(&below).unwrap();
    std::fs::rename(&debug, below.join("elsewhere.debug")).unwrap();
    assert_has_names(&load(&linked));
    // Below a root, in the directory of the program.
    let root = workshop.path("root");
    let directory = std::fs::canonicalize(&linked)
        .unwrap()
        .parent()
        .unwrap()
        .to_owned();
    let place = root.join(directory.strip_prefix("/").unwrap());
    std::fs::create_dir_all(&place).unwrap();
    std::fs::rename(below.join("elsewhere.debug"), place.join("elsewhere.debug")).unwrap();
    assert!(load(&linked).find("two").is_err());
    assert_has_names(&Module::load(&linked, &rooted(&root)).unwrap());
    // A changed file no longer has the checksum.
    let path = place.join("elsewhere.debug");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.push(0);
    std::fs::write(&path, bytes).unwrap();
    let module = Module::load(&linked, &rooted(&root)).unwrap();
    assert_eq!(module.notes(), [DebugNote::OtherBuild { path }]);
}

/// A stripped program that carries its symbols as Fedora's do: `.gnu_debugdata`, with what xz compressed.
fn with_symbols_within(workshop: &Workshop, contents: &Path) -> PathBuf {
    let program = workshop.build("bare", &["one.c", "two.c"], &["-O1", "-Wl,--build-id"]);
    let bare = workshop.strip(&program);
    let carrying = workshop.path("carrying");
    let section = format!("--add-section=.gnu_debugdata={}", contents.display());
    run(Command::new("objcopy")
        .arg(section)
        .arg(bare)
        .arg(&carrying));
    carrying
}

fn symbols_alone(workshop: &Workshop) -> PathBuf {
    let program = workshop.build("whole", &["one.c", "two.c"], &["-O1", "-Wl,--build-id"]);
    let symbols = workshop.path("symbols");
    let keep = ["--only-keep-debug", "--strip-debug"];
    run(Command::new("objcopy")
        .args(keep)
        .arg(&program)
        .arg(&symbols));
    run(Command::new("xz").arg(&symbols));
    workshop.path("symbols.xz")
}

#[test]
fn symbols_that_the_file_carries_itself() {
    let workshop = Workshop::new();
    let module = load(&with_symbols_within(&workshop, &symbols_alone(&workshop)));
    assert_eq!(module.notes(), []);
    // One in each source file.
    let helpers = module.functions().iter();
    let helpers = helpers.filter(|function| module.name(function.entry) == "helper");
    assert_eq!(helpers.count(), 2);
    assert!(module.debug_file().is_none());
}

#[test]
fn carried_symbols_that_are_cut_off_are_said() {
    let workshop = Workshop::new();
    let whole = std::fs::read(symbols_alone(&workshop)).unwrap();
    let part = workshop.path("part.xz");
    std::fs::write(&part, &whole[..whole.len() / 2]).unwrap();
    let carrying = with_symbols_within(&workshop, &part);
    let module = load(&carrying);
    let [DebugNote::UnusableSection { path, .. }] = module.notes() else {
        panic!("{:?}", module.notes())
    };
    assert_eq!(*path, carrying);
    assert!(module.find("helper").is_err());
}

/// A client that is a script. Another process writes it: a child that another test has just forked may still have a
/// file of this process open for writing, and then the file cannot be executed.
fn client(workshop: &Workshop, script: &str, limit: Duration) -> DebugSources {
    let (text, program) = (
        workshop.path("script.txt"),
        workshop.path("debuginfod-find"),
    );
    std::fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
    run(Command::new("install")
        .args(["-m", "755"])
        .arg(&text)
        .arg(&program));
    DebugSources {
        roots: Vec::new(),
        debuginfod: Some(Debuginfod { program, limit }),
    }
}

#[test]
fn from_a_debuginfod_client() {
    let workshop = Workshop::new();
    let (program, debug) = separate(&workshop);
    let long = Duration::from_secs(600);
    let script = format!(
        "[ \"$1\" = debuginfo ] && [ ${{#2}} = 40 ] && echo {}",
        debug.display()
    );
    assert_has_names(&Module::load(&program, &client(&workshop, &script, long)).unwrap());

    let note =
        |sources: &DebugSources| Module::load(&program, sources).unwrap().notes()[0].to_string();
    assert!(note(&client(&workshop, "exit 1", long)).contains("do not have this build"));
    assert!(note(&client(&workshop, "exec sleep 600", Duration::ZERO)).contains("no answer"));
    let missing = Debuginfod {
        program: workshop.path("missing"),
        limit: long,
    };
    let missing = DebugSources {
        roots: Vec::new(),
        debuginfod: Some(missing),
    };
    assert!(note(&missing).contains("install it"));
}
