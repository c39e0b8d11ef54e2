//! `evenkeel export --format parquet`, and the questions of `sql/`: their answers are those of `evenkeel report --json`.

#[path = "columns/answers.rs"]
mod answers;
mod support;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use answers::{
    Answers, classes_agree, factors_agree, grouped_classes_agree, groups_agree, shares_agree,
    tails_agree,
};
use serde_json::Value;
use support::planted::{DAY_NS, Planted, STARTED_NS};
use support::run::Place;

const MINUTE_NS: u64 = 60 * 1_000_000_000;

/// Recordings of real servers: with classes and without, of one round and of several, with waits and without.
const SERVERS: [&str; 4] = [
    "postgres-transaction",
    "mariadb-rows",
    "apache-request",
    "postgres-rows",
];

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Answers of DuckDB; nothing where it is not installed, which CI does not accept.
fn duckdb(place: &Place) -> Option<impl Fn(&str, &str) -> Vec<Value> + '_> {
    let python = source("target/duckdb/bin/python");
    if !python.exists() {
        assert!(
            std::env::var_os("CI").is_none(),
            "DuckDB is missing: run scripts/install.sh test"
        );
        eprintln!("skipped: DuckDB is not here; run scripts/install.sh test");
        return None;
    }
    Some(move |tables: &str, question: &str| {
        let run = place
            .command(&python)
            .arg(source("cli/tests/columns/read_duckdb.py"))
            .arg(place.file(tables))
            .arg(source(&format!("sql/{question}.sql")))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{question}: {said}");
        serde_json::from_slice(&run.stdout).unwrap()
    })
}

fn report(place: &Place, files: &[&str]) -> Value {
    let words = ["report", "--json", "-k", "100000"];
    let run = place.run(words.iter().chain(files)).ended(0);
    serde_json::from_str(&run.stdout).unwrap()
}

fn export(place: &Place, files: &[&str], to: &str) {
    let words = ["export", "--format", "parquet", "-o", to];
    place.run(words.iter().chain(files)).ended(0);
}

/// Every question about one profile has the report's answer.
fn agree(report: &Value, answers: &Answers<'_>) {
    shares_agree(report, answers);
    tails_agree(report, answers);
    factors_agree(report, answers);
    classes_agree(report, answers);
    grouped_classes_agree(report, answers);
}

#[test]
fn sql_says_what_the_report_says() {
    let place = Place::new();
    let Some(duckdb) = duckdb(&place) else { return };
    for name in SERVERS {
        let from = source(&format!("profiler/recording/tests/recordings/{name}.keel"));
        let file = format!("{name}.keel");
        std::fs::copy(from, place.file(&file)).unwrap();
        export(&place, &[&file], name);
        agree(&report(&place, &[&file]), &|question| {
            duckdb(name, question)
        });
    }
}

