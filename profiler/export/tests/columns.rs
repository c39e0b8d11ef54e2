//! Recordings of real servers as tables, read again: what is in them is what the profile says.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use evenkeel_analysis::Options;
use evenkeel_analysis::findings::factors::described::described;
use evenkeel_analysis::profile::{Node, Profile};
use evenkeel_analysis::sites::Kind;
use evenkeel_export::columns::schema::{PROGRAM_KEY, SCHEMA_VERSION, Table, VERSION_KEY};
use evenkeel_export::columns::{Columns, Error, Run, Written};
use evenkeel_recording::Observation;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// Recordings of one round and of several taken together, with waits and without.
const RECORDINGS: [&str; 7] = [
    "apache-request",
    "mariadb-rows",
    "memcached-event",
    "nginx-request",
    "postgres-rows",
    "postgres-transaction",
    "redis-command",
];

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../recording/tests/recordings/{name}.keel"))
}

/// The beginning of the 15th of November 2023, UTC.
const MIDNIGHT_NS: u64 = 1_700_006_400_000_000_000;

/// Exports recordings, the n-th as of host `db<n>`; what the profile of all says.
fn export(paths: &[PathBuf], to: &Path) -> Result<(Profile, Written), Error> {
    let observation = Observation::open(paths).unwrap();
    let mut begins = Vec::new();
    observation
        .replay(&mut |interval| {
            begins.push(interval.observed.begin);
            Ok(())
        })
        .unwrap();
    begins.sort_unstable();
    let middle = begins[begins.len() / 2];
    let runs = (1..)
        .zip(observation.recordings())
        .map(|(number, one)| Run {
            identity: format!("{number} {}", one.meta.interval),
            host: format!("db{number}"),
            program: one.meta.program().to_owned(),
            interval: one.meta.root.clone(),
            build: one.meta.build,
            started: (middle, MIDNIGHT_NS),
        });
    let ticks_per_ns = observation.ticks_per_ns();
    let mut columns = Columns::begin(to, runs.collect(), ticks_per_ns)?;
    let replayed = observation
        .replay(&mut |interval| {
            let added = columns.add(
                interval.recording,
                &interval.observed,
                interval.paths,
                interval.sites,
                interval.classes,
            );
            added.map_err(|error| panic!("{error}"))
        })
        .unwrap();
    let profile = replayed.profile(&Options::default());
    let tree = replayed
        .analysis
        .with_tree(&replayed.sites, &profile.unpatched, described);
    Ok((profile, columns.finish(&tree.unwrap())?))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    found
}

fn rows(folder: &Path, table: Table) -> Vec<RecordBatch> {
    let read = |path: PathBuf| {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        builder.build().unwrap().map(Result::unwrap)
    };
    files(&folder.join(table.name()))
        .into_iter()
        .flat_map(read)
        .collect()
}

fn integers<'a>(batch: &'a RecordBatch, column: &str) -> &'a arrow_array::Int64Array {
    batch
        .column_by_name(column)
        .unwrap()
        .as_primitive::<Int64Type>()
}

fn texts<'a>(batch: &'a RecordBatch, column: &str) -> &'a arrow_array::StringArray {
    batch.column_by_name(column).unwrap().as_string::<i32>()
}

/// By path, the sums of all minutes and classes.
fn sums(folder: &Path) -> HashMap<String, BTreeMap<&'static str, i128>> {
    let mut paths: HashMap<i64, String> = HashMap::new();
    for batch in rows(folder, Table::Nodes) {
        for (node, path) in integers(&batch, "node").iter().zip(texts(&batch, "path")) {
            paths.insert(node.unwrap(), path.unwrap().to_owned());
        }
    }
    let mut sums: HashMap<String, BTreeMap<&'static str, i128>> = HashMap::new();
    for batch in rows(folder, Table::Moments) {
        for at in 0..batch.num_rows() {
            let is_total = texts(&batch, "class").is_null(at);
            if !is_total || integers(&batch, "other").is_valid(at) {
                continue;
            }
            let path = &paths[&integers(&batch, "node").value(at)];
            let of_path = sums.entry(path.clone()).or_default();
            for name in [
                "inclusive",
                "inclusive_squared",
                "exclusive",
                "exclusive_squared",
            ] {
                let column = batch.column_by_name(name).unwrap();
                let value = column.as_primitive::<Decimal128Type>().value(at);
                *of_path.entry(name).or_default() += value;
            }
        }
    }
    sums
}

