//! Tokens of SQL in any dialect, close enough to tell literals from everything else.

/// After these words, as after an operator, a sign belongs to the number that follows.
const OPERAND_FOLLOWS: &str = "and between by case else in interval like limit not offset on or return returning select \
    set then values when";

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A keyword or an identifier without quotes.
    Word,
    /// A quoted identifier.
    Quoted,
    /// A literal or a parameter.
    Literal,
    /// A run of operator characters, or any other character.
    Operator,
    /// A character of `( ) [ ] , ; .`
    Punctuation,
}

/// A token in normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// `?` for a literal, lower case but for quoted identifiers.
    pub text: String,
    /// White space or a comment came before it.
    pub spaced: bool,
}

/// The tokens of a statement, or of what is left of it after it was cut off.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut rest = text;
    loop {
        let trimmed = skip_blank(rest);
        let spaced = trimmed.len() < rest.len();
        if trimmed.is_empty() {
            return tokens;
        }
        let (kind, len) = token_at(trimmed, tokens.last());
        let text = match kind {
            TokenKind::Literal => "?".to_owned(),
            TokenKind::Quoted => trimmed[..len].to_owned(),
            _ => trimmed[..len].to_lowercase(),
        };
        tokens.push(Token { kind, text, spaced });
        rest = &trimmed[len..];
    }
}

/// Kind and length in bytes of the token that `text`, not empty, begins with.
fn token_at(text: &str, before: Option<&Token>) -> (TokenKind, usize) {
    let first = text.chars().next().expect("not empty");
    let second = text[first.len_utf8()..].chars().next().unwrap_or(' ');
    match first {
        '\'' => (TokenKind::Literal, quoted(text, '\'', false)),
        '"' | '`' => (TokenKind::Quoted, quoted(text, first, false)),
        '$' if second.is_ascii_digit() => (
            TokenKind::Literal,
            1 + run(&text[1..], |c| c.is_ascii_digit()),
        ),
        '$' => {
            dollar_quoted(text).map_or((TokenKind::Operator, 1), |len| (TokenKind::Literal, len))
        }
        '0'..='9' => (TokenKind::Literal, number(text)),
        '.' if second.is_ascii_digit() => (TokenKind::Literal, number(text)),
        '?' if !is_operator(second) => (TokenKind::Literal, 1),
        '+' | '-' if begins_number(&text[1..]) && operand_may_follow(before) => {
            (TokenKind::Literal, 1 + number(&text[1..]))
        }
        '(' | ')' | '[' | ']' | ',' | ';' | '.' => (TokenKind::Punctuation, 1),
        c if is_word(c) => word_or_prefixed(text),
        c if is_operator(c) => (TokenKind::Operator, operator(text)),
        c => (TokenKind::Operator, c.len_utf8()),
    }
}

/// A word, or a literal such as `E'..'`, `x'..'` or `U&'..'`.
fn word_or_prefixed(text: &str) -> (TokenKind, usize) {
    let len = run(text, |c| is_word(c) || c.is_ascii_digit() || c == '$');
    let after = &text[len..];
    let prefix = len == 1 && "eEbBxXnN".contains(&text[..1]);
    if prefix && after.starts_with('\'') {
        let escapes = text.starts_with(['e', 'E']);
        return (TokenKind::Literal, len + quoted(after, '\'', escapes));
    }
    if text[..len].eq_ignore_ascii_case("u") && after.starts_with("&'") {
        return (
            TokenKind::Literal,
            len + 1 + quoted(&after[1..], '\'', false),
        );
    }
    (TokenKind::Word, len)
}

/// Whether an operand, rather than an operator, comes after this token.
fn operand_may_follow(before: Option<&Token>) -> bool {
    before.is_none_or(|token| match token.kind {
        TokenKind::Operator => true,
        TokenKind::Punctuation => token.text != ")" && token.text != "]",
        TokenKind::Word => OPERAND_FOLLOWS.split(' ').any(|word| word == token.text),
        TokenKind::Quoted | TokenKind::Literal => false,
    })
}

fn is_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_operator(c: char) -> bool {
    "+-*/<>=~!@#%^&|?:".contains(c)
}

/// Length of the longest beginning of `text` whose characters all pass.
fn run(text: &str, pass: impl Fn(char) -> bool) -> usize {
    text.find(|c| !pass(c)).unwrap_or(text.len())
}

/// A run of operator characters, but not into a comment or the sign of a number.
fn operator(text: &str) -> usize {
    let len = run(text, is_operator);
    let comment = |at: usize| text[at..].starts_with("--") || text[at..].starts_with("/*");
    let sign = |at: usize| text[at..].starts_with(['+', '-']) && begins_number(&text[at + 1..]);
    (1..len).find(|&at| comment(at) || sign(at)).unwrap_or(len)
}

/// `1`, `.5`; a point alone begins no number.
fn begins_number(text: &str) -> bool {
    let digits = text.strip_prefix('.').unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit())
}

/// `12`, `1.5e-3`, `0xff`, `1_000`.
fn number(text: &str) -> usize {
    let mut len = run(text, |c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
    let exponent = text[..len].ends_with(['e', 'E']) && !text.starts_with("0x");
    if exponent && text[len..].starts_with(['+', '-']) {
        len += 1 + run(&text[len + 1..], |c| c.is_ascii_digit());
    }
    len
}

/// From an opening quote through the closing one; a doubled quote, and a backslashed one where `escapes`, is inside.
fn quoted(text: &str, quote: char, escapes: bool) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if escapes && c == '\\' {
            chars.next();
        } else if c == quote && chars.next_if(|&(_, next)| next == quote).is_none() {
            return at + 1;
        }
    }
    text.len()
}

/// `$$ .. $$` or `$tag$ .. $tag$`; nothing where no such quote begins.
fn dollar_quoted(text: &str) -> Option<usize> {
    let tag_len = 1 + run(&text[1..], |c| is_word(c) || c.is_ascii_digit());
    let tag = text.get(..=tag_len).filter(|tag| tag.ends_with('$'))?;
    let body = &text[tag.len()..];
    Some(
        body.find(tag)
            .map_or(text.len(), |end| tag.len() + end + tag.len()),
    )
}

/// The rest after white space and comments; block comments nest.
fn skip_blank(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        if rest.starts_with("--") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("/*") {
            rest = after_block_comment(rest);
        } else {
            return rest;
        }
        rest = rest.trim_start();
    }
}

fn after_block_comment(text: &str) -> &str {
    let (mut depth, mut rest) = (0, text);
    loop {
        if let Some(inner) = rest.strip_prefix("/*") {
            (depth, rest) = (depth + 1, inner);
        } else if let Some(outer) = rest.strip_prefix("*/") {
            (depth, rest) = (depth - 1, outer);
            if depth == 0 {
                return rest;
            }
        } else {
            let mut chars = rest.chars();
            if chars.next().is_none() {
                return "";
            }
            rest = chars.as_str();
        }
    }
}
