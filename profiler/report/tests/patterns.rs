//! Every pattern of advice beside profiles of its problem, and of others: it fires there, and nowhere else.
//!
//! `patterns/*.json` are findings of profiles of reproduced problems, without what the advice added (`scripts/pattern-case.py` makes one of a
//! report's JSON). Recordings are replayed. Each says which patterns fire, and which of them is first or second.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use evenkeel_analysis::Options;
use evenkeel_analysis::findings::Finding;
use evenkeel_analysis::profile::{Class, Machine, Node, Profile};
use evenkeel_recording::Replay;
use evenkeel_report::advice::{self, Server};
use serde::Deserialize;

/// Recordings, with the patterns that fire on them.
const RECORDINGS: [(&str, &str, &[&str]); 9] = [
    (
        "postgres-transaction.keel",
        "PostgreSQL",
        &["the client's time"],
    ),
    ("postgres-rows.keel", "PostgreSQL", &["processors"]),
    (
        "postgres-owners.keel",
        "PostgreSQL",
        &["contended rows", "processors"],
    ),
    ("mariadb-rows.keel", "MariaDB", &["commit's flush"]),
    ("apache-request.keel", "Apache", &["a handler that waits"]),
    ("nginx-request.keel", "nginx", &["its turn"]),
    ("redis-keys.keel", "Redis", &["commands over many elements"]),
    ("redis-command.keel", "Redis", &[]),
    ("memcached-event.keel", "memcached", &[]),
];

/// Findings of a profile.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// The reproduced cause, and how.
    about: String,
    target: String,
    /// The pattern that is the first or the second finding's; none where nothing may be advised.
    expected: Option<String>,
    /// Others that are right as well.
    #[serde(default)]
    also: Vec<String>,
    intervals: u64,
    mean_ns: f64,
    machine: Option<Machine>,
    #[serde(default)]
    classes: Vec<Class>,
    /// Functions in the tree.
    #[serde(default)]
    functions: Vec<String>,
    findings: Vec<Finding>,
}

impl Case {
    fn profile(&self) -> Profile {
        let node = |name: &String| Node {
            name: name.clone(),
            ..Node::default()
        };
        let mut profile = Profile {
            target: self.target.clone(),
            intervals: self.intervals,
            intervals_seen: self.intervals,
            mean_ns: self.mean_ns,
            machine: self.machine,
            findings: self.findings.clone(),
            tree: Node {
                children: self.functions.iter().map(node).collect(),
                ..Node::default()
            },
            ..Profile::default()
        };
        profile.classes.classes.clone_from(&self.classes);
        profile
    }
}

fn cases() -> Vec<(PathBuf, Case)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/patterns");
    let files = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let case = serde_json::from_str(&text);
        let case = case.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, case)
    };
    paths.into_iter().map(read).collect()
}

fn server_of(target: &str) -> &'static Server {
    // A process that is attached to may have its title in front: "nginx: master process nginx".
    let runs = |server: &&Server| {
        let mut words = target.split_whitespace();
        words.any(|word| {
            let program = word.rsplit('/').next().unwrap_or_default();
            server.programs.iter().any(|known| known == program)
        })
    };
    let found = advice::servers().iter().find(runs);
    found.unwrap_or_else(|| panic!("{target} is no server"))
}

/// Names of the patterns of a profile's findings, in their order.
fn fired(server: &'static Server, profile: &Profile) -> Vec<Option<&'static str>> {
    let pattern = |finding: &Finding| {
        let pattern = server.pattern(profile, finding)?;
        Some(pattern.name.as_str())
    };
    profile.findings.iter().map(pattern).collect()
}

#[test]
fn a_pattern_fires_on_its_problem_and_on_no_other() {
    for (path, case) in cases() {
        let at = format!("{} ({})", path.display(), case.about);
        let fired = fired(server_of(&case.target), &case.profile());
        let allowed: BTreeSet<&str> = case
            .expected
            .iter()
            .chain(&case.also)
            .map(String::as_str)
            .collect();
        for name in fired.iter().flatten() {
            assert!(allowed.contains(name), "{name} fires in {at}");
        }
        if let Some(expected) = case.expected.as_deref() {
            let first = fired.iter().take(2).flatten().any(|name| *name == expected);
            assert!(
                first,
                "{expected} is not first or second in {at}: {fired:?}"
            );
        }
    }
}

#[test]
fn patterns_of_recordings() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recording/tests/recordings");
    let mut wrong = Vec::new();
    for (name, server, expected) in RECORDINGS {
        let replayed = Replay::open(&recordings.join(name)).unwrap().run().unwrap();
        let profile = replayed.profile(&Options::default());
        let mut servers = advice::servers().iter();
        let server = servers.find(|known| known.server == server).unwrap();
        let fired: BTreeSet<&str> = fired(server, &profile).into_iter().flatten().collect();
        let expected: BTreeSet<&str> = expected.iter().copied().collect();
        if fired != expected {
            wrong.push((name, fired, expected));
        }
    }
    assert!(wrong.is_empty(), "fired, and expected: {wrong:#?}");
}
