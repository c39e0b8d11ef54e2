//! Suggestions for names that were misspelt.

/// Suggestions at most.
const SUGGESTIONS_MAX: usize = 5;

/// Shorter identifiers are in too many names.
const IDENTIFIER_MIN: usize = 4;

/// The shortest of the names that contain the last identifier of `wanted`, where that is written with dots: `_D3app6handleFmZm` of D,
/// `camlApp__handle_92` of OCaml for `app.handle`.
pub(crate) fn containing<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let last = wanted.rsplit_once('.').map(|(_, last)| last);
    let Some(last) = last.filter(|last| last.len() >= IDENTIFIER_MIN) else {
        return Vec::new();
    };
    let mut found: Vec<&str> = names.filter(|name| name.contains(last)).collect();
    found.sort_unstable_by_key(|name| (name.len(), *name));
    found.dedup();
    let first = found.into_iter().take(SUGGESTIONS_MAX);
    first.map(str::to_owned).collect()
}

/// The names closest to `wanted` by edit distance, the closest first, equally close ones in alphabetical order. A
/// name is close if at most a third of the wanted one is wrong, or if it differs only in case.
pub(crate) fn closest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let limit = (wanted.len() / 3).max(1);
    let mut close: Vec<(usize, &str)> = names
        .filter_map(|name| {
            if name.eq_ignore_ascii_case(wanted) {
                return Some((0, name));
            }
            let distance = bounded_distance(wanted.as_bytes(), name.as_bytes(), limit)?;
            Some((distance, name))
        })
        .collect();
    close.sort_unstable();
    close.dedup();
    close
        .into_iter()
        .take(SUGGESTIONS_MAX)
        .map(|(_, name)| name.to_owned())
        .collect()
}

/// Levenshtein's distance of two names, `None` if it exceeds `limit`.
fn bounded_distance(a: &[u8], b: &[u8], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    // Distances of the part of `a` so far to each beginning of `b`.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
        if row.iter().min().is_some_and(|&least| least > limit) {
            return None;
        }
    }
    row.last().copied().filter(|&distance| distance <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_another_language_contain_what_was_written() {
        let names = ["_D3app6handleFmZm", "camlApp__handle_92", "app_init"];
        let found = containing("app.handle", names.into_iter());
        assert_eq!(found, ["_D3app6handleFmZm", "camlApp__handle_92"]);
        assert!(containing("app.runs", names.into_iter()).is_empty());
        assert!(containing("handle", names.into_iter()).is_empty());
    }

    #[test]
    fn closest_first() {
        let names = ["XLogFlush", "XLogFlash", "XLogInsert", "xlogflush", "main"];
        assert_eq!(
            closest("XLogFlus", names.into_iter()),
            ["XLogFlush", "XLogFlash"]
        );
        assert_eq!(closest("MAIN", names.into_iter()), ["main"]);
        assert!(closest("nothing_like_it", names.into_iter()).is_empty());
    }
}
