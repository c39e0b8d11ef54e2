//! Java programs under test: JDKs of this machine, and jars that `scripts/install.sh jvm` has fetched.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::run::{Place, is_root};

/// The JDKs of this machine, each once. Without one these tests check nothing, and print so.
pub fn jdks() -> Vec<PathBuf> {
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

/// Compiles a program of `tests/java` with these classes and jars.
pub fn compile_with(place: &Place, jdk: &Path, source: &str, class_path: &str) {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java");
    let compiled = Command::new(jdk.join("bin/javac"))
        .args(["-g", "-nowarn", "-proc:none", "-d"])
        .arg(place.file("."))
        .args(["-cp", class_path, "-sourcepath"])
        .args([&sources, &sources.join(source)])
        .status();
    assert!(compiled.expect("javac runs").success());
}

/// The jars of a program of `scripts/jvm/subjects`, as a class path. Nothing where they were not fetched.
pub fn jars(subject: &str) -> Option<String> {
    let cache = match is_root() {
        true => PathBuf::from("/var/cache/evenkeel"),
        false => std::env::var_os("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?
            .join("evenkeel"),
    };
    let jars = cache.join("jvm").join(subject);
    jars.is_dir().then(|| format!("{}/*", jars.display()))
}

/// The major version of a JDK.
pub fn version(jdk: &Path) -> Option<u32> {
    let release = std::fs::read_to_string(jdk.join("release")).ok()?;
    let version = release
        .lines()
        .find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
    version.split(['.', '"', '-']).next()?.parse().ok()
}
