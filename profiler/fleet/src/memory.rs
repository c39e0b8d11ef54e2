//! Memory of the engine, bounded so that a shortage ends with a message, and not by the kernel.

use std::fs;
use std::path::{Path, PathBuf};

/// Part of the free memory. The engine counts the memory of its joins, groups and sorts; reading and decoding need
/// more.
const PART_PERCENT: u64 = 60;
/// Where nothing says how much there is.
const UNKNOWN_BYTES: u64 = 2 << 30;

/// Bytes that the engine may take where the user does not say: a part of what is free, of the machine's and of what the control groups allow.
pub fn allowed() -> u64 {
    let machine = fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| available(&text));
    let free = machine.into_iter().chain(groups());
    free.min().unwrap_or(UNKNOWN_BYTES) / 100 * PART_PERCENT
}

/// `MemAvailable` of `/proc/meminfo`.
fn available(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib << 10)
}

/// The remaining memory of each control group of this process; a group without a limit is left out.
fn groups() -> impl Iterator<Item = u64> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"));
    let own = Path::new("/sys/fs/cgroup").join(own.unwrap_or_default());
    let groups: Vec<PathBuf> = own.ancestors().map(Path::to_owned).collect();
    let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    groups.into_iter().filter_map(move |group| {
        let most = number(group.join("memory.max"))?;
        let now = number(group.join("memory.current")).unwrap_or_default();
        Some(most.saturating_sub(now))
    })
}

/// A size as people write it: `500MiB`, `8G`, `1.5 GB`; units are powers of 1024, however they are written.
///
/// # Errors
/// The text is no size; the error shows the form.
pub fn parse(text: &str) -> Result<u64, String> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(at.unwrap_or(text.len()));
    let unit = unit.trim().to_lowercase();
    let shift = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" if unit.len() <= 1 => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(SIZES.to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| SIZES.to_owned())?;
    let bytes = number * f64::from(1_u32 << (shift / 2)) * f64::from(1_u32 << (shift / 2));
    // Beyond 2^53 bytes no machine has any.
    match bytes >= 1.0 && bytes < 2_f64.powi(53) {
        true => Ok(bytes as u64),
        false => Err(SIZES.to_owned()),
    }
}

const SIZES: &str = "write a size such as 500MiB or 8GiB";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [
            ("4096", 4096),
            ("100B", 100),
            ("1k", 1024),
            ("500MiB", 500 << 20),
            ("8G", 8 << 30),
            ("1.5 gb", 3 << 29),
            ("1T", 1 << 40),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in [
            "", "0", "G", "much", "1.2.3", "5 apples", "9999999T", "-1G", "1bb",
        ] {
            assert!(parse(text).unwrap_err().contains("8GiB"), "{text}");
        }
    }

    #[test]
    fn the_available_memory_is_read() {
        let text =
            "MemTotal:       24689660 kB\nMemFree:         123 kB\nMemAvailable:   14680064 kB\n";
        assert_eq!(available(text), Some(14 << 30));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
        assert!(allowed() > 0);
    }
}
