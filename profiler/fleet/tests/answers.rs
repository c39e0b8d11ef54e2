//! Answers of the embedded engine are those of DuckDB on the same tables; a question without an answer gets a
//! message.

mod support;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use evenkeel_export::columns::schema::Table;
use serde_json::Value;
use support::planted::Planted;
use support::{
    QUESTIONS, STRANGE, duckdb, empty_file, evenkeel, export, fleet, planted, rows, run, same,
    source,
};

#[test]
fn answers_are_those_of_duckdb() {
    let place = tempfile::tempdir().unwrap();
    let mut fleets = vec!["planted"];
    planted(place.path());
    for name in ["postgres-transaction", "mariadb-rows", "apache-request"] {
        let recording = format!("profiler/recording/tests/recordings/{name}.keel");
        export(place.path(), &source(&recording), name);
        fleets.push(name);
    }
    for name in fleets {
        let tables = place.path().join(name);
        for question in QUESTIONS {
            let Some(theirs) = duckdb(&tables, question) else {
                return;
            };
            if theirs.is_empty() {
                // A single host, build, class and day.
                assert_eq!(
                    (question, rows(&tables, &["-q", question])),
                    ("groups", vec![])
                );
                continue;
            }
            same(&rows(&tables, &["-q", question]), &theirs, question);
            if question != "groups" {
                continue;
            }
            for by in ["host", "build", "class", "period"] {
                let mut expected = theirs.clone();
                expected.retain(|row| row["dimension"] == by);
                let ours = rows(&tables, &["--by", by]);
                match expected.is_empty() {
                    true => assert_eq!(ours, expected),
                    false => same(&ours, &expected, by),
                }
            }
        }
    }
}

/// The user sees the fleet, the question, and the differing groups; a host has its own name.
#[test]
fn a_terminal_shows_who_differs() {
    let place = tempfile::tempdir().unwrap();
    planted(place.path());
    let tables = place.path().join("planted");
    let path = std::env::join_paths([Path::new(env!("CARGO_BIN_EXE_evenkeel-fleet"))
        .parent()
        .unwrap()]);
    let said = run(evenkeel()
        .env("PATH", path.unwrap())
        .arg("fleet")
        .arg(&tables)
        .args(["--by", "host"]));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(
        lines[0],
        "4 hosts, 2 builds, 4 recordings, 12,000 intervals, 2023-11-14 to 2023-11-15 (UTC)"
    );
    assert!(lines[3].starts_with("which"), "{}", said.stdout);
    assert!(
        lines[4].starts_with("db3 ") && lines[4].contains("disk"),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains(STRANGE), "{}", said.stdout);

    let shares = fleet([tables.as_os_str()]);
    assert!(
        shares.stdout.contains("request > disk"),
        "{}",
        shares.stdout
    );
    let file = place.path().join("shares.json");
    let written = format!("--json={}", file.display());
    let with_file = fleet([tables.as_os_str(), written.as_ref()]);
    assert_eq!(with_file.stdout, shares.stdout, "the text is printed");
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(written["rows"].as_array().unwrap(), &rows(&tables, &[]));
    let few = fleet([tables.as_os_str(), "-k".as_ref(), "1".as_ref()]);
    assert!(few.stdout.contains("more rows: --rows"), "{}", few.stdout);
    let help = fleet(["--help"]);
    assert!(help.stdout.contains("Examples:") && help.stdout.contains("evenkeel fleet"));

    let sql = place.path().join("own.sql");
    fs::write(
        &sql,
        format!(
            "SELECT DISTINCT host FROM moments WHERE host = '{}'",
            STRANGE.replace('\'', "''")
        ),
    )
    .unwrap();
    let own = rows(&tables, &["--sql", sql.to_str().unwrap()]);
    assert_eq!(own, [serde_json::json!({ "host": STRANGE })]);
}

