//! The book's pages of causes and remedies, a page a server, are what the advice files say. `UPDATE_CATALOGUE=1 cargo test -p evenkeel-report
//! --test catalogue` writes them.

mod proofs;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use evenkeel_report::advice::{self, Pattern, Server};
use evenkeel_report::findings::gives_up;
use evenkeel_report::fit::wrap;

/// Columns of a line of the book.
const COLUMNS: usize = 116;

/// Patterns that fire in tests with real servers, and the tests.
const BY_TESTS: [(&str, &str, &str); 3] = [
    ("ZooKeeper", "forcing the log", "cli/tests/java_servers.rs"),
    (
        "Kafka",
        "waiting for a forced log",
        "cli/tests/java_servers.rs",
    ),
    (
        "Tomcat",
        "waiting for a thread",
        "cli/tests/java_servers.rs",
    ),
];

/// By pattern of a server: what proves it.
type Proofs = BTreeMap<String, Vec<String>>;

/// The recorded problems and the recordings on which a server's patterns fire.
fn proofs(server: &Server) -> Proofs {
    let mut proofs = Proofs::new();
    let cases = proofs::cases().into_iter();
    for (path, case) in
        cases.filter(|(_, case)| proofs::server_of(&case.target).server == server.server)
    {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is_reproduced = case.about.starts_with("scripts/patterns/");
        if let Some(pattern) = case.expected.filter(|_| is_reproduced) {
            proofs.entry(pattern).or_default().push(format!("`{name}`"));
        }
    }
    for (_, pattern, test) in BY_TESTS.iter().filter(|(of, ..)| *of == server.server) {
        let known = proofs.entry((*pattern).to_owned()).or_default();
        known.push(format!("the test `{test}`"));
    }
    let recordings = proofs::RECORDINGS.iter();
    for (name, _, patterns) in recordings.filter(|(_, of, _)| *of == server.server) {
        for pattern in *patterns {
            let known = proofs.entry((*pattern).to_owned()).or_default();
            known.push(format!("the recording `{name}`"));
        }
    }
    proofs
}

/// Patterns that a reproduction proves.
fn proved(server: &Server, proofs: &Proofs) -> usize {
    let patterns = server.patterns.iter();
    patterns.filter(|it| proofs.contains_key(&it.name)).count()
}

/// How much is known, and proved, of each server.
fn counts() -> String {
    let mut page = "# What is known, and proved\n\n".to_owned();
    paragraph(
        &mut page,
        "A pattern is a cause that a report recognises, with its check and its remedies. It is proved if its problem was reproduced on a \
         stock server and the report named it first or second. `make test-advice` reproduces all of them, and `make test` replays the \
         profiles recorded then.",
        "",
    );
    page.push_str("| server | patterns | proved |\n|---|---:|---:|\n");
    for server in advice::servers() {
        let name = &server.server;
        let file = name.to_lowercase();
        let proved = proved(server, &proofs(server));
        let _ = writeln!(
            page,
            "| [{name}]({file}.md) | {} | {proved} |",
            server.patterns.len()
        );
    }
    page
}

fn page(server: &Server) -> String {
    let proofs = proofs(server);
    let proved = proved(server, &proofs);
    let mut page = format!("# {}: causes and remedies\n\n", server.server);
    paragraph(
        &mut page,
        &format!(
            "What makes {} slow now and then, how to see it without Evenkeel, and what helps. Remedies come from the safest to the most costly. \
             This page is made from `profiler/report/advice/{}`, which reports quote. A pattern is proved if its problem was reproduced on a \
             stock server and the report named it (`make test-advice`). Proved are {proved} of {}.",
            server.server,
            file(server),
            server.patterns.len()
        ),
        "",
    );
    for pattern in &server.patterns {
        section(&mut page, pattern, proofs.get(&pattern.name));
    }
    page.trim_end().to_owned() + "\n"
}

