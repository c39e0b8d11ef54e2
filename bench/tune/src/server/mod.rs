//! A server whose settings are changed and put back.
//!
//! Settings that can change at run time are set by SQL, and written down first. A private server gets settings that
//! need a restart as arguments. A server named by a URL needs a restart command, and has to be PostgreSQL, which
//! keeps settings in its own file.

mod effect;
mod mariadb;
mod postgres;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use evenkeel_drive::target::{Target, TextRow};

use crate::error::{During, Error};
use crate::journal::{Change, Journal};
use crate::knobs::{Needs, TargetKind, same_value};
use crate::race::NameAndValue;
use effect::{LIMITS, settle, until};

/// Time limit until a restarted server answers.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The server's state of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Its value.
    pub value: String,
    /// The value in the server's own configuration, which is changed.
    pub kept: Option<String>,
    /// The requirement of a change.
    pub needs: Needs,
    /// Why it cannot be changed, where it cannot.
    pub fixed: Option<String>,
}

/// Why settings do not hold.
#[derive(Debug)]
pub enum Failure {
    /// The server refuses them; they have been taken back.
    Refused(String),
    /// Nothing more can be done.
    Broken(Error),
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Broken(error.into())
    }
}

/// A PostgreSQL or MariaDB, with what was changed on it.
#[derive(Debug)]
pub struct Server {
    kind: TargetKind,
    /// States of the changeable settings.
    states: BTreeMap<String, State>,
    /// Settings that differ from those found.
    active: Vec<NameAndValue>,
    journal: Option<Journal>,
    /// Restarts a server that is not ours.
    restart_command: Option<String>,
}

impl Server {
    /// A server, asked for these settings.
    ///
    /// # Errors
    /// It does not answer, or the account may not change its settings.
    pub fn new(
        kind: TargetKind,
        target: &Target,
        is_private: bool,
        names: &[&str],
        restart_command: Option<String>,
    ) -> Result<Server, Error> {
        let mut states = match kind {
            TargetKind::Postgres => {
                postgres::check_rights(target)?;
                postgres::states(target, names, is_private)?
            }
            _ => {
                mariadb::check_rights(target)?;
                mariadb::states(target, names)?
            }
        };
        for state in states.values_mut() {
            if is_private || state.needs == Needs::Reload || state.fixed.is_some() {
                continue;
            }
            state.fixed = match (kind, &restart_command) {
                (TargetKind::Postgres, Some(_)) => None,
                (TargetKind::Postgres, None) => Some(
                    "needs a restart, which a server that is not ours gets only with --allow restart --restart-command COMMAND".to_owned(),
                ),
                _ => Some(
                    "needs a restart with a changed configuration file: try it on a private server (--target mariadb)".to_owned(),
                ),
            };
        }
        Ok(Server {
            kind,
            states,
            active: Vec::new(),
            journal: None,
            restart_command,
        })
    }

    /// The server's state of a setting; `None` if the setting does not exist.
    pub fn state(&self, name: &str) -> Option<&State> {
        self.states.get(name)
    }

    /// From now on what is changed is written down here before.
    pub fn keep(&mut self, journal: Journal) {
        self.journal = Some(journal);
    }

    /// Whether a change to these settings restarts the server.
    pub fn restarts(&self, settings: &[NameAndValue]) -> bool {
        self.restarting(settings) != self.restarting(&self.active)
    }

    /// The settings among these that need a restart.
    pub fn restarting(&self, settings: &[NameAndValue]) -> Vec<NameAndValue> {
        let needs = |(name, _): &&NameAndValue| {
            self.state(name)
                .is_some_and(|state| state.needs != Needs::Reload)
        };
        settings.iter().filter(needs).cloned().collect()
    }

    /// Sees to it that exactly these settings hold, beyond what was found; `restart`: with a fresh start in any case.
    ///
    /// # Errors
    /// [`Failure::Refused`], after which what was found holds.
    pub fn apply(
        &mut self,
        target: &mut Target,
        settings: &[NameAndValue],
        restart: bool,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        match self.try_apply(target, settings, restart, interrupted) {
            Err(Failure::Refused(why)) => match self.try_apply(target, &[], false, interrupted) {
                Ok(()) => Err(Failure::Refused(why)),
                Err(Failure::Refused(again)) => Err(Failure::Broken(Error::Setting(again))),
                Err(broken) => Err(broken),
            },
            other => other,
        }
    }