/// The page has the rows that the terminal shows, what the fleet is, and the query; names that would be markup are text.
#[test]
fn a_page_shows_the_same() {
    let place = tempfile::tempdir().unwrap();
    planted(place.path());
    let tables = place.path().join("planted");
    let page = |words: &[&str]| -> (String, Value) {
        let file = place.path().join("page.html");
        let all = [tables.as_os_str(), "--html".as_ref(), file.as_os_str()];
        let words = words.iter().map(OsStr::new);
        let said = fleet(all.into_iter().chain(words));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(!said.stdout.is_empty());
        let page = fs::read_to_string(file).unwrap();
        let (_, inside) = page.split_once("id=\"answer\">").unwrap();
        let (inside, _) = inside.split_once("</script").unwrap();
        let inside = serde_json::from_str(inside).unwrap();
        (page, inside)
    };
    let (_, groups) = page(&["--by", "host"]);
    assert_eq!(groups["figures"][0], serde_json::json!(["4", "hosts"]));
    let ours = rows(&tables, &["--by", "host"]);
    let shown = groups["rows"].as_array().unwrap();
    assert_eq!(shown.len(), ours.len());
    for (shown, ours) in shown.iter().zip(&ours) {
        let [mean_ns, name] = [&ours["mean_ns"], &ours["name"]];
        assert_eq!(
            [&shown[0], &shown[2], &shown[8]],
            [&ours["member"], mean_ns, name]
        );
    }
    let hosts = shown.iter().map(|row| row[0].as_str().unwrap());
    assert!(hosts.into_iter().any(|host| host == STRANGE));

    let query = place.path().join("query.sql");
    let hostile = "</script><script>alert(1)</script>";
    fs::write(
        &query,
        format!("SELECT '{hostile}' AS path, MAX(node) AS node FROM nodes"),
    )
    .unwrap();
    let (page, own) = page(&["--sql", query.to_str().unwrap()]);
    assert_eq!(own["rows"][0][0], hostile);
    assert!(!page.contains("alert(1)</script"), "{page}");
    let said = fleet([
        tables.as_os_str(),
        "--html".as_ref(),
        "/missing/page.html".as_ref(),
    ]);
    assert_eq!(said.code, Some(2));
    assert!(
        said.stderr.contains("cannot write /missing/page.html"),
        "{}",
        said.stderr
    );
}

/// Asks, and is refused with these words.
#[track_caller]
fn refused(directory: &Path, words: &[&str], expected: &[&str]) {
    let words = words.iter().map(OsStr::new);
    fleet([directory.as_os_str()].into_iter().chain(words)).refuses(2, expected);
}

#[test]
fn impossible_questions_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let sums = place.path().join("sums.keel");
    Planted::default().write_sums(&sums, 3, 60_000_000_000);
    export(place.path(), &sums, "sums");
    let tables = place.path().join("sums");

    refused(
        &place.path().join("missing"),
        &[],
        &["missing", "evenkeel export"],
    );
    refused(
        place.path(),
        &[],
        &["no table intervals", "evenkeel export"],
    );
    refused(
        &tables,
        &["-q", "tails"],
        &["intervals", "no rows", "--summary"],
    );
    refused(
        &tables,
        &["-q", "shares", "--by", "host"],
        &["leave --by out"],
    );
    refused(&tables, &["-q", "nothing"], &["shares", "groups"]);
    refused(&tables, &["--sql", "missing.sql"], &["missing.sql"]);
    let written = place.path().join("written.csv");
    let copy = format!("COPY moments TO '{}'", written.display());
    let queries = [
        ("SELEC 1", "mend the query"),
        (
            "SELECT nothing FROM moments",
            "docs/src/reference/tables.md",
        ),
        ("SELECT * FROM nothing", "docs/src/reference/tables.md"),
        (&copy, "only queries are run"),
        ("DROP TABLE moments", "only queries are run"),
        (
            "SELECT SUM(inclusive_squared) * CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0)) FROM moments",
            "fewer days",
        ),
    ];
    for (sql, said) in queries {
        let file = place.path().join("query.sql");
        fs::write(&file, sql).unwrap();
        let file = file.to_str().unwrap();
        refused(
            &tables,
            &["--sql", file],
            &["query.sql cannot be answered", said],
        );
    }
    assert!(!written.exists());
}

