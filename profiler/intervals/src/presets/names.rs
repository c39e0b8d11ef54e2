//! Knowledge about servers as data, a file for each next to its preset: functions whose symbols are missing, and settings.

use evenkeel_symbols::Fingerprint;
use serde::Deserialize;

use super::preset::Preset;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    function: Vec<Function>,
    #[serde(default)]
    setting: Vec<Written>,
}

/// A setting of a server that can be seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As its manual calls it.
    pub name: String,
    /// Where it is seen.
    pub source: SettingSource,
    /// Values by number, as the manual writes them; numbers themselves where there are none.
    pub values: Vec<String>,
}

/// Where a setting is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingSource {
    /// In an exported variable.
    Variable(String),
    /// By whether any process of the server has several threads, 0 or 1.
    Threads,
}

impl Setting {
    /// A value as the manual writes it; nothing for a number that has no name.
    pub fn text(&self, value: u64) -> Option<String> {
        if self.values.is_empty() {
            return Some(value.to_string());
        }
        self.values.get(usize::try_from(value).ok()?).cloned()
    }
}

/// [`Setting`], as a person writes it. Without a variable it is seen by threads.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    variable: Option<String>,
    #[serde(default)]
    values: Vec<String>,
}

/// [`Fingerprint`], as a person writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Function {
    name: String,
    #[serde(default)]
    called_by: Vec<String>,
    #[serde(default)]
    address_in: Vec<String>,
    #[serde(default)]
    calls: Vec<String>,
    #[serde(default)]
    calls_none_of: Vec<String>,
    #[serde(default)]
    strings: Vec<String>,
}

impl Preset {
    /// Fingerprints of its program's functions, for [`evenkeel_symbols::Module::infer_names`].
    pub fn fingerprints(&self) -> Vec<Fingerprint> {
        let fingerprints = self
            .file()
            .function
            .into_iter()
            .map(|function| Fingerprint {
                name: function.name,
                calls: function.calls,
                calls_none_of: function.calls_none_of,
                called_by: function.called_by,
                address_in: function.address_in,
                strings: function.strings,
            });
        fingerprints.collect()
    }

    /// Settings that can be seen from outside.
    pub fn settings(&self) -> Vec<Setting> {
        let settings = self.file().setting.into_iter().map(|written| Setting {
            name: written.name,
            source: written
                .variable
                .map_or(SettingSource::Threads, SettingSource::Variable),
            values: written.values,
        });
        settings.collect()
    }

    fn file(&self) -> File {
        toml::from_str(self.known).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}
