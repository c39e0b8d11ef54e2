//! Every crate that knows the processor has a directory for each architecture, with the same files. That what is in them fits is
//! the compiler's to say: `scripts/check-aarch64.sh`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const FIRST: &str = "x86_64";

/// The sources of all crates of the profiler with a directory for the first architecture.
fn crates() -> Vec<PathBuf> {
    let profiler = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let entries = std::fs::read_dir(profiler).expect("the room is there");
    entries
        .map(|entry| entry.expect("it can be read").path().join("src"))
        .filter(|source| source.join(FIRST).is_dir())
        .collect()
}

/// The architectures among whose directories a crate chooses.
fn chosen(source: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(source.join("lib.rs")).expect("a crate has a lib.rs");
    let lines = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("#[cfg_attr(target_arch = \"")?;
        let (name, path) = rest.split_once("\", path = \"")?;
        (path == format!("{name}/mod.rs\")]")).then(|| name.to_owned())
    });
    lines.collect()
}

/// All that any of the crates knows.
fn architectures() -> BTreeSet<String> {
    let crates = crates();
    crates.iter().flat_map(|source| chosen(source)).collect()
}

/// Modules that a directory shows to the rest of its crate; what is private is its own affair.
fn interface(directory: &Path) -> BTreeSet<String> {
    let file = directory.join("mod.rs");
    let text = std::fs::read_to_string(&file);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let modules = text.lines().filter_map(|line| {
        let (visibility, name) = line.strip_suffix(';')?.split_once("mod ")?;
        visibility.starts_with("pub").then(|| name.to_owned())
    });
    modules.collect()
}

#[test]
fn every_architecture_mirrors_the_first() {
    let crates = crates();
    assert_eq!(
        crates.len(),
        5,
        "wire, patch, agent, symbols, attach: {crates:?}"
    );
    let architectures = architectures();
    assert!(architectures.contains(FIRST) && architectures.len() >= 2);
    for source in crates {
        let expected = interface(&source.join(FIRST));
        assert!(!expected.is_empty());
        assert_eq!(
            chosen(&source),
            architectures,
            "architectures that {}/lib.rs chooses among, and those of all crates together",
            source.display()
        );
        for other in &architectures {
            let directory = source.join(other);
            assert_eq!(
                interface(&directory),
                expected,
                "modules of {}, and of the first architecture's directory",
                directory.display()
            );
        }
    }
}

/// Outside of these directories nothing names an architecture but the line that chooses one.
#[test]
fn nothing_else_names_an_architecture() {
    let architectures = architectures();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pending = vec![workspace.join("cli/src")];
    for room in ["profiler", "engine", "bench"] {
        let crates = std::fs::read_dir(workspace.join(room)).expect("the room is there");
        let sources = crates.map(|entry| entry.expect("it can be read").path().join("src"));
        pending.extend(sources.filter(|source| source.is_dir()));
    }
    assert!(pending.len() > 20, "all rooms are looked at: {pending:?}");
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(&directory).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            if path.is_dir() && !architectures.contains(name) {
                pending.push(path);
            } else if name.ends_with(".rs") {
                let text = std::fs::read_to_string(&path).expect("it can be read");
                for line in text.lines().filter(|line| !line.contains("target_arch")) {
                    let named = ["x86_64::", "aarch64::", "asm!(", "R_X86_64", "iced_x86"]
                        .iter()
                        .find(|name| line.contains(*name));
                    assert_eq!(named, None, "{}: {line}", path.display());
                }
            }
        }
    }
}