/// The profile's nodes by path; the own time of nodes with children has the suffix `(own)`.
fn by_path<'a>(node: &'a Node, path: String, found: &mut Vec<(String, &'a Node)>) {
    for child in &node.children {
        match child.kind {
            Kind::Body | Kind::NotOpened => found.push((format!("{path} (own)"), child)),
            _ => {
                let step = match child.site.is_empty() {
                    true => child.name.clone(),
                    false => format!("{} [{}]", child.name, child.site),
                };
                by_path(child, format!("{path} > {step}"), found);
            }
        }
    }
    found.push((path, node));
}

/// Every interval closes, there are as many as the profile rests on, and means and variances at the nodes are its.
#[test]
fn tables_hold_what_the_profile_says() {
    for name in RECORDINGS {
        check(name, &[recording(name)]);
    }
}

/// Like the above, for two recordings together, of one round each or of several.
#[test]
fn tables_of_several_recordings_hold_what_their_profile_says() {
    let copies = tempfile::tempdir().unwrap();
    for name in RECORDINGS {
        let copy = copies.path().join(name);
        std::fs::copy(recording(name), &copy).unwrap();
        check(name, &[recording(name), copy]);
    }
}

fn check(name: &str, recordings: &[PathBuf]) {
    let folder = tempfile::tempdir().unwrap();
    let (profile, written) = export(recordings, folder.path()).unwrap();
    assert_eq!(written.intervals, profile.intervals, "{name}");

    let mut spent: HashMap<i64, i64> = HashMap::new();
    for batch in rows(folder.path(), Table::Times) {
        let ticks = integers(&batch, "exclusive_ticks").iter();
        for (interval, ticks) in integers(&batch, "interval").iter().zip(ticks) {
            *spent.entry(interval.unwrap()).or_default() += ticks.unwrap();
        }
    }
    let mut intervals = 0;
    for batch in rows(folder.path(), Table::Intervals) {
        let latencies = integers(&batch, "latency_ticks").iter();
        for (interval, latency) in integers(&batch, "interval").iter().zip(latencies) {
            assert_eq!(spent.remove(&interval.unwrap()), latency, "{name}");
            intervals += 1;
        }
    }
    assert_eq!((intervals, spent.len()), (profile.intervals, 0), "{name}");

    let sums = sums(folder.path());
    let mut nodes = Vec::new();
    by_path(&profile.tree, profile.tree.name.clone(), &mut nodes);
    assert!(nodes.len() > 3, "{name}");
    let ticks_per_ns = Observation::open(&[recording(name)])
        .unwrap()
        .ticks_per_ns();
    for (path, node) in nodes {
        let (path, is_own) = match path.strip_suffix(" (own)") {
            Some(path) => (path, true),
            None => (&path[..], false),
        };
        let sums = &sums[path];
        let of = |all: &str, own: &str| sums[if is_own { own } else { all }];
        let n = profile.intervals as i128;
        let (x, xx) = (
            of("inclusive", "exclusive"),
            of("inclusive_squared", "exclusive_squared"),
        );
        let mean_ns = x as f64 / n as f64 / ticks_per_ns;
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (a.abs() + b.abs()) + 1e-6;
        assert!(
            near(mean_ns, node.mean_ns),
            "{name} {path}: {mean_ns} {}",
            node.mean_ns
        );
        let variance = (n * xx - x * x) as f64 / n as f64 / (n - 1) as f64;
        let sd_ns = variance.sqrt() / ticks_per_ns;
        assert!(
            near(sd_ns, node.sd_ns),
            "{name} {path}: {sd_ns} {}",
            node.sd_ns
        );
    }
}

