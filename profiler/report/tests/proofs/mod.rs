//! Profiles of reproduced problems, with the patterns that fire on them: what proves a pattern.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::path::{Path, PathBuf};

use evenkeel_analysis::findings::Finding;
use evenkeel_analysis::profile::{Class, Machine, Node, Profile};
use evenkeel_report::advice::{self, Server};
use serde::Deserialize;

/// Recordings, with the patterns that fire on them.
pub const RECORDINGS: [(&str, &str, &[&str]); 9] = [
    (
        "postgres-transaction.keel",
        "PostgreSQL",
        &["the client's time"],
    ),
    ("postgres-rows.keel", "PostgreSQL", &["processors"]),
    (
        "postgres-owners.keel",
        "PostgreSQL",
        &["contended rows", "processors", "writing rows"],
    ),
    ("mariadb-rows.keel", "MariaDB", &["waiting for the flush"]),
    ("apache-request.keel", "Apache", &["a handler that waits"]),
    ("nginx-request.keel", "nginx", &["its turn"]),
    ("redis-keys.keel", "Redis", &["commands over many elements"]),
    ("redis-command.keel", "Redis", &[]),
    ("memcached-event.keel", "memcached", &[]),
];

/// Findings of a profile.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The reproduced cause, and how.
    pub about: String,
    pub target: String,
    /// The pattern that is the first or the second finding's; none where nothing may be advised.
    pub expected: Option<String>,
    /// Others that are right as well.
    #[serde(default)]
    pub also: Vec<String>,
    pub intervals: u64,
    pub mean_ns: f64,
    pub machine: Option<Machine>,
    #[serde(default)]
    pub classes: Vec<Class>,
    /// Functions in the tree.
    #[serde(default)]
    pub functions: Vec<String>,
    pub findings: Vec<Finding>,
}

impl Case {
    /// The profile, as far as patterns look at it.
    pub fn profile(&self) -> Profile {
        let node = |name: &String| Node {
            name: name.clone(),
            ..Node::default()
        };
        let mut profile = Profile {
            target: self.target.clone(),
            intervals: self.classes.iter().map(|class| class.intervals).sum(),
            intervals_seen: self.intervals,
            mean_ns: self.mean_ns,
            findings: self.findings.clone(),
            tree: Node {
                children: self.functions.iter().map(node).collect(),
                ..Node::default()
            },
            ..Profile::default()
        };
        profile.details.machine = self.machine;
        profile.classes.classes.clone_from(&self.classes);
        profile
    }
}

/// All of them, with their files.
pub fn cases() -> Vec<(PathBuf, Case)> {
    // `scripts/test-advice.sh` sets the variable.
    let recorded = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/patterns");
    let directory = std::env::var_os("EVENKEEL_PATTERNS").map_or_else(recorded, PathBuf::from);
    let files = std::fs::read_dir(directory).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let is_case = |path: &PathBuf| path.extension().is_some_and(|it| it == "json");
    let mut paths: Vec<PathBuf> = paths.filter(is_case).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let case = serde_json::from_str(&text);
        let case = case.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, case)
    };
    paths.into_iter().map(read).collect()
}

/// The server that a command runs.
pub fn server_of(target: &str) -> &'static Server {
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
