//! The commands of the README and of the book do what they say: those that read recordings run on one, those that profile are
//! understood.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The README, and the book's pages.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut documents = vec![root.join("README.md")];
    pages_below(&root.join("docs/src"), &mut documents);
    documents
}

/// The pages in a folder and in those below it, in order of their names.
fn pages_below(folder: &Path, into: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            pages_below(&path, into);
        } else if path.extension().is_some_and(|kind| kind == "md") {
            into.push(path);
        }
    }
}

/// Their `$ evenkeel ...` lines.
fn commands() -> Vec<String> {
    let mut commands = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let lines = text
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("$ evenkeel "));
        commands.extend(lines.map(str::to_owned));
    }
    commands
}

/// Each page of the book is in its summary, and no link leads nowhere.
#[test]
fn documents_lead_to_each_other() {
    let documents = documents();
    let summary = documents
        .iter()
        .find(|document| document.ends_with("SUMMARY.md"))
        .expect("the book has a summary");
    let listed = std::fs::read_to_string(summary).unwrap();
    for document in &documents {
        let folder = document.parent().unwrap();
        if let Ok(page) = document.strip_prefix(summary.parent().unwrap()) {
            let page = page.to_str().unwrap();
            assert!(
                page == "SUMMARY.md" || listed.contains(&format!("({page})")),
                "{page} is not in the summary"
            );
        }
        for link in links(document) {
            let (page, section) = link.split_once('#').unwrap_or((&link, ""));
            let target = if page.is_empty() {
                document.clone()
            } else {
                folder.join(page)
            };
            assert!(target.exists(), "{link} in {}", document.display());
            let leads = section.is_empty() || sections(&target).iter().any(|one| one == section);
            assert!(leads, "no section {link} in {}", document.display());
        }
    }
}

/// Other documents of the repository: their links lead somewhere, too.
#[test]
fn documents_outside_of_the_book_lead_to_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut documents = Vec::new();
    for folder in ["", "docs", "docs/decisions"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        documents.extend(files.filter(|file| file.extension().is_some_and(|kind| kind == "md")));
    }
    for document in documents {
        for link in links(&document) {
            let page = link.split('#').next().unwrap();
            let leads = page.is_empty() || document.parent().unwrap().join(page).exists();
            assert!(leads, "{link} in {}", document.display());
        }
    }
}

/// A page of the built book can only lead to another one.
#[test]
fn pages_of_the_book_lead_to_no_file_outside_of_it() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src");
    let book = book.canonicalize().unwrap();
    for document in &documents()[1..] {
        for link in links(document) {
            let page = link.split('#').next().unwrap();
            let target = document.parent().unwrap().join(page).canonicalize();
            let inside = target.is_ok_and(|target| target.starts_with(&book));
            assert!(inside, "{link} in {}", document.display());
        }
    }
}

/// The links of a document that lead to files.
fn links(document: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(document).unwrap();
    let links = text.split("](").skip(1);
    let links = links.filter_map(|rest| rest.split(')').next());
    links
        .filter(|link| !link.starts_with("http"))
        .map(str::to_owned)
        .collect()
}

/// The names of a page's headings in links, as mdBook and GitHub make them.
fn sections(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let name = |heading: &str| -> String {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(name).collect()
}

#[test]
fn documents_that_everybody_reads_are_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    for (name, lines_max) in [("README.md", 150), ("CHANGELOG.md", 40)] {
        let lines = read(name).lines().count();
        assert!(lines <= lines_max, "{name} has {lines} lines");
    }
    let bytes = read("ARCHITECTURE.md").len();
    assert!(bytes <= 10_000, "ARCHITECTURE.md has {bytes} bytes");
}

/// The book's commands that make what a package holds, and the one that looks at the machine.
#[test]
fn commands_about_the_installation_work() {
    let lines = commands();
    for (command, shows) in [
        ("doctor", "attaching"),
        ("completions", "_evenkeel"),
        ("man", ".TH"),
    ] {
        let line = lines.iter().find(|line| line.starts_with(command));
        let line = line.unwrap_or_else(|| panic!("{command} is in no document: {lines:?}"));
        let folders = "mkdir -p .local/share/bash-completion/completions";
        let all = "cat .local/share/*/*/evenkeel* 2>/dev/null";
        let script = line.replace("~/", "./");
        let output = run_script(&format!(
            "{folders}; EVENKEEL {script} && {{ {all}; true; }}"
        ));
        let out = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && out.contains(shows),
            "{line}\n{out}"
        );
    }
}

/// Runs a command line through the shell, in a folder with recordings.
fn run(line: &str) -> Output {
    run_script(&format!("EVENKEEL {line}"))
}

