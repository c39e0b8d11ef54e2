//! PostgreSQL's settings: `ALTER SYSTEM`, which writes them to a file of the server's own, and a reload.

use std::collections::BTreeMap;

use evenkeel_drive::target::Target;

use super::State;
use crate::error::Error;
use crate::knobs::{Needs, same_value};

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn list(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    names.join(", ")
}

/// `ALTER SYSTEM` needs a superuser.
pub(super) fn check_rights(target: &Target) -> Result<(), Error> {
    let rows = target.rows("SELECT current_user, current_setting('is_superuser')")?;
    let field = |at: usize| {
        rows.first()
            .and_then(|row| row.get(at)?.clone())
            .unwrap_or_default()
    };
    if field(1) == "on" {
        return Ok(());
    }
    Err(Error::NoRights {
        user: field(0),
        target: target.name().to_owned(),
        reason: "ALTER SYSTEM is for superusers".to_owned(),
        remedy: "connect as one, such as postgres",
    })
}

/// The server's state of these settings.
pub(super) fn states(
    target: &Target,
    names: &[&str],
    is_private: bool,
) -> Result<BTreeMap<String, State>, Error> {
    let kept = target.rows(
        "SELECT name, setting FROM pg_file_settings WHERE sourcefile LIKE '%/postgresql.auto.conf' ORDER BY seqno",
    )?;
    let kept: BTreeMap<String, Option<String>> = kept.into_iter().filter_map(pair).collect();
    let rows = target.rows(&format!(
        "SELECT name, current_setting(name), context, source FROM pg_settings WHERE name IN ({})",
        list(names)
    ))?;
    let states = rows.into_iter().filter_map(|row| {
        let [name, value, context, source] = <[Option<String>; 4]>::try_from(row)
            .ok()?
            .map(Option::unwrap_or_default);
        // An argument of the server's outweighs its files. A private server's can be given another.
        let is_argument = source == "command line";
        let needs = match context.as_str() {
            "postmaster" => Needs::Restart,
            _ if is_argument && is_private => Needs::Restart,
            _ => Needs::Reload,
        };
        let fixed = match context.as_str() {
            "internal" => {
                Some("was decided when the server was built, or its data made".to_owned())
            }
            _ if is_argument && !is_private => Some(
                "is an argument of the server's command line, which outweighs ALTER SYSTEM"
                    .to_owned(),
            ),
            _ => None,
        };
        let kept = kept.get(&name).cloned().flatten();
        Some((
            name,
            State {
                value,
                kept,
                needs,
                fixed,
            },
        ))
    });
    Ok(states.collect())
}

fn pair(row: Vec<Option<String>>) -> Option<(String, Option<String>)> {
    let mut fields = row.into_iter();
    Some((fields.next()??, fields.next()?))
}

/// The values that hold on a new connection.
pub(super) fn values(target: &Target, names: &[&str]) -> Result<BTreeMap<String, String>, Error> {
    let rows = target.rows(&format!(
        "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({})",
        list(names)
    ))?;
    let values = rows.into_iter().filter_map(pair);
    Ok(values
        .map(|(name, value)| (name, value.unwrap_or_default()))
        .collect())
}

/// Whether a value without a unit, or in another, is what holds: the server itself converts it.
pub(super) fn same(target: &Target, name: &str, value: &str, found: &str) -> bool {
    let rows = target.rows(&format!(
        "SELECT setting, unit FROM pg_settings WHERE name = {}",
        quoted(name)
    ));
    let Ok(rows) = rows else { return false };
    let Some((setting, unit)) = rows.into_iter().next().and_then(pair) else {
        return false;
    };
    let unit = unit.unwrap_or_default();
    // Some units are a number of others: 8kB.
    let digits = unit.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    let times: f64 = unit[..digits].parse().unwrap_or(1.0);
    let in_unit = |number: &str| {
        number
            .parse::<f64>()
            .ok()
            .map(|n| format!("{}{}", n * times, &unit[digits..]))
    };
    let plain = value == setting || same_value(value, &setting);
    plain
        || in_unit(&setting)
            .is_some_and(|held| same_value(&held, value) || same_value(&held, found) && plain)
}

/// SQL that sets a setting.
pub(super) fn set(name: &str, value: &str) -> String {
    format!("ALTER SYSTEM SET {name} = {}", quoted(value))
}

/// SQL that takes it out of the server's own file.
pub(super) fn reset(name: &str) -> String {
    format!("ALTER SYSTEM RESET {name}")
}
