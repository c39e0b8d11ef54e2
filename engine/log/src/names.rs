//! Names of a log's files.

use crate::limits::STREAMS_MAX;

/// The name of a file in use.
pub(crate) fn log_name(stream: usize, number: u64) -> String {
    format!("{stream:02}-{number:016x}.log")
}

/// The name of a file that is prepared ahead of need.
pub(crate) fn prepared_name(stream: usize, number: u64) -> String {
    format!("{stream:02}-prepared-{number}.spare")
}

/// The name of the file that a leader makes because there is no spare one. Another name than the flusher's: both may
/// be at it at the same time.
pub(crate) fn new_name(stream: usize) -> String {
    format!("{stream:02}-new.spare")
}

/// Stream and number of a file in use, by its name.
pub(crate) fn parse_log_name(name: &str) -> Option<(usize, u64)> {
    let (stream, number) = name.strip_suffix(".log")?.split_once('-')?;
    Some((stream.parse().ok()?, u64::from_str_radix(number, 16).ok()?))
}

/// Whether a file is one of the stream's spares, by its name.
pub(crate) fn is_spare_of(stream: usize, name: &str) -> bool {
    name.ends_with(".spare") && name.starts_with(&format!("{stream:02}-"))
}

/// Whether a file of this name may be one of a log's.
pub fn is_log_file(name: &str) -> bool {
    parse_log_name(name).is_some() || (0..STREAMS_MAX).any(|stream| is_spare_of(stream, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_back() {
        assert_eq!(parse_log_name(&log_name(3, 0x1f)), Some((3, 0x1f)));
        assert_eq!(parse_log_name("03-prepared-0.spare"), None);
        assert!(is_spare_of(3, &prepared_name(3, 0)) && !is_spare_of(3, &prepared_name(4, 0)));
    }
}
