//! Text into columns: names are untrusted (symbols, SQL) and of any length, a terminal's width is given.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns `text` takes.
pub fn columns(text: &str) -> usize {
    text.width()
}

/// `text` without control characters, so that a name cannot move the cursor or colour the terminal.
pub fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '·' } else { c })
        .collect()
}

/// At most `width` columns of `text`; the middle gives way, because C++ names differ at both ends.
pub fn middle(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_string();
    }
    if width == 0 {
        return String::new();
    }
    // The end names the function proper, so it gets the odd column.
    let head = (width - 1) / 2;
    let tail = width - 1 - head;
    format!(
        "{}…{}",
        take(text.chars(), head),
        reversed(&take(text.chars().rev(), tail))
    )
}

fn take(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut left = width;
    chars
        .take_while(|c| {
            let needed = c.width().unwrap_or(0);
            let fits = needed <= left;
            left = left.saturating_sub(needed);
            fits
        })
        .collect()
}

fn reversed(text: &str) -> String {
    text.chars().rev().collect()
}

/// `text` in exactly `width` columns, to the left.
pub fn left(text: &str, width: usize) -> String {
    let text = middle(text, width);
    let pad = width - columns(&text);
    text + &" ".repeat(pad)
}

/// `text` in exactly `width` columns, to the right.
pub fn right(text: &str, width: usize) -> String {
    let text = middle(text, width);
    " ".repeat(width - columns(&text)) + &text
}

/// `text` broken at spaces into lines of at most `width` columns; a longer word is shortened in the middle. A number keeps
/// its unit: the space before `%` or a unit of time does not break.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words(text) {
        let word = middle(&word, width);
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(&word) <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = word.trim_end_matches([',', '.', ';', ':', ')']);
        match words.last_mut() {
            Some(last)
                if ["%", "ns", "µs", "ms", "s"].contains(&unit)
                    && last.ends_with(|c: char| c.is_ascii_digit()) =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_string()),
        }
    }
    words
}

/// A bar of `width` columns filled to `fraction` (0 to 1), in eighths of a column.
pub fn bar(fraction: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (fraction.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    left(&("█".repeat(eighths / 8) + EIGHTHS[eighths % 8]), width)
}

/// Call path in at most `width` columns: the root and as many of the last steps as fit, `…` for those between. Paths of one
/// or two steps stay whole.
pub fn path(steps: &[String], width: usize) -> String {
    const GAP: &str = " > ";
    let whole = steps.join(GAP);
    let ([root, .., last], true) = (steps, columns(&whole) > width) else {
        return whole;
    };
    for first_kept in 2..steps.len() {
        let shortened = format!("{root}{GAP}…{GAP}{}", steps[first_kept..].join(GAP));
        if columns(&shortened) <= width {
            return shortened;
        }
    }
    // Not even root and last fit: the reader looks for the last, and knows the root.
    let before_last = format!("…{GAP}");
    for first_kept in 1..steps.len() {
        let shortened = format!("{before_last}{}", steps[first_kept..].join(GAP));
        if columns(&shortened) <= width {
            return shortened;
        }
    }
    let room = width.saturating_sub(columns(&before_last));
    format!("{before_last}{}", middle(last, room))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_middle_gives_way() {
        assert_eq!(middle("abcdefgh", 8), "abcdefgh");
        assert_eq!(middle("abcdefgh", 5), "ab…gh");
        assert_eq!(middle("abcdefgh", 4), "a…gh");
        assert_eq!(middle("abcdefgh", 1), "…");
        assert_eq!(middle("abc", 0), "");
        assert_eq!(middle("漢字漢字", 5), "漢…字");
    }

    #[test]
    fn a_path_keeps_its_ends() {
        let steps = [
            "exec_simple_query",
            "CommitTransaction",
            "XLogFlush",
            "LWLockAcquireOrWait",
        ]
        .map(String::from);
        assert_eq!(
            path(&steps, 100),
            "exec_simple_query > CommitTransaction > XLogFlush > LWLockAcquireOrWait"
        );
        assert_eq!(
            path(&steps, 60),
            "exec_simple_query > … > XLogFlush > LWLockAcquireOrWait"
        );
        assert_eq!(
            path(&steps, 45),
            "exec_simple_query > … > LWLockAcquireOrWait"
        );
        assert_eq!(path(&steps, 30), "… > LWLockAcquireOrWait");
        assert_eq!(path(&steps, 15), "… > LWLoc…rWait");
    }

    #[test]
    fn numbers_keep_their_units() {
        assert_eq!(wrap("it takes 40 % of it", 11), ["it takes", "40 % of it"]);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\n"), "a·[31mb·");
    }

    #[test]
    fn bars() {
        assert_eq!(bar(0.5, 4), "██  ");
        assert_eq!(bar(0.25 / 8.0, 4), "▏   ");
        assert_eq!(bar(7.0, 2), "██");
        assert_eq!(bar(-1.0, 2), "  ");
    }

    proptest! {
        #[test]
        fn nothing_exceeds_its_width(text in "\\PC{0,60}", width in 0usize..40) {
            prop_assert!(columns(&middle(&text, width)) <= width);
            prop_assert!(wrap(&text, width.max(1)).iter().all(|line| columns(line) <= width.max(1)));
        }

        #[test]
        fn a_shortened_path_fits(steps in proptest::collection::vec("[a-z:<>]{1,50}", 1..6), width in 20usize..120) {
            let whole = steps.join(" > ");
            let fitted = path(&steps, width);
            prop_assert!(columns(&fitted) <= width || steps.len() < 3 && fitted == whole);
        }
    }
}
