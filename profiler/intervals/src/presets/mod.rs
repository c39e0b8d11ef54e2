//! Intervals that are known by the program: how to find them in a stripped binary without guessing.
//!
//! A static function of a stripped program has no name. A preset describes it by exported functions: the only ones
//! that it calls and is called by. Exactly one function must fit. Further functions are described as data
//! (`names.rs`), and shown by the inferred names.

mod apache;
mod find;
mod java;
mod mariadb;
mod memcached;
mod names;
mod nginx;
mod php;
mod postgres;
mod preset;
mod redis;
mod version;

use crate::error::Error;
pub use java::{JAVA_PRESETS, JavaInterval, JavaPreset};
pub use names::{Setting, SettingSource};
pub use preset::{KnownInterval, Preset};

/// All presets.
pub const PRESETS: &[Preset] = &[
    postgres::POSTGRES,
    mariadb::MARIADB,
    apache::APACHE,
    nginx::NGINX,
    redis::REDIS,
    memcached::MEMCACHED,
    php::PHP,
];

/// The names of all presets, those of Java programs last.
pub fn all_names() -> String {
    let native = PRESETS.iter().map(|preset| preset.name);
    let java = JAVA_PRESETS.iter().map(|preset| preset.name);
    native.chain(java).collect::<Vec<_>>().join(", ")
}

impl Preset {
    /// The preset of this name.
    ///
    /// # Errors
    /// No preset has this name; the error lists the names.
    pub fn named(name: &str) -> Result<&'static Preset, Error> {
        PRESETS
            .iter()
            .find(|preset| preset.name == name)
            .ok_or_else(|| Error::NoPreset {
                name: name.to_owned(),
                known: all_names(),
            })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Whoever adds a preset makes it known here: help, errors and the search for programs list [`PRESETS`].
    #[test]
    fn no_preset_is_forgotten() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/presets");
        let mut described = 0;
        for entry in std::fs::read_dir(folder).expect("the presets' sources") {
            let text = std::fs::read_to_string(entry.expect("an entry").path());
            let is_preset = |line: &&str| {
                line.strip_prefix("pub const ")
                    .is_some_and(|rest| rest.contains(": Preset = Preset {"))
            };
            described += text.expect("a source").lines().filter(is_preset).count();
        }
        assert_eq!(
            described,
            PRESETS.len(),
            "presets that files of this directory describe, and lines of PRESETS in mod.rs"
        );
        for preset in PRESETS {
            let named = Preset::named(preset.name).expect("it is listed");
            assert_eq!(named.programs, preset.programs, "two have one name");
            assert!(preset.interval(None).is_some(), "{}", preset.name);
        }
    }
}
