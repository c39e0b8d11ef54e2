//! The workloads on SQLite, in a temporary file and in one that is there.

mod testbeds;

use std::path::Path;

use evenkeel_drive::Error;
use evenkeel_drive::target::{Target, sqlite};
use rusqlite::Connection;
use testbeds::{SMALL, set, works};

fn settings(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    owned.collect()
}

fn temporary(chosen: &[(&str, &str)]) -> Target {
    Target::from(sqlite::Target::temporary(&settings(chosen)).unwrap())
}

fn at(path: &Path) -> Target {
    Target::from(sqlite::Target::at(path, &[]).unwrap())
}

#[test]
fn every_workload_runs_and_leaves_its_data_consistent() {
    for (name, options) in SMALL {
        let (mut testbed, _) = set(temporary(&[]), name, options, false)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        works(&mut testbed);
    }
}

#[test]
fn a_commit_is_synced_to_a_write_ahead_log_unless_set_otherwise() {
    for (chosen, expected) in [
        (&[][..], "journal wal, synchronous full"),
        (
            &[("synchronous", "NORMAL"), ("cache-size", "-4000")],
            "journal wal, synchronous normal",
        ),
        (
            &[("journal_mode", "delete"), ("synchronous", "0")],
            "journal delete, synchronous off",
        ),
    ] {
        let target = temporary(chosen);
        assert!(
            target.name().starts_with("private SQLite 3."),
            "{}",
            target.name()
        );
        assert!(target.name().ends_with(expected), "{}", target.name());
        let (name, options) = SMALL[0];
        let (mut testbed, _) = set(target, name, options, false).unwrap();
        works(&mut testbed);
    }
}

#[test]
fn a_pragma_that_sqlite_would_ignore_is_refused() {
    let refused = sqlite::Target::temporary(&settings(&[("colour", "red")]));
    let words = refused.map(drop).unwrap_err().to_string();
    assert!(words.contains("no PRAGMA colour=red"), "{words}");
}

/// Existing data is used, unless other data is wanted. Foreign tables are not touched, even where a benchmark's table
/// was.
#[test]
fn tables_of_others_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bench.db");
    let used = "using the data that is there".to_owned();
    let (name, options) = SMALL[5];
    for (reload, expected) in [(false, false), (false, true), (true, false)] {
        let (_, said) = set(at(&path), name, options, reload).unwrap();
        assert_eq!(said.contains(&used), expected, "{said:?}");
    }
    let (_, said) = set(at(&path), name, &[("records", "100")], false).unwrap();
    assert!(!said.contains(&used), "{said:?}");
    let user = Connection::open(&path).unwrap();
    user.execute_batch(
        "DROP TABLE usertable; CREATE TABLE usertable (precious INTEGER); INSERT INTO usertable VALUES (42)",
    )
    .unwrap();
    for reload in [false, true] {
        let error = set(at(&path), name, options, reload).map(drop).unwrap_err();
        assert!(
            matches!(&error, Error::Foreign { table, .. } if table == "usertable"),
            "{error}"
        );
    }
    let kept = user.query_row("SELECT precious FROM usertable", [], |row| {
        row.get::<_, i64>(0)
    });
    assert_eq!(kept, Ok(42));
}

#[test]
fn a_file_that_is_no_database_is_refused_and_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("letter.txt");
    let text = "Dear reader, this is no database. ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    let words = sqlite::Target::at(&path, &[])
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(words.contains("not a database"), "{words}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let nowhere = sqlite::Target::at(&folder.path().join("no/such/place.db"), &[]);
    let words = nowhere.map(drop).unwrap_err().to_string();
    assert!(words.contains("no/such/place.db"), "{words}");
}
