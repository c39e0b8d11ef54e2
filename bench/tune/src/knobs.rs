//! Knobs of a server: data, one file a server under `knobs/`.
//!
//! A value is text as the server takes it, `memory/N` (a part of the machine's memory, in the knob's unit), or `processors*N`.

use std::sync::LazyLock;

use evenkeel_drive::target::address::Address;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::machine::Machine;

static SERVERS: LazyLock<[Knobs; 3]> = LazyLock::new(|| {
    [
        include_str!("../knobs/postgresql.toml"),
        include_str!("../knobs/mariadb.toml"),
        include_str!("../knobs/store.toml"),
    ]
    .map(|text| toml::from_str(text).unwrap_or_else(|error| panic!("knobs: {error}")))
});

/// Which server's knobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB, or MySQL.
    MariaDb,
    /// The embedded store.
    Store,
}

/// Which server's knobs a target has.
///
/// # Errors
/// [`Error::Setting`] for SQLite, which has no known knob.
pub fn kind_of(target: &Address) -> Result<TargetKind, Error> {
    match target {
        Address::Embedded => Ok(TargetKind::Store),
        Address::Postgres | Address::PostgresAt(_) => Ok(TargetKind::Postgres),
        Address::MariaDb | Address::MariaDbRelease(_) | Address::MariaDbAt(_) => Ok(TargetKind::MariaDb),
        Address::Sqlite | Address::SqliteAt(_) => Err(Error::Setting(
            "no knobs of SQLite are known; tune takes embedded, postgres, mariadb, and URLs of these servers".to_owned(),
        )),
    }
}

/// Whether the target is a server that is not ours.
pub fn is_url(target: &Address) -> bool {
    matches!(target, Address::PostgresAt(_) | Address::MariaDbAt(_))
}

/// All knobs of a server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knobs {
    /// Its name.
    pub server: String,
    /// Settings that are never tried: name and reason.
    pub never: Vec<(String, String)>,
    /// Settings to try, the most promising first.
    #[serde(rename = "knob")]
    pub knobs: Vec<Knob>,
}

/// A setting with values to try.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knob {
    /// As the server calls it.
    pub name: String,
    values: Vec<String>,
    #[serde(default)]
    unit: Unit,
    /// Requirement of a change.
    pub needs: Needs,
    /// Its cost.
    pub class: Class,
    /// Its meaning.
    pub what: String,
}

/// The unit of a part of the memory.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
enum Unit {
    /// `64MB`.
    #[serde(rename = "MB")]
    Megabytes,
    /// The number of bytes.
    #[default]
    #[serde(rename = "bytes")]
    Bytes,
    /// The number of mebibytes.
    #[serde(rename = "MiB")]
    Mebibytes,
}

/// Requirement of a knob's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    /// It holds while the server runs.
    Reload,
    /// The server is restarted.
    Restart,
    /// The data is loaded again in a separate directory.
    NewData,
}

/// Cost of a knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Nothing that could be lost.
    Safe,
    /// Memory.
    Memory,
    /// Commits that were acknowledged are lost in a crash.
    Durability,
}

impl Needs {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Needs::Reload => "reload",
            Needs::Restart => "restart",
            Needs::NewData => "new data directory",
        }
    }
}

impl Class {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Class::Safe => "safe",
            Class::Memory => "costs memory",
            Class::Durability => "gives up durability",
        }
    }
}

impl TargetKind {
    /// Its knobs.
    pub fn knobs(self) -> &'static Knobs {
        &SERVERS[self as usize]
    }
}

impl Knob {
    /// The values to try on this machine.
    pub fn values(&self, machine: Machine) -> Vec<String> {
        let mut values: Vec<String> = Vec::new();
        for value in &self.values {
            let value = self.value(value, machine);
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    fn value(&self, text: &str, machine: Machine) -> String {
        let part = |prefix: &str| text.strip_prefix(prefix)?.parse::<u64>().ok();
        if let Some(part) = part("memory/") {
            let bytes = machine.memory_bytes / part.max(1);
            let mib = (bytes >> 20).max(1);
            return match self.unit {
                Unit::Megabytes => format!("{mib}MB"),
                Unit::Bytes => (mib << 20).to_string(),
                Unit::Mebibytes => mib.to_string(),
            };
        }
        match part("processors*") {
            Some(times) => (machine.processors * times).to_string(),
            None => text.to_owned(),
        }
    }
}

impl Knobs {
    /// The knobs of these names, in their order; all knobs without names.
    ///
    /// # Errors
    /// [`Error::Setting`] if one is not known, or is never tried.
    pub fn chosen(&self, names: &[String]) -> Result<Vec<&Knob>, Error> {
        if names.is_empty() {
            return Ok(self.knobs.iter().collect());
        }
        names.iter().map(|name| self.named(name)).collect()
    }

    fn named(&self, name: &str) -> Result<&Knob, Error> {
        if let Some((_, why)) = self.never.iter().find(|(never, _)| never == name) {
            return Err(Error::Setting(format!("{name} is never tried: {why}")));
        }
        let found = self.knobs.iter().find(|knob| knob.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.knobs.iter().map(|knob| knob.name.as_str()).collect();
            Error::Setting(format!(
                "no knob {name} of {}; there are {}",
                self.server,
                known.join(", ")
            ))
        })
    }
}

/// Whether two values are the same to a server: `16MB` and `16384kB`, `on` and `1`, `1s` and `1000ms`.
pub(crate) fn same_value(a: &str, b: &str) -> bool {
    let plain = |text: &str| match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" => "1".to_owned(),
        "off" | "false" | "no" => "0".to_owned(),
        other => other.to_owned(),
    };
    let (a, b) = (plain(a.trim()), plain(b.trim()));
    if a == b {
        return true;
    }
    match (quantity(&a), quantity(&b)) {
        // A number without a unit is in the setting's own, which is not known here: it equals no other but zero.
        (Some((x, Some(u))), Some((y, Some(v)))) => u == v && x == y,
        (Some((x, _)), Some((y, _))) if x == 0.0 || y == 0.0 => x == y,
        (Some((x, None)), Some((y, None))) => x == y,
        _ => false,
    }
}

