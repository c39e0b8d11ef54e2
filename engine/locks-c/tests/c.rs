//! Compiles the C programs against the header and the static library, and runs them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The static library cargo built beside this test.
fn library() -> PathBuf {
    let deps = std::env::current_exe()
        .expect("a test knows its path")
        .parent()
        .expect("in deps")
        .to_owned();
    let newest = |directory: &Path| {
        let files = std::fs::read_dir(directory)
            .ok()?
            .filter_map(Result::ok)
            .map(|entry| entry.path());
        let library = |path: &PathBuf| {
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            name.starts_with("libevenkeel_locks_c") && name.ends_with(".a")
        };
        files
            .filter(library)
            .max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
    };
    newest(&deps)
        .or_else(|| newest(deps.parent()?))
        .expect("the static library was built")
}

fn compile_and_run(source: &str, arguments: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let program = directory.path().join("program");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let compiled = Command::new(compiler)
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-D_GNU_SOURCE",
            "-I",
        ])
        .arg(root.join("include"))
        .arg(root.join("engine/locks-c").join(source))
        .arg(library())
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output()
        .expect("a C compiler");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let run = Command::new(&program)
        .args(arguments)
        .output()
        .expect("the program starts");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    String::from_utf8(run.stdout).expect("text")
}

#[test]
fn the_interface_does_what_the_header_says() {
    assert_eq!(compile_and_run("tests/interface.c", &[]), "ok\n");
}

#[test]
fn the_key_value_store_conserves_its_sum() {
    for schedule in ["fifo", "vats", "ldsf"] {
        let printed = compile_and_run("examples/kv.c", &[schedule]);
        assert!(
            printed.ends_with("0 wrong audits, sum 64000\n"),
            "{printed}"
        );
    }
}
