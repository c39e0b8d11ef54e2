//! Functions of the C library that call functions of the program back: what these do stands below the call of the former.

use evenkeel_symbols::unversioned;

/// By name (POSIX.1-2024, and what glibc adds), with the arguments that are functions, 0 for the first. `fts_read` has them from
/// `fts_open`, and calls them itself.
const CALLING_BACK: [(&str, &[u8]); 24] = [
    ("bsearch", &[4]),
    ("call_once", &[1]),
    ("dl_iterate_phdr", &[0]),
    ("ftw", &[1]),
    ("ftw64", &[1]),
    ("fts_open", &[2]),
    ("fts_read", &[]),
    ("glob", &[2]),
    ("glob64", &[2]),
    ("lfind", &[4]),
    ("lsearch", &[4]),
    ("nftw", &[1]),
    ("nftw64", &[1]),
    ("pthread_once", &[1]),
    ("qsort", &[3]),
    ("qsort_r", &[3]),
    ("scandir", &[2, 3]),
    ("scandir64", &[2, 3]),
    ("tdelete", &[2]),
    ("tdestroy", &[1]),
    ("tfind", &[2]),
    ("tsearch", &[2]),
    ("twalk", &[1]),
    ("twalk_r", &[1]),
];

/// Whether the C library's function of this name, which may have a version (`qsort@GLIBC_2.2.5`), calls a function that it is given
/// before it returns.
pub fn calls_back(import: &str) -> bool {
    arguments(import).is_some()
}

/// A bit for each of its arguments that is such a function, as [`evenkeel_wire::Probe::callbacks`] has them.
pub fn callbacks(import: &str) -> u8 {
    let arguments = arguments(import).unwrap_or_default();
    arguments.iter().map(|argument| 1 << argument).sum()
}

fn arguments(import: &str) -> Option<&'static [u8]> {
    let name = unversioned(import);
    let found = CALLING_BACK.iter().find(|(function, _)| *function == name);
    found.map(|(_, arguments)| *arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_bits() {
        assert_eq!(callbacks("qsort@GLIBC_2.2.5"), 0b1000);
        assert_eq!(callbacks("scandir"), 0b1100);
        assert_eq!(callbacks("read"), 0);
        assert!(calls_back("fts_read") && !calls_back("read"));
    }
}
