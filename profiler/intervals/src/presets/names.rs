//! Knowledge about functions of servers whose symbols are missing: a file for each server, next to its preset.

use evenkeel_symbols::Fingerprint;
use serde::Deserialize;

use super::preset::Preset;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    function: Vec<Function>,
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
        let file: File =
            toml::from_str(self.functions).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let fingerprints = file.function.into_iter().map(|function| Fingerprint {
            name: function.name,
            calls: function.calls,
            calls_none_of: function.calls_none_of,
            called_by: function.called_by,
            address_in: function.address_in,
            strings: function.strings,
        });
        fingerprints.collect()
    }
}
