//! Requests of HTTP without what makes each of them another one: a method and a path.
//!
//! The query string is left out, for it may hold secrets. Identifiers in the path become `?`: numbers, hexadecimal
//! ones, and words in which letters and digits alternate. Works on a request line (RFC 9112, 3), also one that was cut
//! off.

/// Letters of a method: no server knows a shorter or a longer one.
const METHOD_LEN: std::ops::RangeInclusive<usize> = 3..=16;
/// Hexadecimal digits from which on a word is an identifier, if a number is among them.
const HEX_MIN: usize = 8;
/// Letters and digits from which on a word is an identifier, if they alternate.
const MIXED_MIN: usize = 8;

/// The class of a request line; `None` if `line` is none.
pub(crate) fn class(line: &str) -> Option<String> {
    let (method, rest) = line.split_once(' ')?;
    let is_method = METHOD_LEN.contains(&method.len())
        && method
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    let target = rest.split([' ', '?', '#']).next().unwrap_or_default();
    // A comment of SQL begins with two of these characters.
    let is_path = target.starts_with('/') && !target.starts_with("/*");
    let is_target = is_path || target == "*" || target.contains("://");
    (is_method && is_target).then(|| format!("{method} {}", path(target)))
}

/// A path or URL without identifiers.
fn path(target: &str) -> String {
    let mut normal = String::with_capacity(target.len());
    for (at, segment) in target.split('/').enumerate() {
        if at > 0 {
            normal.push('/');
        }
        if is_identifier(segment) {
            normal.push('?');
        } else {
            push_words(segment, &mut normal);
        }
    }
    normal
}

/// A segment's words, those that are identifiers as `?`.
fn push_words(segment: &str, normal: &mut String) {
    let is_part = |c: char| c.is_ascii_alphanumeric();
    let mut rest = segment;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_part(c) != is_part(first));
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        if is_part(first) && is_identifier(word) {
            normal.push('?');
        } else {
            push_without_numbers(word, normal);
        }
        rest = after;
    }
}

fn push_without_numbers(word: &str, normal: &mut String) {
    let mut in_number = false;
    for c in word.chars() {
        let is_digit = c.is_ascii_digit();
        if !is_digit || !in_number {
            normal.push(if is_digit { '?' } else { c });
        }
        in_number = is_digit;
    }
}

/// Whether a segment or a word of one tells one thing from others of its kind.
fn is_identifier(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let hex = word.bytes().filter(u8::is_ascii_hexdigit).count();
    let all_hex = word.bytes().all(|c| c.is_ascii_hexdigit() || c == b'-');
    digits > 0 && (all_hex && hex >= HEX_MIN || is_mixed(word))
}

/// Whether there are several numbers in a long word without any separators, as in encoded bytes.
fn is_mixed(word: &str) -> bool {
    let bytes = word.as_bytes();
    let begins_number = |pair: &&[u8]| !pair[0].is_ascii_digit() && pair[1].is_ascii_digit();
    let numbers = bytes.windows(2).filter(begins_number).count();
    bytes.len() >= MIXED_MIN && numbers >= 2 && bytes.iter().all(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests() {
        let cases = [
            (
                "GET /user/1234/cart?item=77&token=s3 HTTP/1.1",
                "GET /user/?/cart",
            ),
            ("GET /", "GET /"),
            ("POST /api/v2/orders HTTP/2.0", "POST /api/v?/orders"),
            ("DELETE /objects/5f3e9a01bc44 HTTP/1.1", "DELETE /objects/?"),
            (
                "GET /o/4bf92f35-77b3-4da6-a3ce-929d0e0e4736/raw",
                "GET /o/?/raw",
            ),
            (
                "GET /static/app.4d5e6f70.js#top HTTP/1.1",
                "GET /static/app.?.js",
            ),
            ("GET /v/dQw4w9WgXcQ", "GET /v/?"),
            ("GET /day/2026-11-26/facade", "GET /day/?/facade"),
            ("GET /img-12-of-20.png", "GET /img-?-of-?.png"),
            ("OPTIONS * HTTP/1.1", "OPTIONS *"),
            (
                "GET http://example.org/a/17 HTTP/1.1",
                "GET http://example.org/a/?",
            ),
            (
                "PROPFIND /dav/\u{e9}t\u{e9}/9",
                "PROPFIND /dav/\u{e9}t\u{e9}/?",
            ),
        ];
        for (line, name) in cases {
            assert_eq!(class(line).as_deref(), Some(name), "{line}");
        }
    }

    #[test]
    fn other_text_is_none() {
        for text in [
            "",
            "GET",
            "GET  /x",
            "get /x",
            "SELECT /* c */ 1",
            "SELECT 1",
            "DELETE FROM t",
            "/var/www/a.php",
        ] {
            assert_eq!(class(text), None, "{text}");
        }
    }
}