/// Exports two recordings, and puts the tables of both into one directory.
fn mixed(place: &Path, names: [&str; 2]) -> PathBuf {
    for name in names {
        let recording = format!("profiler/recording/tests/recordings/{name}.keel");
        export(place, &source(&recording), name);
    }
    let [tables, other] = names.map(|name| place.join(name));
    for table in Table::ALL.map(|table| other.join(table.name())) {
        let copied = Command::new("cp")
            .arg("-r")
            .arg(table)
            .arg(&tables)
            .status();
        assert!(copied.unwrap().success());
    }
    tables
}

/// An earlier version exported recordings of any intervals and programs to one directory. A user's own query may tell
/// them apart.
#[test]
fn tables_of_several_intervals_or_programs_are_refused() {
    for (names, said) in [
        (
            ["postgres-rows", "redis-command"],
            "intervals (command, statement)",
        ),
        (
            ["postgres-rows", "mariadb-rows"],
            "programs (mariadbd, postgres)",
        ),
    ] {
        let place = tempfile::tempdir().unwrap();
        let tables = mixed(place.path(), names);
        for words in [&["-q", "shares"][..], &["--by", "host"]] {
            refused(&tables, words, &[said, "a directory of its own"]);
        }
        let query = place.path().join("query.sql");
        fs::write(&query, "SELECT COUNT(*) AS n FROM nodes WHERE depth = 0").unwrap();
        let counted = rows(&tables, &["--sql", query.to_str().unwrap()]);
        assert_eq!(counted[0]["n"], 2);
    }
}

/// Tables of an earlier version lack columns of this one; both are read together.
#[test]
fn tables_of_an_earlier_version_are_read() {
    let place = tempfile::tempdir().unwrap();
    let recording = source("profiler/recording/tests/recordings/apache-request.keel");
    export(place.path(), &recording, "tables");
    let tables = place.path().join("tables");
    let alone = rows(&tables, &["-q", "tails"]);
    let earlier = tables.join("intervals/day=2023-11-13/host=earlier");
    fs::create_dir_all(&earlier).unwrap();
    let columns = ["trace_id", "span_id"];
    empty_file(
        &earlier.join("run.parquet"),
        Table::Intervals,
        &columns,
        Some("1"),
    );
    same(&rows(&tables, &["-q", "tails"]), &alone, "tails");
    let query = place.path().join("query.sql");
    fs::write(
        &query,
        "SELECT COUNT(*) - COUNT(trace_id) AS untraced, COUNT(span_id) AS traced FROM intervals",
    )
    .unwrap();
    let counted = rows(&tables, &["--sql", query.to_str().unwrap()]);
    assert_eq!(counted[0]["traced"], 0);
    assert!(counted[0]["untraced"].as_u64().unwrap() > 0);
}

#[test]
fn tables_of_another_version_and_damaged_ones_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let sums = place.path().join("sums.keel");
    Planted::default().write_sums(&sums, 3, 60_000_000_000);
    export(place.path(), &sums, "sums");
    let tables = place.path().join("sums");
    let another = tables.join("moments/day=2023-11-14/host=db1/another.parquet");
    for (version, said) in [
        (Some("99"), "schema, this program knows 2"),
        (None, "which version"),
    ] {
        empty_file(&another, Table::Moments, &[], version);
        refused(&tables, &[], &["another.parquet", said]);
    }
    fs::write(&another, "no columns").unwrap();
    refused(
        &tables,
        &[],
        &["another.parquet", "damaged", "export its recording again"],
    );
    fs::remove_file(&another).unwrap();
    assert!(!rows(&tables, &[]).is_empty());
    fs::create_dir(tables.join(".evenkeel-done-1-1")).unwrap();
    let said = fleet([tables.as_os_str()]);
    assert!(
        said.stderr.contains("the next export completes it"),
        "{}",
        said.stderr
    );
}