    fn try_apply(
        &mut self,
        target: &mut Target,
        settings: &[NameAndValue],
        restart: bool,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let must_restart = self.restarts(settings) || restart;
        let is_private = target.server().is_some();
        // A private server is given what needs a restart as arguments, and a restart forgets what was set on MariaDB while it ran.
        let by_sql = |server: &Server, settings: &[NameAndValue]| -> Vec<NameAndValue> {
            let restarting = server.restarting(settings);
            let own = |one: &&NameAndValue| !(is_private && restarting.contains(one));
            settings.iter().filter(own).cloned().collect()
        };
        let (wanted, mut active) = (by_sql(self, settings), by_sql(self, &self.active.clone()));
        if must_restart && self.kind == TargetKind::MariaDb {
            self.restart(target, settings, is_private)?;
            active.clear();
        }
        // Settings are active from now on: if setting them fails half-way, they are put back.
        self.active.extend(settings.iter().cloned());
        for (name, value) in &wanted {
            if !active.contains(&(name.clone(), value.clone())) {
                self.set(target, name, value)?;
            }
        }
        for (name, _) in &active {
            if !wanted.iter().any(|(other, _)| other == name) {
                self.unset(target, name)?;
            }
        }
        if self.kind == TargetKind::Postgres && wanted != active {
            target.rows("SELECT pg_reload_conf()")?;
        }
        if must_restart && self.kind == TargetKind::Postgres {
            self.restart(target, settings, is_private)?;
        }
        self.wait(target, settings, &active, interrupted)?;
        self.active = settings.to_vec();
        Ok(())
    }

    /// Puts everything back, and forgets that it was changed.
    ///
    /// # Errors
    /// [`Error::NotRestored`] says what is left to be put back, and where that is written down.
    pub fn restore(&mut self, target: &mut Target) -> Result<(), Error> {
        // A server that is stopped in a moment need not be put back, and one that cannot be asked cannot.
        let is_private = target.server().is_some();
        let restored = if is_private {
            Ok(())
        } else {
            // However often the user interrupts: only what is back is as it was found.
            self.apply(target, &[], false, &AtomicBool::new(false))
        };
        let reason = match restored {
            Ok(()) => return self.journal.take().map_or(Ok(()), Journal::end),
            Err(Failure::Refused(why)) => why,
            Err(Failure::Broken(error)) => error.to_string(),
        };
        Err(self.not_restored(reason))
    }

    /// An error that says that changes are still set, with the reason.
    pub fn not_restored(&self, reason: String) -> Error {
        let Some(journal) = &self.journal else {
            return Error::Setting(reason);
        };
        let before = |change: &Change| match &change.before {
            Some(before) => format!("{} (was {before})", change.name),
            None => format!("{} (was not set)", change.name),
        };
        let left: Vec<String> = journal.changes().iter().map(before).collect();
        Error::NotRestored {
            reason,
            left: if left.is_empty() {
                "no settings".to_owned()
            } else {
                left.join(", ")
            },
            journal: journal.path().to_owned(),
            target: journal.target().to_owned(),
        }
    }

    /// Keeps the current settings.
    ///
    /// # Errors
    /// The journal cannot be removed.
    pub fn leave(&mut self) -> Result<(), Error> {
        self.journal.take().map_or(Ok(()), Journal::end)
    }

    fn set(&mut self, target: &Target, name: &str, value: &str) -> Result<(), Failure> {
        self.note(name)?;
        let sql = match self.kind {
            TargetKind::Postgres => postgres::set(name, value),
            _ => mariadb::set(name, value),
        };
        asked(target, &sql).map(drop)
    }

    fn unset(&self, target: &Target, name: &str) -> Result<(), Failure> {
        let Some(state) = self.state(name) else {
            return Ok(());
        };
        asked(target, &put_back(self.kind, name, state.kept.as_deref())).map(drop)
    }

    fn note(&mut self, name: &str) -> Result<(), Error> {
        let (Some(journal), Some(state)) = (&mut self.journal, self.states.get(name)) else {
            return Ok(());
        };
        journal.note(&Change {
            name: name.to_owned(),
            before: state.kept.clone(),
            restart: state.needs != Needs::Reload,
        })
    }