/// Four hosts on two days; the clock of one has another speed. Together they are one recording, exported at once or
/// one by one. db3 has another build, began a day later, and stalls for longer.
#[test]
fn hosts_add_up() {
    let place = Place::new();
    let Some(duckdb) = duckdb(&place) else { return };
    let mut files = Vec::new();
    for (number, host) in (1..).zip(["db1", "db2", "db3", "db4"]) {
        let planted = Planted::of_fleet(number, host);
        let file = format!("{host}.keel");
        planted.write(&place.file(&file));
        export(&place, &[&file], "one-by-one");
        files.push(file);
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    export(&place, &files, "at-once");
    let all = report(&place, &files);
    for tables in ["at-once", "one-by-one"] {
        let answers = |question: &str| duckdb(tables, question);
        shares_agree(&all, &answers);
        factors_agree(&all, &answers);
        classes_agree(&all, &answers);
        if tables == "at-once" {
            // Buckets of another clock have other bounds, and so has the tail.
            tails_agree(&all, &answers);
        }
        let by_host: Vec<(&str, Value)> = files
            .iter()
            .map(|file| (file.trim_end_matches(".keel"), report(&place, &[file])))
            .collect();
        groups_agree("host", &by_host, &answers);
        let others = report(&place, &[files[0], files[1], files[3]]);
        let new = by_host[2].1.clone();
        let by_build = [("bb22", new.clone()), ("aa11", others.clone())];
        groups_agree("build", &by_build, &answers);
        let by_period = [("after", new), ("before", others)];
        groups_agree("period", &by_period, &answers);

        let mut hosts = answers("groups");
        hosts.retain(|row| row["dimension"] == "host");
        assert_eq!(hosts[0]["member"], "db3", "{hosts:#?}");
        assert!(hosts[0]["z"].as_f64() > Some(5.0), "{hosts:#?}");
        assert!(
            hosts[0]["name"].as_str().unwrap().contains("disk"),
            "{hosts:#?}"
        );
    }
}

/// Recordings of sums answer every question but the one about the tail. The answers equal their own reports, and the
/// answers for recordings of all intervals. db3 began a day later, with another build; db2 has another clock.
#[test]
fn sums_answer_what_needs_no_intervals() {
    let place = Place::new();
    let Some(duckdb) = duckdb(&place) else { return };
    let mut files = Vec::new();
    for (number, host) in (1..).zip(["db1", "db2", "db3"]) {
        let planted = Planted {
            has_classes: true,
            ..Planted::of_fleet(number, host)
        };
        let file = format!("{host}.keel");
        planted.write_sums(&place.file(&file), 3, MINUTE_NS);
        planted.write(&place.file(&format!("whole-{file}")));
        export(&place, &[&file], "one-by-one");
        files.push(file);
    }
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    export(&place, &files, "at-once");
    let whole: Vec<String> = files.iter().map(|file| format!("whole-{file}")).collect();
    let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
    for tables in ["one-by-one", "at-once"] {
        let answers = |question: &str| duckdb(tables, question);
        for files in [&files, &whole] {
            let all = report(&place, files);
            shares_agree(&all, &answers);
            factors_agree(&all, &answers);
            classes_agree(&all, &answers);
            grouped_classes_agree(&all, &answers);
            let by_host = files
                .iter()
                .map(|file| (&file[file.len() - 8..][..3], report(&place, &[file])));
            let by_host: Vec<(&str, Value)> = by_host.collect();
            groups_agree("host", &by_host, &answers);
            let new = by_host[2].1.clone();
            let others = report(&place, &files[..2]);
            groups_agree("period", &[("after", new), ("before", others)], &answers);
        }
        assert_eq!(answers("tails"), Vec::<Value>::new());
    }
}

/// Minutes are filed under the day of their beginning.
#[test]
fn minutes_have_their_day() {
    let place = Place::new();
    let words = ["export", "--format", "parquet", "-o"];
    Planted::default().write_sums(&place.file("sums.keel"), 3, DAY_NS);
    let run = place.run(words.into_iter().chain(["tables", "sums.keel"]));
    run.ended(0).said(&["no single intervals"]);
    let days = folders(&place.file("tables/moments"));
    assert_eq!(days, ["day=2023-11-14", "day=2023-11-15", "day=2023-11-16"]);
}

/// Whenever an export is killed, its tables are all there or none is; the next one leaves nothing of it behind.
#[test]
fn a_killed_export_leaves_nothing_half() {
    let place = Place::new();
    let files: Vec<String> = (1..=4).map(|seed| format!("{seed}.keel")).collect();
    for (seed, file) in (1..).zip(&files) {
        let planted = Planted {
            seed,
            unix_ns: STARTED_NS + seed,
            ..Planted::default()
        };
        planted.write(&place.file(file));
    }
    let words = ["export", "--format", "parquet", "-o", "tables"];
    let words: Vec<&str> = words
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    let tables = place.file("tables");
    for kill_after_ms in (0..400).step_by(20) {
        let mut child = place
            .evenkeel(&words)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(kill_after_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = parquet_files(&tables);
        // What has happened, and was stopped before it was in its place, is found by the next; until then it is complete elsewhere.
        let is_done = |name: &str| name.starts_with(".evenkeel-done-");
        let pending = folders(&tables).iter().any(|name| is_done(name));
        assert!(pending || found == 0 || found == 16, "{found} files");
    }
    export(
        &place,
        &files.iter().map(String::as_str).collect::<Vec<_>>(),
        "tables",
    );
    assert_eq!(folders(&tables), ["intervals", "moments", "nodes", "times"]);
    assert_eq!(parquet_files(&tables), 16);
}

fn folders(tables: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(tables) else {
        return Vec::new();
    };
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let mut found: Vec<String> = entries.map(|it| name(it).into_string().unwrap()).collect();
    found.sort();
    found
}

/// Files in the tables' folders.
fn parquet_files(tables: &Path) -> usize {
    let mut open: Vec<PathBuf> = ["intervals", "moments", "nodes", "times"]
        .iter()
        .map(|table| tables.join(table))
        .collect();
    let mut files = 0;
    while let Some(path) = open.pop() {
        match std::fs::read_dir(&path) {
            Ok(entries) => open.extend(entries.map(|entry| entry.unwrap().path())),
            Err(_) => files += usize::from(path.is_file()),
        }
    }
    files
}

#[test]
fn missing_parts_of_tables_are_reported() {
    let place = Place::new();
    Planted::default().write(&place.file("a.keel"));
    let refused: [(&[&str], &str); 4] = [
        (&["a.keel"], "give -o DIRECTORY"),
        (&["a.keel", "-o", "t", "--weight", "p99"], "leave --weight"),
        (&["a.keel", "-o", "a.keel"], "cannot write below a.keel"),
        (&["missing.keel", "-o", "t"], "missing.keel"),
    ];
    for (words, said) in refused {
        let all = ["export", "--format", "parquet"].iter().chain(words);
        place.run(all).ended(2).said(&[said]);
    }
    assert!(!place.file("t").exists());
    // Another interval's, whichever came first: together they would have shares of nothing.
    let [first, other] = ["postgres-rows", "redis-command"]
        .map(|name| source(&format!("profiler/recording/tests/recordings/{name}.keel")));
    for (first, other, said) in [
        (&first, &other, ["interval statement", "of command"]),
        (&other, &first, ["interval command", "of statement"]),
    ] {
        let to = said[0];
        let words = ["export", "--format", "parquet", "-o", to];
        let export = |file: &PathBuf| {
            let mut words: Vec<&str> = words.to_vec();
            words.push(file.to_str().unwrap());
            place.run(words)
        };
        export(first).ended(0);
        let before = parquet_files(&place.file(to));
        export(other).ended(2).said(&said);
        assert_eq!(parquet_files(&place.file(to)), before);
        export(first).ended(0);
    }
    std::fs::copy(place.file("a.keel"), place.file("b.keel")).unwrap();
    let twice = [
        "export", "--format", "parquet", "-o", "t", "a.keel", "b.keel",
    ];
    place.run(twice).ended(2).said(&["twice"]);
}
