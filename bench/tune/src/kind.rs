//! What a target is to the tuner: which knobs it has, and whose it is.

use evenkeel_drive::target::address::Address;

use crate::error::Error;
use crate::knobs::Kind;

/// Which server's knobs a target has.
///
/// # Errors
/// [`Error::Setting`] for SQLite, of which no knob is known.
pub fn kind_of(target: &Address) -> Result<Kind, Error> {
    match target {
        Address::Embedded => Ok(Kind::Store),
        Address::Postgres | Address::PostgresAt(_) => Ok(Kind::Postgres),
        Address::MariaDb | Address::MariaDbRelease(_) | Address::MariaDbAt(_) => Ok(Kind::MariaDb),
        Address::Sqlite | Address::SqliteAt(_) => Err(Error::Setting(
            "no knobs of SQLite are known; tune takes embedded, postgres, mariadb, and URLs of these servers".to_owned(),
        )),
    }
}

/// Whether the target is a server that is not ours.
pub fn is_url(target: &Address) -> bool {
    matches!(target, Address::PostgresAt(_) | Address::MariaDbAt(_))
}
