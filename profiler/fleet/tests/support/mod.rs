//! Runs the programs, makes tables, and compares answers.

// Each test uses a part of it.
#![allow(dead_code)]

#[path = "../../../../cli/tests/support/planted.rs"]
pub mod planted;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaBuilder;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::metadata::KeyValue;
use datafusion::parquet::file::properties::WriterProperties;
use evenkeel_export::columns::schema::{Table, VERSION_KEY};
use planted::Planted;
use serde_json::Value;

/// The files of `sql/`.
pub const QUESTIONS: [&str; 5] = ["shares", "tails", "factors", "classes", "groups"];
const MINUTE_NS: u64 = 60 * 1_000_000_000;
/// A host whose folder is called otherwise.
pub const STRANGE: &str = "rack 2/β'";

pub fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// The output of a command.
pub struct Said {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    /// Rows that were answered as JSON.
    pub fn rows(&self) -> Vec<Value> {
        let mut all: Value = serde_json::from_str(&self.stdout).unwrap();
        match all["rows"].take() {
            Value::Array(rows) => rows,
            other => panic!("{other:#}"),
        }
    }

    /// It was refused with this exit code and these words, and nothing was answered.
    #[track_caller]
    pub fn refuses(&self, code: i32, expected: &[&str]) {
        let said = (self.code, self.stdout.as_str());
        assert_eq!(said, (Some(code), ""), "{}", self.stderr);
        for expected in expected {
            let is_said = self.stderr.contains(expected);
            assert!(is_said, "no {expected:?} in {}", self.stderr);
        }
    }
}

pub fn run(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A file of a table without rows and without some of its columns, that says this version or none.
pub fn empty_file(path: &Path, table: Table, without: &[&str], version: Option<&str>) {
    let pair = version.map(|version| KeyValue::new(VERSION_KEY.to_owned(), version.to_owned()));
    let properties =
        WriterProperties::builder().set_key_value_metadata(pair.map(|pair| vec![pair]));
    let schema = table.schema();
    let mut fields = SchemaBuilder::new();
    let kept = schema.fields().iter();
    kept.filter(|field| !without.contains(&field.name().as_str()))
        .for_each(|field| fields.push(field.clone()));
    let bare = Arc::new(fields.finish());
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, bare.clone(), Some(properties.build())).unwrap();
    writer.write(&RecordBatch::new_empty(bare)).unwrap();
    writer.close().unwrap();
}

pub fn fleet<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Said {
    run(Command::new(env!("CARGO_BIN_EXE_evenkeel-fleet")).args(arguments))
}

pub fn evenkeel() -> Command {
    let program = source("target/debug/evenkeel");
    assert!(program.exists(), "build it first: cargo build -p evenkeel");
    Command::new(program)
}

pub fn export(directory: &Path, file: &Path, to: &str) {
    let said = run(evenkeel()
        .args(["export", "--format", "parquet", "-o"])
        .arg(directory.join(to))
        .arg(file));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

/// Tables of three hosts: one of another build a day later, one with another clock, and one of sums; with classes.
pub fn planted(directory: &Path) {
    let hosts = ["db1", STRANGE, "db3", "db4"];
    for (number, host) in (1..).zip(hosts) {
        let planted = Planted {
            has_classes: true,
            ..Planted::of_fleet(number, host)
        };
        let file = directory.join(format!("{number}.keel"));
        match host {
            "db4" => planted.write_sums(&file, 3, MINUTE_NS),
            _ => planted.write(&file),
        }
        export(directory, &file, "planted");
    }
}

/// The Python that has a package, which `scripts/install.sh PART` puts under target/; nothing where it is not installed, which CI does not accept.
pub fn python(part: &str) -> Option<PathBuf> {
    let python = source(&format!("target/{part}/bin/python"));
    if python.exists() {
        return Some(python);
    }
    let is_ci = std::env::var_os("CI").is_some();
    assert!(!is_ci, "{part} is missing: run scripts/install.sh {part}");
    eprintln!("skipped: {part} is not here; run scripts/install.sh {part}");
    None
}

/// Rows that DuckDB answers, where it is installed.
pub fn duckdb(tables: &Path, question: &str) -> Option<Vec<Value>> {
    let python = python("duckdb")?;
    let said = run(Command::new(python)
        .arg(source("cli/tests/columns/read_duckdb.py"))
        .arg(tables)
        .arg(source(&format!("sql/{question}.sql"))));
    assert_eq!(said.code, Some(0), "{question}: {}", said.stderr);
    Some(serde_json::from_str(&said.stdout).unwrap())
}

pub fn rows(tables: &Path, words: &[&str]) -> Vec<Value> {
    let said = fleet(
        [tables.as_os_str(), "--json".as_ref()]
            .into_iter()
            .chain(words.iter().map(OsStr::new)),
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    said.rows()
}

/// Rows by what is text in them: numbers differ in their last digits, and so may the order of rows.
pub fn by_text(rows: &[Value]) -> BTreeMap<String, &Value> {
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

pub fn same(ours: &[Value], theirs: &[Value], question: &str) {
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
