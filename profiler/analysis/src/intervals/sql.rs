//! SQL statements without their literals, so that executions of one statement form one class.
//!
//! Works on any dialect's tokens, and on text that was cut off anywhere. Literals and parameters become `?`, except
//! for `NULL`, which often changes the plan. The lists of `IN` and the rows of `VALUES` collapse, comments are
//! removed, white space folds, and text outside of quoted identifiers becomes lower case.

mod tokens;

use tokens::{Token, TokenKind, tokens};

/// Words a statement begins with.
const VERBS: &str = "abort alter analyze begin call checkpoint close cluster comment commit copy create deallocate \
    declare delete discard do drop end execute explain fetch grant insert listen load lock merge notify prepare \
    reindex release replace reset revoke rollback savepoint select set show start table truncate update use vacuum \
    values with";

/// Whether `text` looks like a statement.
pub fn is_sql(text: &str) -> bool {
    let tokens = tokens(text);
    let first = tokens.iter().find(|token| token.text != "(");
    first.is_some_and(|token| VERBS.split(' ').any(|verb| verb == token.text))
}

/// Whether `text` is a statement about tables, which no other protocol's command is taken for: Redis has `select 0`, memcached `delete key`.
pub fn is_about_tables(text: &str) -> bool {
    let tokens = tokens(text);
    let mut words = tokens.iter().map(|token| &*token.text);
    match words.find(|word| *word != "(") {
        Some("select" | "delete" | "with") => words.any(|word| word == "from"),
        Some("insert" | "replace" | "merge") => words.any(|word| word == "into"),
        Some("update") => words.any(|word| word == "set"),
        _ => false,
    }
}

/// The statement in normal form.
pub fn normalise(text: &str) -> String {
    let mut tokens = tokens(text);
    while tokens.last().is_some_and(|token| token.text == ";") {
        tokens.pop();
    }
    let tokens = collapse_rows(collapse_in_lists(tokens));
    let mut normal = String::with_capacity(text.len());
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 && space_between(&tokens[at - 1], token) {
            normal.push(' ');
        }
        normal.push_str(&token.text);
    }
    normal
}

fn space_between(left: &Token, right: &Token) -> bool {
    match (&*left.text, &*right.text) {
        (_, "," | ")" | "]" | ";" | "." | "[") | ("(" | "[" | ".", _) | ("::", _) | (_, "::") => {
            false
        }
        (",", _) => true,
        (word, "(") => {
            left.kind != TokenKind::Word || right.spaced || word == "in" || word == "values"
        }
        _ => true,
    }
}

/// `in (?, ?, ?)` and its cut-off beginnings become `in (?)`.
fn collapse_in_lists(tokens: Vec<Token>) -> Vec<Token> {
    let mut kept: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut in_list = false;
    for token in tokens {
        match &*token.text {
            "(" => in_list = kept.last().is_some_and(|last| last.text == "in"),
            "?" | "," => {
                let after = kept
                    .last()
                    .is_some_and(|last| last.text == "?" || last.text == ",");
                if in_list && after {
                    continue;
                }
            }
            _ => in_list = false,
        }
        kept.push(token);
    }
    kept
}

/// Rows after `values` that repeat the first, the last one possibly cut off, are dropped.
fn collapse_rows(mut tokens: Vec<Token>) -> Vec<Token> {
    let same = |a: &Token, b: &Token| a.text == b.text;
    let Some(start) = tokens
        .windows(2)
        .position(|two| two[0].text == "values" && two[1].text == "(")
    else {
        return tokens;
    };
    let start = start + 1;
    let Some(len) = closing(&tokens[start..]) else {
        return tokens;
    };
    let next = start + len;
    while tokens.get(next).is_some_and(|token| token.text == ",") {
        let row = &tokens[start..next];
        let rest = &tokens[next + 1..];
        let taken = rest.len().min(len);
        if !rest[..taken].iter().zip(row).all(|(a, b)| same(a, b)) {
            break;
        }
        tokens.drain(next..next + 1 + taken);
    }
    tokens
}

