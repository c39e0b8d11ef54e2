//! JDKs of this machine, and what they do with classes before and after rewriting.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use evenkeel_classfile::{Class, Helper, Limits, MethodProbes, Plan, Rewritten};

/// The class of the probes (`tests/java/Probe.java`).
pub const HELPER: Helper<'static> = Helper {
    class: "evenkeel/Probe",
};

/// A JDK by its directory, which has `bin/java` and `bin/javac`.
pub struct Jdk(PathBuf);

/// All JDKs found: at `JAVA_HOME`, where Debian keeps them, and of the compiler on PATH. Prints a message if there is
/// none.
pub fn jdks() -> Vec<Jdk> {
    let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    homes.extend(
        std::fs::read_dir("/usr/lib/jvm")
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path()),
    );
    let path = std::env::var_os("PATH").unwrap_or_default();
    homes.extend(std::env::split_paths(&path).filter_map(|bin| {
        Some(
            bin.join("javac")
                .canonicalize()
                .ok()?
                .parent()?
                .parent()?
                .to_owned(),
        )
    }));
    let found: BTreeSet<PathBuf> = homes
        .into_iter()
        .filter(|home| home.join("bin/javac").is_file())
        .filter_map(|home| home.canonicalize().ok())
        .collect();
    if found.is_empty() {
        println!(
            "skipped: there is no JDK (JAVA_HOME, /usr/lib/jvm and PATH were searched for javac)"
        );
    }
    found.into_iter().map(Jdk).collect()
}

impl Jdk {
    pub fn name(&self) -> String {
        self.0.display().to_string()
    }

    /// Compiles sources into `classes`.
    pub fn compile(&self, sources: &[&Path], classes: &Path, options: &[&str]) {
        let mut javac = Command::new(self.0.join("bin/javac"));
        javac
            .args(options)
            .args(["-nowarn", "-g", "-d"])
            .arg(classes)
            .args(sources);
        let output = javac.output().expect("javac runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// `javap`'s listing of a class, with all its tables.
    pub fn list(&self, classes: &Path, class: &str) -> String {
        let mut javap = Command::new(self.0.join("bin/javap"));
        let output = javap
            .args(["-v", "-p", "-cp"])
            .arg(classes)
            .arg(class)
            .output()
            .expect("javap runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a class, with the probes in `helper` for the boot loader; the report of the probes goes to `helper/report`.
    pub fn run(
        &self,
        helper: &Path,
        classes: &Path,
        options: &[&str],
        main: &[&str],
    ) -> Result<String, String> {
        let mut java = Command::new(self.0.join("bin/java"));
        java.arg(format!("-Xbootclasspath/a:{}", helper.display()))
            .arg(format!(
                "-Devenkeel.probes={}",
                helper.join("report").display()
            ))
            .args(["-Xshare:auto", "-XX:+UseSerialGC"])
            .args(options)
            .arg("-cp")
            .arg(classes)
            .args(main);
        let output = java.output().expect("java runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(text(&output.stderr))
        }
    }
}

/// A source of `tests/java`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/java")
        .join(name)
}

/// Rewrites all classes of a directory, in place; `plan` says how. Returns what became of each.
pub fn rewrite(classes: &Path, plan: impl Fn(&Class<'_>) -> Plan) -> Vec<Rewritten> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(classes).expect("the directory is there") {
        let path = entry.expect("it can be read").path();
        if path
            .extension()
            .is_some_and(|extension| extension == "class")
        {
            let bytes = std::fs::read(&path).expect("it can be read");
            let class = Class::read(&bytes).expect("javac wrote it");
            assert_eq!(class.write(), bytes, "written as it was read");
            let rewritten = class.instrument(&plan(&class), &HELPER, &Limits::default());
            if let Some(class) = &rewritten.class {
                std::fs::write(&path, class).expect("it can be written");
            }
            all.push(rewritten);
        }
    }
    all
}

/// A probe at every call and in every body; `body` numbers the bodies by class and name.
pub fn everything(class: &Class<'_>, body: impl Fn(&str, &str) -> u32) -> Plan {
    let mut plan = Plan::default();
    for method in class.methods().filter(|method| method.has_code()) {
        let name = method.name().expect("the pool is fine");
        let sites = method.call_sites().expect("the code is fine");
        // Beyond the numbers that are counted one by one, and beyond what `sipush` can push.
        let calls = sites
            .iter()
            .map(|site| (site.pc, 40_000 + u32::from(site.pc)))
            .collect();
        plan.methods.insert(
            method.index(),
            MethodProbes {
                body: Some(body(&class.name(), &name)),
                calls,
                label: method.argument(0).expect("the descriptor is fine"),
            },
        );
    }
    plan
}