/// Runs a script in which `EVENKEEL` is the command.
fn run_script(script: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let recordings =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../profiler/recording/tests/recordings");
    for (name, recording) in [
        ("before.keel", "postgres-transaction.keel"),
        ("after.keel", "postgres-transaction.keel"),
        ("waits.keel", "postgres-rows.keel"),
        ("before1.keel", "postgres-transaction.keel"),
        ("before2.keel", "postgres-transaction.keel"),
        ("before3.keel", "postgres-transaction.keel"),
        ("after1.keel", "postgres-transaction.keel"),
        ("after2.keel", "postgres-transaction.keel"),
        ("after3.keel", "postgres-transaction.keel"),
    ] {
        std::fs::copy(recordings.join(recording), folder.path().join(name)).unwrap();
    }
    let script = script.replace("EVENKEEL", env!("CARGO_BIN_EXE_evenkeel"));
    let mut command = Command::new("sh");
    command
        .args(["-c", &script])
        .current_dir(&folder)
        .env("EVENKEEL_AGENT", support::build::agent());
    command.output().unwrap()
}

#[test]
fn commands_on_recordings_work() {
    let lines = commands();
    let reading: Vec<&String> = lines
        .iter()
        .filter(|line| line.starts_with("report") || line.starts_with("compare"))
        .collect();
    assert!(reading.len() >= 2, "{lines:?}");
    for line in reading {
        // The recordings are of a stripped server, where another function is a finding.
        let output = run(&line.replace("XLogFlush", "pq_getbyte"));
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        // What the recordings are of.
        let is_theirs = out.contains("transaction") || out.contains("  statement  in ");
        assert!(output.status.success() && is_theirs, "{line}\n{out}\n{err}");
    }
}

/// They write what they were asked to, and say nothing.
#[test]
fn commands_that_export_work() {
    let lines = commands();
    let exporting: Vec<&String> = lines
        .iter()
        .filter(|line| line.starts_with("export") || line.starts_with("merge"))
        .collect();
    assert!(exporting.len() >= 2, "{lines:?}");
    for line in exporting {
        let (_, file) = line.split_once(" -o ").expect("a file to write");
        let output = run(&format!(
            "{line} && find {file} -type f -exec cat {{}} + | wc -c"
        ));
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        let bytes: Result<usize, _> = out.trim().parse();
        assert!(
            output.status.success() && bytes.is_ok_and(|bytes| bytes > 100),
            "{line}\n{out}\n{err}"
        );
    }
}

/// Their servers do not exist here, so they end with our own message about that, never with one about usage.
#[test]
fn commands_that_profile_are_understood() {
    let lines = commands();
    let profiling: Vec<&String> = lines
        .iter()
        .filter(|line| line.starts_with("profile"))
        .collect();
    assert!(profiling.len() >= 2, "{lines:?}");
    for line in profiling {
        let (options, command) = line.split_once(" -- ").expect("a command after --");
        let nowhere = command.replacen(command.split(' ').next().unwrap(), "./no-such-server", 1);
        let output = run(&format!("{options} -- {nowhere}"));
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(
            err.contains("cannot find the command ./no-such-server"),
            "{line}\n{err}"
        );
        assert_eq!(output.status.code(), Some(2));
    }
}

/// Their processes do not exist here.
#[test]
fn commands_that_attach_are_understood() {
    let lines = commands();
    let attaching: Vec<&String> = lines
        .iter()
        .filter(|line| line.starts_with("attach"))
        .collect();
    assert!(attaching.len() >= 2, "{lines:?}");
    for line in attaching {
        let nowhere = line
            .replace("--name postgres", &i32::MAX.to_string())
            .replace("--name java", &i32::MAX.to_string())
            .replace("4711", &i32::MAX.to_string());
        let output = run(&nowhere);
        let err = String::from_utf8_lossy(&output.stderr);
        // Nobody watches here.
        let why = if line.contains("--live") {
            "--live needs a terminal"
        } else {
            "there is no process"
        };
        assert!(err.contains(why), "{line}\n{err}");
        assert_eq!(output.status.code(), Some(2));
    }
}

/// Every schedule asked for has its line, and is compared with the baseline.
#[test]
fn commands_that_simulate_work() {
    let lines = commands();
    let simulating: Vec<&String> = lines
        .iter()
        .filter(|line| line.starts_with("simulate"))
        .collect();
    assert!(!simulating.is_empty(), "{lines:?}");
    for line in simulating {
        let output = run(line);
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(output.status.success(), "{line}\n{out}\n{err}");
        let (_, after) = line.split_once("--schedule ").expect("schedules by name");
        let names = after.split(' ').next().unwrap();
        for name in names.split(',') {
            let lines = out.lines().filter(|line| line.starts_with(name)).count();
            assert_eq!(lines, 2, "{name} in {line}\n{out}");
        }
    }
}
