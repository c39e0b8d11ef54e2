//! Presets: a program, and how its intervals are found in it.

use std::path::Path;

use evenkeel_symbols::Module;

use super::version;
use crate::error::Error;
use crate::interval::Interval;

/// A program whose intervals are known.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// As typed.
    pub name: &'static str,
    /// File names of the program.
    pub programs: &'static [&'static str],
    /// Signal that ends the program the fastest clean way.
    pub stop_signal: i32,
    /// Its functions without symbols, and its settings: a file that `names.rs` reads.
    pub(super) known: &'static str,
    /// Text next to the version in the program's file, if it has such a text.
    pub version: Option<&'static str>,
    /// Its intervals with descriptions, the default first.
    pub intervals: &'static [KnownInterval],
}

/// An interval of a preset.
#[derive(Clone, Copy, Debug)]
pub struct KnownInterval {
    /// As typed.
    pub name: &'static str,
    /// For `--help`.
    pub help: &'static str,
    /// It has a key wherever it is hooked, so that threads have to be followed to see it at all.
    pub keyed: bool,
    pub(super) find: fn(&Module) -> Result<Interval, String>,
}

impl Preset {
    /// Whether this is its program.
    pub fn fits(&self, path: &Path) -> bool {
        path.file_name()
            .is_some_and(|name| self.programs.iter().any(|program| name == *program))
    }

    /// Version of the program at `path`, as its file says; nothing where it does not.
    pub fn version_of(&self, path: &Path) -> Option<String> {
        version::find(&std::fs::read(path).ok()?, self.version?)
    }

    /// The interval of this name, the default one for `None`; `None` if the preset has none of the name.
    pub fn interval(&self, name: Option<&str>) -> Option<&'static KnownInterval> {
        match name {
            None => self.intervals.first(),
            Some(name) => self.intervals.iter().find(|interval| interval.name == name),
        }
    }

    /// Finds `interval` in the program, as [`Interval::hooked`] with `waits` or without.
    ///
    /// # Errors
    /// The program is not what the preset knows.
    pub fn resolve(
        &self,
        interval: &KnownInterval,
        module: &Module,
        waits: bool,
    ) -> Result<Interval, Error> {
        let found = (interval.find)(module).map_err(|what| Error::PresetMismatch {
            path: module.path().to_owned(),
            preset: self.name,
            what,
        })?;
        Ok(found.hooked(waits))
    }
}
