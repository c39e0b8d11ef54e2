//! The formats that there are.

use crate::format::Format;
use crate::{csv, firefox, folded, otlp, otlp_profiles, perfetto, pprof, speedscope};

/// Every format: what is not here is not known.
pub static FORMATS: &[&dyn Format] = &[
    &folded::Folded,
    &speedscope::Speedscope,
    &firefox::Firefox,
    &perfetto::Perfetto,
    &pprof::Pprof,
    &csv::Csv,
    &otlp::Otlp,
    &otlp_profiles::OtlpProfiles,
];

/// The format of this name.
pub fn named(name: &str) -> Option<&'static dyn Format> {
    let mut formats = FORMATS.iter().copied();
    formats.find(|format| format.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of a format that is not in the list would be dead: every file of this crate that implements the trait is.
    #[test]
    fn every_format_is_listed_once() {
        let sources = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut folders = vec![sources];
        let mut implementations = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = std::fs::read_to_string(path).unwrap();
                    let begins = |line: &&str| line.starts_with("impl Format for ");
                    implementations += text.lines().filter(begins).count();
                }
            }
        }
        assert_eq!(
            implementations,
            FORMATS.len(),
            "implementations of Format in this crate, and lines of FORMATS in formats.rs"
        );
        for format in FORMATS {
            let found = named(format.name()).unwrap();
            assert_eq!(found.about(), format.about(), "two have one name");
        }
    }
}