/// Two hosts, exported together, twice, with one of them: each run is there once. Half of its intervals begin before midnight, so that
/// there are two days of it.
#[test]
fn a_run_is_exported_once() {
    let folder = tempfile::tempdir().unwrap();
    let copies = tempfile::tempdir().unwrap();
    let paths = ["one", "two"].map(|name| copies.path().join(name));
    for path in &paths {
        std::fs::copy(recording("postgres-rows"), path).unwrap();
    }
    let (_, written) = export(&paths, folder.path()).unwrap();
    let first = files(folder.path());
    let (profile, again) = export(&paths, folder.path()).unwrap();
    assert_eq!((written, files(folder.path())), (again, first.clone()));
    export(&paths[..1], folder.path()).unwrap();
    assert_eq!(files(folder.path()), first);
    assert_eq!(written.intervals, profile.intervals);
    let places: Vec<String> = first
        .iter()
        .map(|path| {
            path.strip_prefix(folder.path())
                .unwrap()
                .display()
                .to_string()
        })
        .collect();
    for table in Table::ALL {
        for host in ["db1", "db2"] {
            for day in ["2023-11-14", "2023-11-15"] {
                let place = format!("{}/day={day}/host={host}/", table.name());
                let found = places
                    .iter()
                    .filter(|path| path.starts_with(&place))
                    .count();
                assert_eq!(found, 1, "{place} of {places:#?}");
            }
        }
    }
    assert_eq!(places.len(), 16, "and nothing else");

    let twice = || Run {
        identity: "a".to_owned(),
        ..Run::default()
    };
    let refused = Columns::begin(folder.path(), vec![twice(), twice()], 1.0);
    assert!(matches!(refused.err(), Some(Error::Twice { .. })));
    assert_eq!(files(folder.path()), first);
}

/// `schema-vN.txt` describes the files of version N. A change of the columns needs a new version and a new text; the
/// old text stays.
#[test]
fn the_schema_is_that_of_its_version() {
    let mut text = String::new();
    for table in Table::ALL {
        text.push_str(&format!("{}\n", table.name()));
        for field in table.schema().fields() {
            let null = if field.is_nullable() { ", or null" } else { "" };
            text.push_str(&format!(
                "    {}: {}{null}\n",
                field.name(),
                field.data_type()
            ));
        }
    }
    let place = format!("tests/columns/schema-v{SCHEMA_VERSION}.txt");
    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join(place);
    assert_eq!(text, std::fs::read_to_string(known).unwrap());

    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference/tables.md");
    let page = std::fs::read_to_string(page).unwrap();
    for table in Table::ALL {
        for field in table.schema().fields() {
            let name = format!("`{}`", field.name());
            assert!(
                page.contains(&name),
                "docs/src/reference/tables.md does not explain {name}"
            );
        }
    }
}

/// Tables of another interval, and of another server whose intervals have the same name, are refused, and the
/// directory is not changed.
#[test]
fn a_directory_is_of_one_interval_of_one_program() {
    let folder = tempfile::tempdir().unwrap();
    export(&[recording("postgres-rows")], folder.path()).unwrap();
    let before = files(folder.path());
    let refused = |name: &str| {
        let error = export(&[recording(name)], folder.path()).unwrap_err();
        assert_eq!(files(folder.path()), before, "{name}");
        error.to_string()
    };
    let program = refused("mariadb-rows");
    assert!(
        program.contains("tables of the program postgres, "),
        "{program}"
    );
    assert!(
        program.contains("these recordings are of mariadbd"),
        "{program}"
    );
    let interval = refused("postgres-transaction");
    assert!(
        interval.contains("tables of the interval statement, "),
        "{interval}"
    );
}

/// The version is in the metadata of every file, and the program.
#[test]
fn files_say_their_version() {
    let folder = tempfile::tempdir().unwrap();
    export(&[recording("redis-command")], folder.path()).unwrap();
    let found = files(folder.path());
    assert!(found.len() >= 4);
    for path in found {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        let said = builder.metadata().file_metadata().key_value_metadata();
        let value = |key: &str| {
            let mut pairs = said.unwrap().iter();
            pairs.find(|pair| pair.key == key)?.value.clone()
        };
        assert_eq!(value(VERSION_KEY), Some(SCHEMA_VERSION.to_string()));
        assert_eq!(value(PROGRAM_KEY).as_deref(), Some("redis-server"));
    }
}