/// Number of tokens from an opening parenthesis through its closing one.
fn closing(tokens: &[Token]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match &*token.text {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_go() {
        let cases = [
            (
                "UPDATE pgbench_accounts SET abalance = abalance + -4716 WHERE aid = 2103;",
                "update pgbench_accounts set abalance = abalance + ? where aid = ?",
            ),
            (
                "UPDATE pgbench_accounts SET abalance = abalance + 4716 WHERE aid=2103",
                "update pgbench_accounts set abalance = abalance + ? where aid = ?",
            ),
            (
                "SELECT 'it''s', E'it\\'s', 1.5e-3, 0xFF, .5",
                "select ?, ?, ?, ?, ?",
            ),
            ("select a-1, a - 1, -1, (-1)", "select a - ?, a - ?, ?, (?)"),
            ("select $$it's$$, $tag$ $$ $tag$, $1", "select ?, ?, ?"),
            (
                "select x'ff', B'01', N'a', U&'d\\0061t'",
                "select ?, ?, ?, ?",
            ),
            ("select a1, t_2.b3 from x", "select a1, t_2.b3 from x"),
            (
                "insert into t values (NULL, 1, now())",
                "insert into t values (null, ?, now())",
            ),
            ("select '2020-01-01'::date", "select ?::date"),
            ("select a=-1", "select a = ?"),
        ];
        for (statement, class) in cases {
            assert_eq!(normalise(statement), class);
        }
    }

    #[test]
    fn lists_collapse() {
        let cases = [
            (
                "select * from t where a IN(1, 2,3) and b = 1",
                "select * from t where a in (?) and b = ?",
            ),
            (
                "select * from t where a in ('x','y",
                "select * from t where a in (?",
            ),
            (
                "insert into t (a, b) values (1, 'a'), (2, 'b'),(3,'c')",
                "insert into t (a, b) values (?, ?)",
            ),
            (
                "insert into t values (1,2),(3,",
                "insert into t values (?, ?)",
            ),
            (
                "insert into t values (1,2),(3,default)",
                "insert into t values (?, ?), (?, default)",
            ),
            ("select f(1, 2)", "select f(?, ?)"),
            (
                "select * from t where (a, b) in ((1, 2))",
                "select * from t where (a, b) in ((?, ?))",
            ),
        ];
        for (statement, class) in cases {
            assert_eq!(normalise(statement), class);
        }
    }

    #[test]
    fn spelling_folds() {
        let cases = [
            (
                "  Select\n\t*  FROM \"My Table\" -- why\n",
                "select * from \"My Table\"",
            ),
            ("/* app:/x /* nested */ */ SELECT 1", "select ?"),
            ("BEGIN;", "begin"),
            ("select `Q``q`.x from y", "select `Q``q`.x from y"),
            ("select a->>'k' from t", "select a ->> ? from t"),
            ("select count(*) from t", "select count(*) from t"),
            ("(select 1)", "(select ?)"),
        ];
        for (statement, class) in cases {
            assert!(is_sql(statement), "{statement}");
            assert_eq!(normalise(statement), class);
        }
    }

    #[test]
    fn other_text_is_not_sql() {
        for text in ["GET /a", "new order", "", "selection", "/* open", "42"] {
            assert!(!is_sql(text), "{text}");
        }
    }

    proptest::proptest! {
        /// For any input, also cut anywhere: it ends, does not panic, and leaves a normal form unchanged.
        #[test]
        fn normal_forms_are_stable(text in "[a-z0-9 '\"$(),.*/;\\\\=+é-]{0,60}") {
            let once = normalise(&text);
            let _ = is_sql(&text);
            proptest::prop_assert_eq!(&normalise(&once), &once);
        }
    }
}