/// A quantity in its base unit, with its kind; a bare number has none.
fn quantity(text: &str) -> Option<(f64, Option<char>)> {
    let digits = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'))
        .unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let (factor, of) = match text[digits..].trim() {
        "" => return Some((number, None)),
        "b" => (1.0, 'b'),
        "kb" => (1024.0, 'b'),
        "mb" => (1024f64.powi(2), 'b'),
        "gb" => (1024f64.powi(3), 'b'),
        "tb" => (1024f64.powi(4), 'b'),
        "us" => (1e-3, 't'),
        "ms" => (1.0, 't'),
        "s" => (1e3, 't'),
        "min" => (6e4, 't'),
        "h" => (3.6e6, 't'),
        "d" => (8.64e7, 't'),
        _ => return None,
    };
    Some((number * factor, Some(of)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine {
        memory_bytes: 8 << 30,
        processors: 4,
    };

    #[test]
    fn every_file_can_be_read_and_every_value_is_one() {
        for kind in [TargetKind::Postgres, TargetKind::MariaDb, TargetKind::Store] {
            let knobs = kind.knobs();
            assert!(!knobs.server.is_empty());
            for knob in &knobs.knobs {
                let values = knob.values(MACHINE);
                assert!(!values.is_empty() && !knob.what.is_empty(), "{}", knob.name);
                let unread = |value: &String| value.contains('/') || value.contains('*');
                assert!(!values.iter().any(unread), "{}: {values:?}", knob.name);
                let same = |other: &&Knob| other.name == knob.name;
                assert_eq!(knobs.knobs.iter().filter(same).count(), 1, "{}", knob.name);
            }
        }
    }

    #[test]
    fn values_follow_the_machine() {
        let values = |kind: TargetKind, name: &str| {
            let chosen = kind.knobs().chosen(&[name.to_owned()]).expect("a knob");
            chosen[0].values(MACHINE)
        };
        assert_eq!(
            values(TargetKind::Postgres, "shared_buffers"),
            ["512MB", "1024MB", "2048MB"]
        );
        assert_eq!(
            values(TargetKind::MariaDb, "innodb_buffer_pool_size")[0],
            (1u64 << 30).to_string()
        );
        assert_eq!(
            values(TargetKind::Store, "pool-mb"),
            ["512", "1024", "2048"]
        );
        assert_eq!(values(TargetKind::Store, "workers"), ["8", "16", "32"]);
    }

    #[test]
    fn unknown_and_excluded_knobs_are_refused_by_name() {
        let refused = |name: &str| {
            let chosen = TargetKind::Postgres.knobs().chosen(&[name.to_owned()]);
            chosen.expect_err("refused").to_string()
        };
        assert!(refused("shared_bufers").contains("there are shared_buffers"));
        assert!(refused("full_page_writes").contains("never"));
        let durability = |knob: &&Knob| knob.class == Class::Durability;
        let knobs = &TargetKind::Postgres.knobs().knobs;
        let given_up: Vec<&str> = knobs
            .iter()
            .filter(durability)
            .map(|knob| knob.name.as_str())
            .collect();
        assert_eq!(given_up, ["synchronous_commit"]);
    }

    #[test]
    fn values_that_are_the_same_to_a_server() {
        for (a, b) in [
            ("16MB", "16384kB"),
            ("on", "1"),
            ("OFF", "0"),
            ("1s", "1000ms"),
            ("0", "0ms"),
            ("0.50", "0.5"),
        ] {
            assert!(same_value(a, b) && same_value(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("16MB", "16ms"),
            ("on", "off"),
            ("1", "2"),
            ("5", "5ms"),
            ("fsync", "fdatasync"),
        ] {
            assert!(!same_value(a, b), "{a} {b}");
        }
    }
}