    fn restart(
        &self,
        target: &mut Target,
        settings: &[NameAndValue],
        is_private: bool,
    ) -> Result<(), Failure> {
        if !is_private {
            return self.restart_by_command(target);
        }
        let arguments = self.restarting(settings);
        let mut server = target.server().expect("a private server");
        match server.restart_with(&arguments) {
            Ok(()) => Ok(()),
            Err(error) if arguments.is_empty() => Err(error.into()),
            Err(error) => {
                server.restart_with(&[])?;
                Err(Failure::Refused(last_words(&error.to_string())))
            }
        }
    }

    fn restart_by_command(&self, target: &Target) -> Result<(), Failure> {
        let Some(command) = &self.restart_command else {
            return Err(Error::Setting("the server would have to be restarted".to_owned()).into());
        };
        restart_by(command)?;
        let never = AtomicBool::new(false);
        let silent = until(START_LIMIT, &never, || {
            Ok(target.rows("SELECT 1").err().map(|error| error.to_string()))
        })?;
        match silent {
            None => Ok(()),
            Some(why) => Err(Failure::Broken(Error::Setting(format!(
                "the server does not answer after `{command}` ({why}); its log says why"
            )))),
        }
    }

    /// Waits until what was changed holds: a reload is noticed later, and a pool is resized in the background.
    fn wait(
        &self,
        target: &Target,
        settings: &[NameAndValue],
        before: &[NameAndValue],
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let is_back =
            |(name, _): &&NameAndValue| !settings.iter().any(|(wanted, _)| wanted == name);
        let found =
            |(name, _): &NameAndValue| Some((name.clone(), self.state(name)?.value.clone()));
        let found: Vec<NameAndValue> = before.iter().filter(is_back).filter_map(found).collect();
        settle(settings, &found, LIMITS, interrupted, |wanted| {
            self.differing(target, wanted)
        })
    }

    /// The first of some settings that has another value on the server, in words.
    fn differing(&self, target: &Target, wanted: &[NameAndValue]) -> Result<Option<String>, Error> {
        let names: Vec<&str> = wanted.iter().map(|(name, _)| name.as_str()).collect();
        let values = match self.kind {
            TargetKind::Postgres => postgres::values(target, &names)?,
            _ => mariadb::values(target, &names)?,
        };
        Ok(wanted.iter().find_map(|(name, value)| {
            let found = values.get(name)?;
            let holds = match self.kind {
                TargetKind::Postgres => {
                    same_value(found, value) || postgres::same(target, name, value, found)
                }
                _ => mariadb::same(found, value),
            };
            (!holds).then(|| format!("{name} stays {found} although it was set to {value}"))
        }))
    }
}

/// SQL that puts a setting back.
pub fn put_back(kind: TargetKind, name: &str, before: Option<&str>) -> String {
    match (kind, before) {
        (TargetKind::Postgres, Some(before)) => postgres::set(name, before),
        (TargetKind::Postgres, None) => postgres::reset(name),
        (_, before) => mariadb::set(name, before.unwrap_or("DEFAULT")),
    }
}

/// Runs the user's command that restarts the server.
///
/// # Errors
/// It fails.
pub fn restart_by(command: &str) -> Result<(), Error> {
    let output = Command::new("sh").args(["-c", command]).output();
    let output = output.during(|| format!("run `{command}`"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Setting(format!(
        "the command that restarts the server, `{command}`, failed ({}): {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}

/// Asks, and distinguishes what the server refuses from a server that is gone.
fn asked(target: &Target, sql: &str) -> Result<Vec<TextRow>, Failure> {
    target.rows(sql).map_err(|error| match error {
        evenkeel_drive::Error::Refused { reason, .. } => Failure::Refused(reason),
        other => Failure::Broken(other.into()),
    })
}

/// The line of a server's last words that says why it ended.
fn last_words(text: &str) -> String {
    let is_reason = |line: &&str| line.contains("FATAL") || line.contains("[ERROR]");
    let line = text.lines().find(is_reason).or_else(|| text.lines().last());
    line.unwrap_or(text).trim().to_owned()
}
