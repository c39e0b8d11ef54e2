//! The command lines that documents and helps show are ones that the parser takes.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser};

use crate::{Cli, arguments};

/// The README, the book and other files with commands to copy.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = [
        "",
        "docs/src",
        "docs/src/how-to",
        "docs/src/reference",
        "docs/src/explanation",
        "docs/src/evidence",
    ];
    let files = folders.iter().flat_map(|folder| {
        let entries = fs::read_dir(root.join(folder)).expect("a folder of documents");
        entries.map(|entry| entry.expect("an entry").path())
    });
    files
        .filter(|file| file.extension().is_some_and(|kind| kind == "md"))
        .collect()
}

/// The fenced blocks of a document, or a whole help text.
fn fenced(text: &str) -> String {
    let parts = text.split("```");
    parts.skip(1).step_by(2).collect()
}

/// The command lines of a text, with continuation lines joined. `sudo` and a prompt are removed. A line of a report
/// is skipped: its name is followed by two blanks.
fn lines(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let lines = text.lines().map(str::trim_start);
    let lines = lines.map(|line| line.strip_prefix("$ ").unwrap_or(line));
    let lines = lines.map(|line| line.strip_prefix("sudo ").unwrap_or(line));
    lines
        .filter(|line| line.starts_with("evenkeel ") && !line.starts_with("evenkeel  "))
        .map(str::to_owned)
        .collect()
}

/// The words of a command line as a shell splits them, up to a pipe, redirection or remark.
fn words(line: &str) -> Vec<String> {
    /// Blanks that separate a remark from the command.
    const APART: usize = 5;
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let (mut quote, mut blanks) = (None, 0);
    for letter in line.chars() {
        blanks = if letter == ' ' { blanks + 1 } else { 0 };
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            (letter, Some(_)) => word.get_or_insert_default().push(letter),
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            ('|' | '>' | '&' | '#', None) if word.is_none() => break,
            (' ', None) if blanks == APART => break,
            (' ', None) => words.extend(word.take()),
            (letter, None) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

fn parsed(line: &str) -> Result<(), String> {
    let words = arguments::normal(words(line).into_iter().map(Into::into));
    let parsed = Cli::try_parse_from(words);
    parsed
        .map(|_| ())
        .map_err(|error| format!("{line}\n{error}"))
}

#[test]
fn words_are_those_of_a_shell() {
    for (line, expected) in [
        (
            "evenkeel a 'b c'  \"d\" '' > e",
            &["evenkeel", "a", "b c", "d", ""][..],
        ),
        ("evenkeel a      and why", &["evenkeel", "a"]),
        ("evenkeel a# b|c", &["evenkeel", "a#", "b|c"]),
    ] {
        assert_eq!(words(line), expected, "{line}");
    }
}

#[test]
fn documents_show_commands_that_are_understood() {
    let mut understood = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document");
        for line in lines(&fenced(&text)) {
            if let Err(why) = parsed(&line) {
                panic!("{}: {why}", document.display());
            }
            understood += 1;
        }
    }
    assert!(understood > 40, "{understood}");
}

/// Examples of a command and of those below it.
fn examples(command: &clap::Command, into: &mut Vec<String>) {
    let help = command.get_after_help().map(ToString::to_string);
    into.extend(lines(&help.unwrap_or_default()));
    for below in command.get_subcommands() {
        examples(below, into);
    }
}

#[test]
fn helps_show_commands_that_are_understood() {
    let mut lines = Vec::new();
    examples(&Cli::command(), &mut lines);
    assert!(lines.len() > 40, "{}", lines.len());
    for line in lines {
        parsed(&line).unwrap_or_else(|why| panic!("{why}"));
    }
}

/// The long options of a command and of those below it.
fn options(command: &clap::Command, into: &mut Vec<String>) {
    let long = command.get_arguments().filter(|one| !one.is_hide_set());
    into.extend(long.filter_map(|one| Some(format!("--{}", one.get_long()?))));
    for below in command.get_subcommands() {
        options(below, into);
    }
}

#[test]
fn the_reference_has_every_option() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/reference/options.md");
    let page = fs::read_to_string(page).expect("the page of options");
    let named: Vec<&str> = page
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .collect();
    let mut wanted = Vec::new();
    options(&Cli::command(), &mut wanted);
    wanted.retain(|one| one != "--help" && one != "--version");
    wanted.retain(|one| !named.contains(&one.as_str()));
    assert!(
        wanted.is_empty(),
        "docs/src/reference/options.md: {wanted:?}"
    );
}
