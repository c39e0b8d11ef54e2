//! The forms in which a result can be had.

use crate::page;
use crate::report::Report;
use crate::table;

/// Writes a result.
pub type Format = fn(&Report) -> String;

/// Each form by the name of its option of `evenkeel bench`; the first is what is printed without one.
pub const FORMATS: [(&str, Format); 3] = [
    ("table", table::render),
    ("json", json),
    ("html", page::html),
];

/// One line of JSON.
pub fn json(report: &Report) -> String {
    serde_json::to_string(report).expect("plain structures with text keys serialise") + "\n"
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Whoever adds a form makes it known here, and so to the command line, whose test asks for an option of each.
    #[test]
    fn no_form_is_forgotten() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let files = std::fs::read_dir(folder).expect("the crate's sources");
        let sources = files.flat_map(|file| std::fs::read_to_string(file.expect("a file").path()));
        let written: usize = sources
            .map(|text| {
                let public = text.lines().filter(|line| line.starts_with("pub fn "));
                public
                    .filter(|line| line.ends_with("(report: &Report) -> String {"))
                    .count()
            })
            .sum();
        assert_eq!(
            written,
            FORMATS.len(),
            "functions over &Report of this crate, and lines of FORMATS in formats.rs"
        );
    }
}
