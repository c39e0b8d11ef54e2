//! The agent, and the programs that are run under it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

/// The agent: `EVENKEEL_AGENT`, or that of the profile under test, built once.
pub fn agent() -> &'static Path {
    static AGENT: OnceLock<PathBuf> = OnceLock::new();
    AGENT.get_or_init(|| {
        if let Some(path) = std::env::var_os("EVENKEEL_AGENT") {
            return PathBuf::from(path);
        }
        // The test itself lies in TARGET/PROFILE/deps.
        let own = std::env::current_exe().expect("a path");
        let beside = own.ancestors().nth(2).expect("a profile's directory");
        match beside.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => agent_of("dev", "debug"),
            Some(name) => agent_of(name, name),
        }
    })
}

/// The agent of a profile, built if necessary. It has a separate folder below the target directory.
pub fn agent_of(profile: &str, folder: &str) -> PathBuf {
    // TARGET/tmp.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("a target directory");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "-p", "evenkeel-agent"])
        .args(["--profile", profile, "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo runs");
    assert!(built.success());
    let agent = target.join(folder).join("libevenkeel_agent.so");
    assert!(agent.exists(), "{}", agent.display());
    agent
}

/// The executable of a program of `tests/programs`.
pub fn program(name: &str) -> PathBuf {
    program_of(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs"),
        name,
    )
}

/// The executable of a program of any folder.
pub fn program_of(sources: &Path, name: &str) -> PathBuf {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    let compiled = || compile(sources, name);
    built
        .entry(name.to_owned())
        .or_insert_with(compiled)
        .clone()
}

fn compile(sources: &Path, name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("waits");
    std::fs::create_dir_all(&directory).unwrap();
    let source = ["c", "cpp"]
        .map(|extension| sources.join(name).with_extension(extension))
        .into_iter()
        .find(|source| source.exists())
        .unwrap_or_else(|| panic!("there is no program {name}"));
    let cpp = source
        .extension()
        .is_some_and(|extension| extension == "cpp");
    let output = directory.join(name);
    let fresh = directory.join(format!("{name}.{}", std::process::id()));
    let compiled = Command::new(if cpp { "g++" } else { "gcc" })
        .args([
            "-O1",
            "-g",
            "-Wall",
            "-fno-inline",
            "-pthread",
            "-D_GNU_SOURCE",
        ])
        .args(cpp.then_some("-std=c++20"))
        .arg("-I")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include"))
        .arg(&source)
        .arg("-o")
        .arg(&fresh)
        .args(["-lrt", "-ldl"])
        .output()
        .expect("a compiler is installed");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    std::fs::rename(fresh, &output).unwrap();
    output.canonicalize().unwrap()
}
