//! Rust sources as tokens: as much of the language as finding imports needs. Comments are left out, numbers are names.

/// A piece of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    Name(String),
    /// The text of a string literal, with its escapes.
    Text(String),
    /// `::`
    Colons,
    Other(char),
}

/// The tokens of a source that compiles.
pub fn tokens(source: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some((text, len)) = string(rest) {
            tokens.push(Token::Text(text.to_owned()));
            len
        } else if first == '\'' {
            character(rest)
        } else if rest.starts_with("::") {
            tokens.push(Token::Colons);
            2
        } else if is_of_name(first) {
            let len = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
            tokens.push(Token::Name(rest[..len].to_owned()));
            len
        } else {
            if !first.is_whitespace() {
                tokens.push(Token::Other(first));
            }
            first.len_utf8()
        };
        rest = &rest[len..];
    }
    tokens
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The string literal that begins here, and its length in the source.
fn string(rest: &str) -> Option<(&str, usize)> {
    let letters = rest.find(|c| !matches!(c, 'b' | 'c' | 'r'))?;
    let hashes = rest[letters..].bytes().take_while(|&b| b == b'#').count();
    let begin = letters + hashes;
    if !rest[begin..].starts_with('"') {
        return None;
    }
    let text = &rest[begin + 1..];
    let end = if rest[..letters].contains('r') {
        text.find(&format!("\"{}", "#".repeat(hashes)))?
    } else if hashes == 0 {
        let mut escaped = false;
        text.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?
    } else {
        return None;
    };
    Some((&text[..end], begin + 1 + end + 1 + hashes))
}

/// Length of the character literal, or of the quote of the lifetime, that begins here.
fn character(rest: &str) -> usize {
    let mut inner = rest[1..].char_indices();
    let (_, first) = inner.next().expect("a quote is never last");
    let second = inner.next();
    match (first, second) {
        ('\\', Some((at, escaped))) => {
            let from = 1 + at + escaped.len_utf8();
            rest[from..].find('\'').map_or(from, |end| from + end + 1)
        }
        (_, Some((at, '\''))) => 1 + at + 1,
        _ => 1,
    }
}

#[test]
fn what_is_no_code_is_left_out() {
    let source = r##"
        // crate::a
        fn f<'a>(x: &'a str) { /* crate::b */ g("crate::c // no", 'x', '\'', '"', r#"crate::"d""#, "\"e\\"); crate::f }
    "##;
    let found = tokens(source);
    let names = found.iter().filter_map(|token| match token {
        Token::Name(name) => Some(name.as_str()),
        _ => None,
    });
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["fn", "f", "a", "x", "a", "str", "g", "crate", "f"]
    );
    let texts = found.iter().filter_map(|token| match token {
        Token::Text(text) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(
        texts.collect::<Vec<_>>(),
        ["crate::c // no", "crate::\"d\"", "\\\"e\\\\"]
    );
}
