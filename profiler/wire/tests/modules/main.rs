//! Modules of a crate depend on each other in one direction only, in every crate of every room.

mod dependencies;
mod module;
mod tokens;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dependencies::{Circle, Sources, circles};

/// Circles that stay, each with its reason.
const ALLOWED: [(&str, &[&str], &str); 1] = [(
    "profiler/patch",
    &["arch/stubs", "arch/tls", "thread"],
    "assembly and the structure it addresses: a thread's block holds the addresses of the stubs, which work on the thread's block",
)];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All crates, as paths from the workspace.
fn crates() -> Vec<String> {
    let mut crates = vec!["cli".to_owned()];
    for room in ["profiler", "engine", "bench"] {
        for entry in std::fs::read_dir(workspace().join(room)).expect("the room is there") {
            let entry = entry.expect("it can be read");
            if entry.path().join("Cargo.toml").is_file() {
                crates.push(format!("{room}/{}", entry.file_name().display()));
            }
        }
    }
    crates
}

fn sources(directory: &Path) -> Sources {
    let mut sources = Sources::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in std::fs::read_dir(&next).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("it can be read");
                let below = path.strip_prefix(directory).expect("it lies below");
                sources.insert(below.to_owned(), text);
            }
        }
    }
    sources
}

#[test]
fn no_modules_depend_on_each_other() {
    let crates = crates();
    assert!(crates.len() > 20, "all rooms are looked at: {crates:?}");
    let mut found: BTreeSet<(String, Circle)> = BTreeSet::new();
    for name in crates {
        let sources = sources(&workspace().join(&name).join("src"));
        let roots = ["lib.rs", "main.rs"].into_iter();
        for root in roots.filter(|root| sources.contains_key(Path::new(root))) {
            found.extend(
                circles(&sources, root)
                    .into_iter()
                    .map(|c| (name.clone(), c)),
            );
        }
    }
    let allowed = ALLOWED.map(|(name, modules, _)| {
        let modules = modules.iter().map(|module| (*module).to_owned());
        (name.to_owned(), modules.collect())
    });
    assert_eq!(
        found,
        BTreeSet::from(allowed),
        "on the left what there is, on the right what is allowed: move the plain type that two modules share into a file below both \
         (ARCHITECTURE.md, \"Rules of dependency\")"
    );
}

/// The circles of a crate of these files.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let files = files
        .iter()
        .map(|&(file, text)| (file.into(), text.to_owned()));
    let found = circles(&files.collect(), "lib.rs").into_iter();
    found
        .map(|circle| circle.into_iter().collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn a_circle_is_seen_however_it_is_written() {
    let root = ("lib.rs", "mod a; mod b; pub use a::A; pub use b::*;");
    for (a, b) in [
        (
            "use crate::b::B; pub struct A;",
            "use crate::a::A; pub struct B;",
        ),
        ("pub struct A(super::b::B);", "pub struct B(super::a::A);"),
        (
            "use crate::{b::{B}}; pub struct A;",
            "use crate::A; pub struct B;",
        ),
        (
            "use crate::B; pub struct A;",
            "use super::A as X; pub struct B;",
        ),
        (
            "use crate::b; pub fn A() { b::B() }",
            "pub fn B() { crate::A() }",
        ),
    ] {
        let found = circles_of(&[root, ("a.rs", a), ("b.rs", b)]);
        assert_eq!(found, ["a b"], "{a} / {b}");
        let one_way = circles_of(&[root, ("a.rs", a), ("b.rs", "pub struct B;")]);
        assert_eq!(one_way, [""; 0], "{a}");
    }
}

/// `c` names nothing of `a` but what lies in a part of it, which names what `a` has.
#[test]
fn a_module_and_its_parts_are_one_but_two_parts_are_two() {
    let root = ("lib.rs", "mod a; mod c;");
    let a = ("a.rs", "mod x; mod y; use x::X; pub struct A;");
    let (x, y) = (
        ("a/x.rs", "use super::A; pub struct X;"),
        ("a/y.rs", "use super::A; use super::x::X; pub struct Y;"),
    );
    let c = ("c.rs", "use crate::a::x::X; pub struct C;");
    assert_eq!(circles_of(&[root, a, x, y, c]), [""; 0]);
    let x_of_y = ("a/x.rs", "use super::y::Y; pub struct X;");
    assert_eq!(circles_of(&[root, a, x_of_y, y, c]), ["a/x a/y"]);
    let a_of_c = (
        "a.rs",
        "mod x; mod y; use x::X; use crate::c::C; pub struct A;",
    );
    assert_eq!(circles_of(&[root, a_of_c, x, y, c]), ["a a/x c"]);
}

#[test]
fn tests_and_passing_on_make_no_dependency() {
    let root = ("lib.rs", "mod a; mod b;");
    let a = (
        "a/mod.rs",
        "mod x; pub use x::X; #[cfg(test)] mod tests { use crate::b::B; }",
    );
    let x = ("a/x.rs", "pub struct X;");
    let b = ("b.rs", "use crate::a::X; pub struct B;");
    assert_eq!(circles_of(&[root, a, x, b]), [""; 0]);
}