fn section(page: &mut String, pattern: &Pattern, proofs: Option<&Vec<String>>) {
    let mut name = pattern.name.clone();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let _ = write!(page, "## {name}\n\n");
    paragraph(page, &format!("{}.", escaped(&pattern.means)), "");
    paragraph(page, &format!("**Check.** {}", escaped(&pattern.check)), "");
    paragraph(page, &symptom(pattern), "");
    let proof = match proofs {
        Some(proofs) => format!("**Proved by** {}.", proofs.join(", ")),
        None => "**Not proved** by a reproduction: it rests on the server's source and manual."
            .to_owned(),
    };
    paragraph(page, &proof, "");
    for (at, advice) in pattern.advice.iter().enumerate() {
        let mut text = format!("{}. ", at + 1);
        if let Some(what) = advice.gives_up {
            let _ = write!(text, "**{}.** ", capitalised(gives_up(what)));
        }
        let source = match advice.source.starts_with("http") {
            true => format!("<{}>", advice.source.replace("; ", ">, <")),
            false => advice.source.clone(),
        };
        let since = match advice.since.as_str() {
            "any" => String::new(),
            version => format!("*Since:* {version}. "),
        };
        let _ = write!(
            text,
            "{} *Costs:* {}. {since}*Source:* {source}",
            escaped(&advice.what),
            escaped(&advice.costs)
        );
        paragraph(page, &text, "   ");
    }
}

/// The part of a profile that identifies the pattern.
fn symptom(pattern: &Pattern) -> String {
    let listed = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let functions = match pattern.functions.is_empty() {
        true => "any function".to_owned(),
        false => listed(&pattern.functions),
    };
    let mut text = format!("**In a report.** {functions}");
    for (names, words) in [
        (&pattern.called_by, "called by"),
        (&pattern.within, "on the way from"),
        (&pattern.held_by, "waiting for"),
        (&pattern.while_in, "while the holder is in"),
        (&pattern.after, "after the holder's statement"),
        (&pattern.seen, "with, in the same profile,"),
    ] {
        if !names.is_empty() {
            let _ = write!(text, "; {words} {}", listed(names));
        }
    }
    if !pattern.classes.is_empty() {
        let _ = write!(
            text,
            "; or work in the classes {}",
            listed(&pattern.classes)
        );
    }
    if pattern.crowded {
        text.push_str("; more intervals in progress than processors");
    }
    text + "."
}

fn capitalised(text: &str) -> String {
    let text = text.to_lowercase();
    text[..1].to_uppercase() + &text[1..]
}

/// Text of the advice in Markdown: escapes the asterisks of SQL.
fn escaped(text: &str) -> String {
    text.replace('*', "\\*").replace('<', "\\<")
}

/// `indent`: of every line but the first.
fn paragraph(page: &mut String, text: &str, indent: &str) {
    for (at, line) in wrap(text, COLUMNS - indent.len()).iter().enumerate() {
        let indent = if at == 0 { "" } else { indent };
        let _ = writeln!(page, "{indent}{line}");
    }
    page.push('\n');
}

fn file(server: &Server) -> String {
    format!("{}.toml", server.server.to_lowercase())
}

#[test]
fn the_book_has_what_the_advice_files_say() {
    let book = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
    let summary = std::fs::read_to_string(book.join("SUMMARY.md")).unwrap();
    let pages = advice::servers().iter().map(|server| {
        let name = format!("servers/{}.md", server.server.to_lowercase());
        (name, page(server))
    });
    for (name, wanted) in pages.chain([("servers/index.md".to_owned(), counts())]) {
        let path = book.join(&name);
        if std::env::var_os("UPDATE_CATALOGUE").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &wanted).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == wanted,
            "{name} is not what the advice says: UPDATE_CATALOGUE=1 cargo test -p evenkeel-report --test catalogue writes it"
        );
        assert!(summary.contains(&name), "{name} is not in the summary");
    }
}
