//! Which version of a server a file is, by a text in it: nothing is run for it.

/// Longest version reported, in bytes.
const LENGTH_MAX: usize = 80;

/// The first zero-terminated text of `file` in which `mark` is next to a digit; `None` without one.
pub fn find(file: &[u8], mark: &str) -> Option<String> {
    let mark = mark.as_bytes();
    let mut from = 0;
    while let Some(at) = position(&file[from..], mark).map(|at| from + at) {
        let end = at + mark.len();
        let beside = [at.checked_sub(1), Some(end)].map(|at| file.get(at?));
        if beside.iter().flatten().any(|byte| byte.is_ascii_digit()) {
            let printable = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
            let start = file[..at].iter().rposition(|byte| !printable(byte));
            let start = start.map_or(0, |before| before + 1);
            let length = file[end..]
                .iter()
                .take_while(|byte| printable(byte))
                .count();
            let text = &file[start..end + length];
            let text = &text[..text.len().min(LENGTH_MAX)];
            return Some(String::from_utf8_lossy(text).trim().to_owned());
        }
        from = end;
    }
    None
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    loop {
        let at = from + bytes[from..].iter().position(|&byte| byte == first)?;
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found() {
        let file = b"\0usage: nginx/ [-v]\0nginx/1.22.1\0 10.11.19-MariaDB\0postgres (PostgreSQL) 15.18 (Debian)\n\0";
        let cases = [
            ("nginx/", Some("nginx/1.22.1")),
            ("-MariaDB", Some("10.11.19-MariaDB")),
            (
                "postgres (PostgreSQL) ",
                Some("postgres (PostgreSQL) 15.18 (Debian)"),
            ),
            ("Apache/", None),
        ];
        for (mark, found) in cases {
            assert_eq!(find(file, mark).as_deref(), found);
        }
    }
}
