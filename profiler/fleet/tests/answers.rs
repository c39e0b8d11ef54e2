//! Answers of the embedded engine are those of DuckDB on the same tables; what cannot be answered is said.

#[path = "../../../cli/tests/support/planted.rs"]
mod planted;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::metadata::KeyValue;
use datafusion::parquet::file::properties::WriterProperties;
use evenkeel_export::columns::schema::{Table, VERSION_KEY};
use planted::Planted;
use serde_json::Value;

const MINUTE_NS: u64 = 60 * 1_000_000_000;
/// A host whose folder is called otherwise.
const STRANGE: &str = "rack 2/β'";

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// What a command said.
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn run(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn fleet<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Said {
    run(Command::new(env!("CARGO_BIN_EXE_evenkeel-fleet")).args(arguments))
}

fn evenkeel() -> Command {
    let program = source("target/debug/evenkeel");
    assert!(program.exists(), "build it first: cargo build -p evenkeel");
    Command::new(program)
}

fn export(directory: &Path, file: &Path, to: &str) {
    let said = run(evenkeel()
        .args(["export", "--format", "parquet", "-o"])
        .arg(directory.join(to))
        .arg(file));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

/// Tables of three hosts: one of another build a day later, one with another clock, and one of sums; with classes.
fn planted(directory: &Path) {
    let hosts = ["db1", STRANGE, "db3", "db4"];
    for (number, host) in (1..).zip(hosts) {
        let planted = Planted {
            has_classes: true,
            ..Planted::of_fleet(number, host)
        };
        let file = directory.join(format!("{number}.keel"));
        match host {
            "db4" => planted.write_sums(&file, 3, Some(MINUTE_NS)),
            _ => planted.write(&file),
        }
        export(directory, &file, "planted");
    }
}

/// Rows that DuckDB answers; nothing where it is not installed, which CI does not accept.
fn duckdb(tables: &Path, question: &str) -> Option<Vec<Value>> {
    let python = source("target/duckdb/bin/python");
    if !python.exists() {
        let is_ci = std::env::var_os("CI").is_some();
        assert!(!is_ci, "DuckDB is missing: run scripts/install.sh test");
        eprintln!("skipped: DuckDB is not here; run scripts/install.sh test");
        return None;
    }
    let said = run(Command::new(python)
        .arg(source("cli/tests/columns/read_duckdb.py"))
        .arg(tables)
        .arg(source(&format!("sql/{question}.sql"))));
    assert_eq!(said.code, Some(0), "{question}: {}", said.stderr);
    Some(serde_json::from_str(&said.stdout).unwrap())
}

fn rows(tables: &Path, words: &[&str]) -> Vec<Value> {
    let said = fleet(
        [tables.as_os_str(), "--json".as_ref()]
            .into_iter()
            .chain(words.iter().map(OsStr::new)),
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let mut all: Value = serde_json::from_str(&said.stdout).unwrap();
    match all["rows"].take() {
        Value::Array(rows) => rows,
        other => panic!("{other:#}"),
    }
}

/// Rows by what is text in them: numbers differ in their last digits, and so may the order of rows.
fn by_text(rows: &[Value]) -> BTreeMap<String, &Value> {
    let mut found = BTreeMap::new();
    for row in rows {
        let columns = row.as_object().unwrap().iter();
        let texts = columns.filter(|(name, value)| value.is_string() || *name == "place");
        let key = texts
            .map(|(name, value)| format!("{name}={value} "))
            .collect();
        assert!(found.insert(key, row).is_none(), "twice: {row:#}");
    }
    found
}

fn same(ours: &[Value], theirs: &[Value], question: &str) {
    assert!(!theirs.is_empty(), "{question}");
    let (ours, theirs) = (by_text(ours), by_text(theirs));
    let keys = |rows: &BTreeMap<String, &Value>| rows.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&ours), keys(&theirs), "{question}");
    for (key, row) in ours {
        for (name, value) in row.as_object().unwrap() {
            let other = &theirs[&key][name];
            let (Some(a), Some(b)) = (value.as_f64(), other.as_f64()) else {
                assert_eq!(value, other, "{question}: {name} of {key}");
                continue;
            };
            // Means and variances of exact sums: rounded a few times, in whatever order.
            let is_near = (a - b).abs() <= 1e-9 * b.abs() + 1e-9;
            assert!(is_near, "{question}: {name} of {key}: {a} instead of {b}");
        }
    }
}

#[test]
fn answers_are_those_of_duckdb() {
    let place = tempfile::tempdir().unwrap();
    let mut fleets = vec!["planted"];
    planted(place.path());
    for name in ["postgres-transaction", "mariadb-rows", "apache-request"] {
        let recording = format!("profiler/session/tests/recordings/{name}.keel");
        export(place.path(), &source(&recording), name);
        fleets.push(name);
    }
    for name in fleets {
        let tables = place.path().join(name);
        for question in ["shares", "tails", "factors", "classes", "groups"] {
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

/// What a person sees: the fleet, the question, and who differs; a host by the name that it has.
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

/// Asks, and is refused with these words.
fn refused(directory: &Path, words: &[&str], expected: &[&str]) {
    let said = fleet(
        [directory.as_os_str()]
            .into_iter()
            .chain(words.iter().map(OsStr::new)),
    );
    assert_eq!(said.code, Some(2), "{} {}", said.stdout, said.stderr);
    assert_eq!(said.stdout, "");
    for expected in expected {
        assert!(
            said.stderr.contains(expected),
            "no {expected:?} in {}",
            said.stderr
        );
    }
}

#[test]
fn what_cannot_be_answered_is_said() {
    let place = tempfile::tempdir().unwrap();
    let sums = place.path().join("sums.keel");
    Planted::default().write_sums(&sums, 3, None);
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
        ("SELECT nothing FROM moments", "docs/src/fleet.md"),
        ("SELECT * FROM nothing", "docs/src/fleet.md"),
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

#[test]
fn tables_of_another_version_and_damaged_ones_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let sums = place.path().join("sums.keel");
    Planted::default().write_sums(&sums, 3, None);
    export(place.path(), &sums, "sums");
    let tables = place.path().join("sums");
    let another = tables.join("moments/day=2023-11-14/host=db1/another.parquet");
    let schema = Table::Moments.schema();
    for (version, said) in [
        (Some("99"), "schema, this program knows 1"),
        (None, "which version"),
    ] {
        let mut properties = WriterProperties::builder();
        if let Some(version) = version {
            let pair = KeyValue::new(VERSION_KEY.to_owned(), version.to_owned());
            properties = properties.set_key_value_metadata(Some(vec![pair]));
        }
        let bare = Arc::new(schema.as_ref().clone().with_metadata(Default::default()));
        let file = File::create(&another).unwrap();
        let mut writer =
            ArrowWriter::try_new(file, bare.clone(), Some(properties.build())).unwrap();
        writer.write(&RecordBatch::new_empty(bare)).unwrap();
        writer.close().unwrap();
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
