//! The oldest compiler that `Cargo.toml` promises (`rust-version`) is not newer than what dependencies ask for. That our own
//! code keeps to it is seen by clippy's lint `incompatible_msrv`.

use std::process::Command;

use serde_json::Value;

/// "1.88" or "1.88.0" as numbers.
fn version(text: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = text.split('.').map(|part| part.parse().unwrap()).collect();
    numbers.resize(3, 0);
    numbers
}

#[test]
fn no_dependency_needs_a_newer_compiler() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ours = version(env!("CARGO_PKG_RUST_VERSION"));
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100);
    let newer: Vec<_> = packages
        .iter()
        .filter(|package| {
            let needed = package["rust_version"].as_str();
            needed.is_some_and(|needed| version(needed) > ours)
        })
        .map(|package| (&package["name"], &package["rust_version"]))
        .collect();
    assert!(newer.is_empty(), "{newer:?} need more than {ours:?}");
}
