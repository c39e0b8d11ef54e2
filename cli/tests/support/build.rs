//! Building what is profiled with, and what is profiled.
//!
//! The agent is built once by `cargo build -p evenkeel-agent`, for the profile and into the directory of the `evenkeel` under
//! test. (In the dev profile the whole workspace has opt-level 1.) Programs are compiled as their `// build:` line says.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

/// The command under test.
pub const EVENKEEL: &str = env!("CARGO_BIN_EXE_evenkeel");

/// The agent's path: `EVENKEEL_AGENT`, or the one built next to the command.
pub fn agent() -> &'static Path {
    static AGENT: OnceLock<PathBuf> = OnceLock::new();
    AGENT.get_or_init(|| match std::env::var_os("EVENKEEL_AGENT") {
        Some(path) => PathBuf::from(path),
        None => build_agent(),
    })
}

fn build_agent() -> PathBuf {
    let agent = build(&["-p", "evenkeel-agent"]).join("libevenkeel_agent.so");
    assert!(agent.exists(), "cargo built {}", agent.display());
    agent
}

/// The executable of a package's example.
pub fn example(package: &str, name: &str) -> PathBuf {
    build(&["-p", package, "--example", name])
        .join("examples")
        .join(name)
}

/// Builds a package next to the command.
#[allow(dead_code)] // for the tests of what is installed
pub fn package(name: &str) {
    build(&["-p", name]);
}

/// Builds something next to the command with cargo; returns the directory.
fn build(what: &[&str]) -> &'static Path {
    // TARGET/PROFILE/evenkeel; the directory of the dev profile is called debug.
    let beside = Path::new(EVENKEEL)
        .parent()
        .expect("the command lies in a directory");
    let profile = match beside.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--profile", profile, "--target-dir"])
        .arg(beside.parent().expect("and that in the target directory"))
        .args(what)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(
        built.status.success(),
        "{what:?}: {}",
        String::from_utf8_lossy(&built.stderr)
    );
    beside
}

/// The folder of the known-answer programs.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../profiler/session/tests/programs")
}

/// The executable of a known-answer program, compiled when first asked for.
pub fn program(name: &str) -> PathBuf {
    once(&source(name), name)
}

/// Builds a program with further options of the compiler, which go last; `variant` distinguishes it from others.
#[allow(dead_code)] // not every test program builds one in several ways
pub fn program_with(name: &str, variant: &str, options: &[&str]) -> PathBuf {
    // The programs print their own name, and are recognised by it.
    let directory = out_directory().join(variant);
    std::fs::create_dir_all(&directory).unwrap();
    let whole = format!("{variant}/{name}");
    once_with(&source(name), &whole, options)
}

fn source(name: &str) -> PathBuf {
    let source = ["c", "cpp", "rs"]
        .map(|extension| sources().join(name).with_extension(extension))
        .into_iter()
        .find(|source| source.exists())
        .unwrap_or_else(|| panic!("there is no program {name}"));
    if name == "dlopen" {
        once(&sources().join("plugin.c"), "plugin.so");
    }
    source
}

/// A C program of a test's own.
pub fn own_program(name: &str, source: &str) -> PathBuf {
    let directory = out_directory().join("own");
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name).with_extension("c");
    // Another test may be reading it.
    if std::fs::read(&path).ok().as_deref() != Some(source.as_bytes()) {
        let thread = format!("{:?}", std::thread::current().id());
        let fresh = directory.join(format!("{name}.{}.{thread}", std::process::id()));
        std::fs::write(&fresh, source).unwrap();
        std::fs::rename(&fresh, &path).unwrap();
    }
    once(&path, name)
}

fn out_directory() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs")
}

fn once(source: &Path, name: &str) -> PathBuf {
    once_with(source, name, &[])
}

fn once_with(source: &Path, name: &str, options: &[&str]) -> PathBuf {
    static BUILT: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);
    let mut built = BUILT
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    built
        .get_or_insert_default()
        .entry(name.to_owned())
        .or_insert_with(|| compile(source, name, options))
        .clone()
}

/// Compiles `source` by its `// build:` line. The result is moved into place whole: another test binary may run the old.
fn compile(source: &Path, name: &str, options: &[&str]) -> PathBuf {
    std::fs::create_dir_all(out_directory()).unwrap();
    let text = std::fs::read_to_string(source).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("// build: "))
        .expect("a build line");
    let mut words: Vec<&str> = line.split_whitespace().collect();
    if let Some(at) = words.iter().position(|&word| word == "-o") {
        words.drain(at..at + 2);
    }
    let fresh = out_directory().join(format!("{name}.{}", std::process::id()));
    let compiled = Command::new(words[0])
        .args(&words[1..])
        .args(options)
        .arg("-o")
        .arg(&fresh)
        .current_dir(source.parent().unwrap())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", words[0]));
    assert!(
        compiled.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let path = out_directory().join(name);
    std::fs::rename(fresh, &path).unwrap();
    path
}
