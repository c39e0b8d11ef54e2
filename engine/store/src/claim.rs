//! Checks that a directory belongs to a store that can be opened, and refuses foreign files before anything is
//! changed.
//!
//! Nothing changes except access times. If the lock file exists, the lock is taken before the files are read, so that
//! no running store changes them. Otherwise the files are read first, and again once the lock exists.

use std::io::ErrorKind;
use std::sync::Arc;

use evenkeel_disk::{Access, Create, Directory, DirectoryLock};
use evenkeel_log::{Log, is_log_file};
use evenkeel_pages::Pool;

use crate::checkpoint::Checkpoint;
use crate::error::StoreError;
use crate::settings::Settings;

pub(crate) const PAGES_FILE: &str = "pages";
const LOCK_FILE: &str = "lock";

/// The name of the directory of a stream of the log, where the log is in the store's own.
pub(crate) fn log_directory(stream: usize) -> String {
    format!("log-{stream}")
}

/// A directory that is a store's or can become one, and is nobody else's until this is dropped.
pub(crate) struct Claim {
    pub(crate) directory: Arc<dyn Directory>,
    /// `None` if there is no store yet.
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) lock: DirectoryLock,
}

impl Claim {
    /// Claims `directory`, with those of `logs` that there are.
    ///
    /// # Errors
    /// If it is somebody else's, of another version or of other settings, open, or not to be written to.
    pub(crate) fn of(
        directory: &Arc<dyn Directory>,
        logs: &[Arc<dyn Directory>],
        settings: &Settings,
    ) -> Result<Claim, StoreError> {
        settings.locks.check().map_err(StoreError::bad_locks)?;
        settings.log.check()?;
        for directory in logs.iter().chain([directory]) {
            directory
                .check_writable()
                .map_err(StoreError::io("opening the store's directories"))?;
        }
        let (lock, checkpoint) = match directory.lock(LOCK_FILE, Create::Never) {
            Ok(lock) => (lock, look(&**directory, logs, settings)?),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                look(&**directory, logs, settings)?;
                let lock = directory.lock(LOCK_FILE, Create::IfMissing);
                let lock = lock.map_err(in_use)?;
                // Another process may have had it open in between.
                (lock, look(&**directory, logs, settings)?)
            }
            Err(error) => return Err(in_use(error)),
        };
        Ok(Claim {
            directory: Arc::clone(directory),
            checkpoint,
            lock,
        })
    }
}

fn in_use(error: std::io::Error) -> StoreError {
    match error.kind() {
        ErrorKind::WouldBlock => StoreError::InUse,
        _ => StoreError::io("locking the store")(error),
    }
}

/// The checkpoint of the store in the directory, `None` if it has none. Fails, and changes nothing, if the files
/// there are not a store's, or not of this version.
fn look(
    directory: &dyn Directory,
    logs: &[Arc<dyn Directory>],
    settings: &Settings,
) -> Result<Option<Checkpoint>, StoreError> {
    let found = Checkpoint::read(directory)?;
    if found.is_none() {
        look_at_no_store(directory)?;
    }
    Checkpoint::check_new(directory)?;
    let has_pages = Pool::check_files(directory, PAGES_FILE, &settings.pool)?;
    Log::check_files(logs)?;
    match &found {
        None if Log::holds_records(logs)? => Err(StoreError::NotAStore(
            "there is a log, but no checkpoint file".to_owned(),
        )),
        // What made the catalog is in the log, and in the page file before the log let it go.
        Some(checkpoint) if checkpoint.catalog.is_some() => {
            look_for_the_rest(directory, has_pages, logs)?;
            Ok(found)
        }
        _ => Ok(found),
    }
}

/// New files in the place of lost ones would make a store of what is left.
fn look_for_the_rest(
    directory: &dyn Directory,
    has_pages: bool,
    logs: &[Arc<dyn Directory>],
) -> Result<(), StoreError> {
    let missing = match (has_pages, Log::has_files(logs)?) {
        (true, true) => return Ok(()),
        (false, _) => "the page file",
        (true, false) => "all of the log",
    };
    let opening = "opening a log directory";
    let files = directory.list().map_err(StoreError::io(opening))?;
    if files.contains(&log_directory(0)) {
        let not_one = ErrorKind::NotADirectory.into();
        return Err(StoreError::io(opening)(not_one));
    }
    Err(StoreError::Corrupt(format!(
        "{missing} is missing (is its device mounted?)"
    )))
}

/// A first opening that was cut short has left no files but these: pages are made after the first checkpoint.
fn look_at_no_store(directory: &dyn Directory) -> Result<(), StoreError> {
    let names = directory
        .list()
        .map_err(StoreError::io("reading the store's directory"))?;
    for name in names {
        let is_own = match name.as_str() {
            LOCK_FILE => directory
                .open(&name, Access::Buffered, Create::Never)
                .and_then(|file| file.is_empty())
                .map_err(StoreError::io("looking at the lock file"))?,
            name => Checkpoint::is_new(name) || is_log_file(name),
        };
        if !is_own {
            return Err(StoreError::NotAStore(format!(
                "there is a file {name:?}, but no checkpoint file"
            )));
        }
    }
    Ok(())
}
