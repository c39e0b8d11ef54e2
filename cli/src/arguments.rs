//! Normalises the command line for the parser. Options may follow positional arguments. `--json FILE` becomes
//! `--json=FILE` where FILE cannot be an input file.

use std::ffi::OsString;

use clap::{ArgAction, Args, Command};

use crate::bench;

/// Commands that read no files of their own, so that what follows `--json` is where to write.
const WRITERS: [&str; 2] = ["profile", "attach"];

/// The words of a command line, the program's name first.
pub fn normal(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let words: Vec<OsString> = words.into_iter().collect();
    let named = |at: usize| words.get(at).and_then(|word| word.to_str()).unwrap_or("");
    if WRITERS.contains(&named(1)) {
        return joined(words);
    }
    if (named(1), named(2)) == ("bench", "compare") {
        return own_first(words);
    }
    words
}

/// `--json FILE` as one word.
fn joined(words: Vec<OsString>) -> Vec<OsString> {
    let is_file = |word: &OsString| {
        let text = word.to_string_lossy();
        let is_process = text.bytes().all(|byte| byte.is_ascii_digit());
        text == "-" || !(text.starts_with('-') || is_process)
    };
    let mut joined: Vec<OsString> = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            joined.push(word);
            joined.extend(words);
            break;
        }
        match words.next_if(|next| word == "--json" && is_file(next)) {
            Some(file) => {
                let mut both = OsString::from("--json=");
                both.push(file);
                joined.push(both);
            }
            None => joined.push(word),
        }
    }
    joined
}

/// Moves the options of `bench compare` itself in front of the workload. The words after the workload are parsed once
/// for each configuration.
fn own_first(words: Vec<OsString>) -> Vec<OsString> {
    /// `evenkeel bench compare`.
    const NAMES: usize = 3;
    let command = bench::compare::Arguments::augment_args(Command::new("compare"));
    let own: Vec<(String, bool)> = command
        .get_arguments()
        .filter_map(|one| {
            let takes_value = matches!(one.get_action(), ArgAction::Set | ArgAction::Append);
            let is_optional = one.is_require_equals_set();
            Some((one.get_long()?.to_owned(), takes_value && !is_optional))
        })
        .collect();
    let (mut first, mut rest) = (words[..NAMES].to_vec(), Vec::new());
    let mut words = words.into_iter().skip(NAMES);
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        let (name, value) = match text.split_once('=') {
            Some((name, _)) => (name, true),
            None => (&*text, false),
        };
        let is_own = |(long, _): &&(String, bool)| name.strip_prefix("--") == Some(long);
        match own.iter().find(is_own) {
            Some((_, takes_value)) => {
                let takes_next = *takes_value && !value;
                first.push(word);
                if takes_next {
                    first.extend(words.next());
                }
            }
            None => rest.push(word),
        }
    }
    first.extend(rest);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &[&str]) -> Vec<String> {
        let words = normal(line.iter().map(OsString::from));
        let text = |word: OsString| word.into_string().unwrap();
        words.into_iter().map(text).collect()
    }

    #[test]
    fn json_may_be_followed_by_its_file() {
        assert_eq!(
            of(&[
                "evenkeel", "profile", "--json", "a", "--", "cat", "--json", "b"
            ]),
            [
                "evenkeel", "profile", "--json=a", "--", "cat", "--json", "b"
            ]
        );
        assert_eq!(
            of(&["evenkeel", "attach", "--json", "77"])[2..],
            ["--json", "77"]
        );
        assert_eq!(of(&["evenkeel", "attach", "--json", "-"])[2], "--json=-");
        // What a command reads is never written.
        assert_eq!(
            of(&["evenkeel", "report", "--json", "a.keel"])[2..],
            ["--json", "a.keel"]
        );
        assert_eq!(
            of(&["evenkeel", "spans", "--json", "a.json"])[2..],
            ["--json", "a.json"]
        );
    }

    #[test]
    fn options_of_bench_compare_may_stand_behind_the_workload() {
        let line =
            "evenkeel bench compare --with a tpcc --rate 5 --json --with b --rounds 3 --for 1s";
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(
            of(&words).join(" "),
            "evenkeel bench compare --with a --json --with b --rounds 3 tpcc --rate 5 --for 1s"
        );
        assert_eq!(of(&["evenkeel", "bench", "compare"]).len(), 3);
    }
}
