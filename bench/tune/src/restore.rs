//! Putting back what a run that was cut short has left.

use std::fs;
use std::path::{Path, PathBuf};

use evenkeel_drive::settings::BenchmarkSettings;
use evenkeel_drive::target::Target;
use evenkeel_servers::Search;

use crate::error::Error;
use crate::journal::{self, FoundJournal};
use crate::knobs::{TargetKind, is_url, kind_of};
use crate::server::{put_back, restart_by};

/// Result of a restoration.
#[derive(Debug)]
pub struct Restored {
    /// The restored settings, a line each.
    pub lines: Vec<String>,
    /// Whether nothing is known to be left that should have been put back.
    pub whole: bool,
}

/// Puts back settings that earlier runs left on the target of `bench`, or, with `all`, on every target that can be
/// reached without a password. Unless the target is named by a URL, stops private servers whose owners were killed.
///
/// # Errors
/// A server does not answer or refuses; its journal stays.
pub fn restore(
    bench: &BenchmarkSettings,
    all: bool,
    restart_command: Option<&str>,
) -> Result<Restored, Error> {
    let named = journal::without_password(&bench.target.to_string()).0;
    let directory = journal::directory()?;
    let left = journal::left(&directory)?;
    let private = |found: &FoundJournal| Some(found.header.private.as_ref()?.folder.clone());
    let mut restored = Restored {
        lines: Vec::new(),
        whole: true,
    };
    if all || !is_url(&bench.target) {
        let folders: Vec<PathBuf> = left.journals.iter().filter_map(private).collect();
        restored.whole = stop_everywhere(&folders, &mut restored.lines);
    }
    for unreadable in &left.unreadable {
        restored.lines.push(unreadable.advice());
        restored.whole = false;
    }
    for found in left.journals {
        if !all && found.header.target != named {
            continue;
        }
        match &found.header.private {
            // Its folder still shows it.
            Some(private) if private.folder.exists() => {
                let folder = private.folder.display();
                let line = format!("{folder}, the folder of a private server, is still there");
                restored.lines.push(line);
                restored.whole = false;
                continue;
            }
            Some(_) => {}
            None if found.changes.is_empty() => {
                let line = format!("{}: nothing had been changed", found.header.target);
                restored.lines.push(line);
            }
            None if all && found.header.password => {
                restored.lines.push(format!(
                    "{}: needs its password; give --restore --target URL with it",
                    found.header.target
                ));
                continue;
            }
            None => restored
                .lines
                .push(reset(bench, all, &found, restart_command)?),
        }
        fs::remove_file(&found.path).map_err(|source| Error::System {
            action: format!("remove {}", found.path.display()),
            source,
        })?;
    }
    if restored.lines.is_empty() {
        restored.lines.push("nothing was left changed".to_owned());
    }
    Ok(restored)
}

/// Stops private servers whose owners were killed: in the temporary directory, where servers run, and in these folders. Says whether
/// none is left.
fn stop_everywhere(folders: &[PathBuf], lines: &mut Vec<String>) -> bool {
    let mut search = Search::default();
    search.running(Path::new("/"));
    for folder in folders {
        search.folder(folder);
    }
    let is_read = search_temporary(&mut search, lines);
    stop(search, lines) && is_read
}

/// Stops private servers that runs that were killed have left in the temporary directory. Says what was done.
pub fn stop_left() -> Vec<String> {
    let (mut search, mut lines) = (Search::default(), Vec::new());
    if search_temporary(&mut search, &mut lines) {
        stop(search, &mut lines);
    }
    lines
}

fn search_temporary(search: &mut Search, lines: &mut Vec<String>) -> bool {
    let searched = search.directory(&std::env::temp_dir());
    if let Err(error) = &searched {
        lines.push(format!(
            "whether a run that was killed has left a private server is not known: {error}"
        ));
    }
    searched.is_ok()
}

fn stop(search: Search, lines: &mut Vec<String>) -> bool {
    let mut whole = search.unknown.is_empty();
    for folder in &search.unknown {
        lines.push(format!(
            "{} is used by a process that cannot be seen from here, and was left alone",
            folder.display()
        ));
    }
    for abandoned in search.abandoned {
        let folder = abandoned.folder().display().to_string();
        lines.push(match abandoned.remove() {
            Ok(true) => {
                format!("stopped the private server that an earlier run left, and removed {folder}")
            }
            Ok(false) => {
                format!("removed {folder}, the folder of a private server that an earlier run left")
            }
            Err(error) => {
                whole = false;
                error.to_string()
            }
        });
    }
    whole
}

/// Puts the settings of a server back.
fn reset(
    bench: &BenchmarkSettings,
    all: bool,
    found: &FoundJournal,
    restart_command: Option<&str>,
) -> Result<String, Error> {
    let mut bench = bench.clone();
    bench.target_settings.clear();
    if all {
        bench.target = found.header.target.parse()?;
    }
    let kind = kind_of(&bench.target)?;
    let target: Target = bench.open_target()?;
    for change in &found.changes {
        target.rows(&put_back(kind, &change.name, change.before.as_deref()))?;
    }
    if kind == TargetKind::Postgres {
        target.rows("SELECT pg_reload_conf()")?;
    }
    let names: Vec<&str> = found
        .changes
        .iter()
        .map(|change| change.name.as_str())
        .collect();
    let mut line = format!("{}: put back {}", found.header.target, names.join(", "));
    if found.changes.iter().any(|change| change.restart) {
        match restart_command {
            Some(command) => restart_by(command)?,
            None => line += "; some hold from the server's next restart on: restart it",
        }
    }
    Ok(line)
}
