//! What is known of servers: what a finding means in the server's own terms, and what helps.
//!
//! The knowledge is data, a file a server under `advice/`. A pattern lists functions; a finding whose function is one of
//! them, called by one of `called_by` and of one of `kinds` where the pattern demands it, has the pattern's meaning and advice. The first
//! that fits wins; where none does, nothing is said. Names are compared without parameters and the compiler's endings.

use std::sync::LazyLock;

use evenkeel_analysis::findings::plumbing::base;
use evenkeel_analysis::findings::{Advice, Finding};
use evenkeel_analysis::profile::Profile;
use evenkeel_analysis::sites::Kind;
use serde::Deserialize;

/// Words of the command among which the server's program is looked for: others may stand in front of it.
const WORDS_MAX: usize = 8;

/// The files, by their name.
const FILES: [(&str, &str); 6] = [
    ("apache.toml", include_str!("../advice/apache.toml")),
    ("mariadb.toml", include_str!("../advice/mariadb.toml")),
    ("memcached.toml", include_str!("../advice/memcached.toml")),
    ("nginx.toml", include_str!("../advice/nginx.toml")),
    ("postgresql.toml", include_str!("../advice/postgresql.toml")),
    ("redis.toml", include_str!("../advice/redis.toml")),
];

static SERVERS: LazyLock<Vec<Server>> = LazyLock::new(|| {
    let parsed = FILES
        .iter()
        .map(|(name, text)| toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}")));
    parsed.collect()
});

/// What is known of one server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Its name.
    pub server: String,
    /// File names of its program.
    pub programs: Vec<String>,
    /// What those do who are waited for.
    #[serde(default, rename = "activity")]
    pub activities: Vec<Activity>,
    /// Patterns of findings, the most special first.
    #[serde(rename = "pattern")]
    pub patterns: Vec<Pattern>,
}

/// What somebody does who has one of these functions open.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Activity {
    /// The functions.
    pub functions: Vec<String>,
    /// Behind "the owner meanwhile".
    pub says: String,
}

/// A pattern of findings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// What to call it.
    pub name: String,
    /// The finding's function is one of these.
    pub functions: Vec<String>,
    /// It is called by one of these; by any where there are none.
    #[serde(default)]
    pub called_by: Vec<String>,
    /// It is of one of these kinds; of any where there are none.
    #[serde(default)]
    pub kinds: Vec<Kind>,
    /// What it means, a sentence without its end.
    pub means: String,
    /// Whoever is waited for owns something: what the owner does meanwhile is said.
    #[serde(default)]
    pub owner: bool,
    /// Settings of the server that may help, the best first, as `evenkeel tune` knows them.
    #[serde(default)]
    pub knobs: Vec<String>,
    /// What helps, the best first.
    pub advice: Vec<Advice>,
}

impl Pattern {
    /// Whether a finding is one of these.
    pub fn fits(&self, finding: &Finding) -> bool {
        let has = |names: &[String], name: &str| names.iter().any(|known| known == base(name));
        let caller = finding.called_by.as_deref();
        has(&self.functions, &finding.function)
            && (self.called_by.is_empty()
                || caller.is_some_and(|caller| has(&self.called_by, caller)))
            && (self.kinds.is_empty() || self.kinds.contains(&finding.kind))
    }
}

impl Server {
    /// The pattern of a finding.
    pub fn pattern(&self, finding: &Finding) -> Option<&Pattern> {
        self.patterns.iter().find(|pattern| pattern.fits(finding))
    }

    /// What the finding means, with what the owner does meanwhile.
    fn means(&self, pattern: &Pattern, finding: &Finding) -> String {
        let meanwhile = finding.meanwhile.as_ref().filter(|_| pattern.owner);
        let activity = meanwhile.and_then(|meanwhile| {
            let name = base(&meanwhile.function);
            let does = |activity: &&Activity| activity.functions.iter().any(|known| known == name);
            Some((self.activities.iter().find(does)?, name))
        });
        match activity {
            Some((activity, name)) => {
                format!(
                    "{}; the owner meanwhile {} ({name})",
                    pattern.means, activity.says
                )
            }
            None => pattern.means.clone(),
        }
    }
}

/// All servers of which something is known.
pub fn servers() -> &'static [Server] {
    &SERVERS
}

/// The server that a command runs, as far as it is known.
pub(crate) fn server_of(target: &str) -> Option<&'static Server> {
    let words = target.split_whitespace().take(WORDS_MAX);
    let mut programs = words.map(|word| word.rsplit('/').next().unwrap_or(word));
    programs.find_map(|program| {
        let runs = |server: &&Server| server.programs.iter().any(|known| known == program);
        servers().iter().find(runs)
    })
}

/// The settings that a profile's findings point at, those of the largest finding first.
pub fn knobs(profile: &Profile) -> Vec<&'static str> {
    let Some(server) = server_of(&profile.target) else {
        return Vec::new();
    };
    let patterns = profile
        .findings
        .iter()
        .filter_map(|finding| server.pattern(finding));
    let mut knobs: Vec<&str> = Vec::new();
    for knob in patterns.flat_map(|pattern| &pattern.knobs) {
        if !knobs.contains(&knob.as_str()) {
            knobs.push(knob);
        }
    }
    knobs
}

/// Adds to each finding what it means and what helps, where its server and its pattern are known.
pub fn add(profile: &mut Profile) {
    let Some(server) = server_of(&profile.target) else {
        return;
    };
    for finding in &mut profile.findings {
        if let Some(pattern) = server.pattern(finding) {
            finding.means = Some(server.means(pattern, finding));
            finding.advice.clone_from(&pattern.advice);
        }
    }
}
