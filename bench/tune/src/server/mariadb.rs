//! MariaDB's settings: `SET GLOBAL`, which a restart forgets.

use std::collections::BTreeMap;

use evenkeel_drive::target::Target;

use super::State;
use crate::error::Error;
use crate::knobs::{Needs, same_value};

fn list(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    names.join(", ")
}

/// `SET GLOBAL` of what holds already changes nothing, and needs the same right as any other.
pub(super) fn check_rights(target: &Target) -> Result<(), Error> {
    let tried = target.rows("SET GLOBAL innodb_lru_scan_depth = @@GLOBAL.innodb_lru_scan_depth");
    let reason = match tried {
        Ok(_) => return Ok(()),
        Err(evenkeel_drive::Error::Refused { reason, .. }) => reason,
        Err(other) => return Err(other.into()),
    };
    let user = target.rows("SELECT USER()")?;
    let user = user.into_iter().flatten().next().flatten();
    Err(Error::NoRights {
        user: user.unwrap_or_default(),
        target: target.name().to_owned(),
        reason,
        remedy: "connect as root, or GRANT SUPER ON *.* to the account",
    })
}

/// The server's state of these settings.
pub(super) fn states(target: &Target, names: &[&str]) -> Result<BTreeMap<String, State>, Error> {
    let rows = target.rows(&format!(
        "SELECT LOWER(VARIABLE_NAME), GLOBAL_VALUE, READ_ONLY FROM information_schema.SYSTEM_VARIABLES \
         WHERE LOWER(VARIABLE_NAME) IN ({})",
        list(names)
    ))?;
    let states = rows.into_iter().filter_map(|row| {
        let [name, value, read_only] = <[Option<String>; 3]>::try_from(row)
            .ok()?
            .map(Option::unwrap_or_default);
        let needs = if read_only == "YES" {
            Needs::Restart
        } else {
            Needs::Reload
        };
        let state = State {
            kept: Some(value.clone()),
            value,
            needs,
            fixed: None,
        };
        Some((name, state))
    });
    Ok(states.collect())
}

/// The values that hold; none of a buffer pool that is being resized.
pub(super) fn values(target: &Target, names: &[&str]) -> Result<BTreeMap<String, String>, Error> {
    let rows = target.rows(&format!(
        "SELECT LOWER(VARIABLE_NAME), GLOBAL_VALUE FROM information_schema.SYSTEM_VARIABLES \
         WHERE LOWER(VARIABLE_NAME) IN ({})",
        list(names)
    ))?;
    let values = rows.into_iter().filter_map(|row| {
        let [name, value] = <[Option<String>; 2]>::try_from(row).ok()?;
        Some((name?, value?))
    });
    let mut values: BTreeMap<String, String> = values.collect();
    if values.contains_key(POOL) && is_resizing(target)? {
        values.insert(POOL.to_owned(), "being resized".to_owned());
    }
    Ok(values)
}

const POOL: &str = "innodb_buffer_pool_size";

/// Whether the server reports a resize in progress; some resize at once and report nothing.
fn is_resizing(target: &Target) -> Result<bool, Error> {
    let rows = target.rows("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status'")?;
    let status = rows
        .into_iter()
        .flatten()
        .flatten()
        .last()
        .unwrap_or_default();
    let says = |word: &str| status.to_lowercase().contains(word);
    Ok(says("resizing") && !says("completed") || says("withdrawing"))
}

/// Whether a value holds: the server rounds sizes up to its blocks.
pub(super) fn same(found: &str, wanted: &str) -> bool {
    if same_value(found, wanted) {
        return true;
    }
    match (found.parse::<f64>(), wanted.parse::<f64>()) {
        (Ok(found), Ok(wanted)) => wanted > 0.0 && (0.9..=1.5).contains(&(found / wanted)),
        _ => false,
    }
}

/// SQL that sets a setting.
pub(super) fn set(name: &str, value: &str) -> String {
    let is_bare = value.parse::<f64>().is_ok() || value == "DEFAULT";
    if is_bare {
        format!("SET GLOBAL {name} = {value}")
    } else {
        format!(
            "SET GLOBAL {name} = '{}'",
            value.replace('\\', "\\\\").replace('\'', "''")
        )
    }
}
