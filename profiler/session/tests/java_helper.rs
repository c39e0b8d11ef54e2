//! The helper classes of the agent in a JVM are what their sources say; skipped where there is no JDK to compile them.

use std::path::{Path, PathBuf};
use std::process::Command;

use evenkeel_classfile::Class;

/// The shape of a class: each method with its descriptor and its callees.
fn shape(bytes: &[u8]) -> Vec<String> {
    let class = Class::read(bytes).expect("a class file");
    let methods = class.methods().map(|method| {
        let calls = method.call_sites().expect("its code can be read");
        let calls = calls.iter().map(|call| {
            let class = call.class.clone().unwrap_or_default();
            format!("{}.{}{}", class, call.method, call.descriptor)
        });
        let calls = calls.collect::<Vec<_>>().join(" ");
        let name = method.name().expect("its name");
        let descriptor = method.descriptor().expect("its descriptor");
        format!("{name}{descriptor}: {calls}")
    });
    methods.collect()
}

/// A compiler of a version from `oldest` on.
fn javac(oldest: u32) -> Option<PathBuf> {
    let set = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten();
    let homes = installed.filter_map(|entry| Some(entry.ok()?.path()));
    let mut compilers = set
        .into_iter()
        .chain(homes)
        .map(|home| home.join("bin/javac"));
    let is_new = |javac: &PathBuf| {
        let said = Command::new(javac).arg("-version").output().ok()?;
        let text = String::from_utf8(said.stdout).ok()?;
        let version = text.trim().strip_prefix("javac ")?.split('.').next()?;
        Some(version.parse::<u32>().ok()? >= oldest)
    };
    compilers.find(|javac| is_new(javac) == Some(true))
}

#[test]
fn helper_classes_are_what_their_sources_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/java/helper");
    for (name, target, oldest) in [("platform", "11", 11), ("virtual", "21", 21)] {
        let Some(javac) = javac(oldest) else {
            eprintln!("SKIPPED: THERE IS NO JDK {oldest} OR LATER: scripts/install.sh jvm");
            continue;
        };
        let out = tempfile::tempdir().expect("a directory");
        let compiled = Command::new(javac)
            .args(["-g:none", "-nowarn", "-source", target, "-target", target])
            .arg(format!(
                "--patch-module=java.base={}",
                folder.join(name).display()
            ))
            .arg("-d")
            .arg(out.path())
            .arg(folder.join(name).join("java/lang/EvenkeelProbe.java"))
            .output()
            .expect("javac runs");
        let said = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{said}");
        let fresh = std::fs::read(out.path().join("java/lang/EvenkeelProbe.class"));
        let kept = std::fs::read(folder.join(format!("{name}.class"))).expect("it is kept");
        assert_eq!(shape(&kept), shape(&fresh.expect("compiled")));
    }
}
