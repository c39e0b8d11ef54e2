//! Several recordings as one: files that are replayed together, and files that were merged.

use std::path::{Path, PathBuf};

use evenkeel_analysis::Options;
use evenkeel_analysis::findings::warnings::Warning;
use evenkeel_analysis::profile::{Node, Profile};
use evenkeel_recording::{
    Error, KeptWhole, Observation, Progress, Replayed, merge, replay_files, replay_some,
};

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recordings/{name}.keel"))
}

/// Copies of a recording under other names, as of other runs.
fn copies(name: &str, count: usize) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let copy = |at| {
        let path = folder.path().join(format!("{at}.keel"));
        std::fs::copy(recording(name), &path).unwrap();
        path
    };
    let paths = (0..count).map(copy).collect();
    (folder, paths)
}

fn profile(replayed: &Replayed) -> Profile {
    replayed.profile(&Options::default())
}

fn of(paths: &[PathBuf]) -> Profile {
    profile(&replay_files(paths, None).unwrap())
}

/// A recording merged with itself has the same means and shares at every node, and double counts.
#[test]
fn a_recording_twice_is_itself() {
    fn same(one: &Node, both: &Node) {
        assert_eq!((&one.name, &one.site), (&both.name, &both.site));
        let near = |a: f64, b: f64| {
            assert!(
                (a - b).abs() <= 1e-9 * (1.0 + a.abs()),
                "{a} and {b} at {}",
                one.name
            )
        };
        near(one.mean_ns, both.mean_ns);
        near(one.share, both.share);
        near(one.calls_mean, both.calls_mean);
        for (name, tail) in &one.tail_share {
            near(*tail, both.tail_share[name]);
        }
        assert_eq!(one.children.len(), both.children.len(), "{}", one.name);
        // Equal shares may come in another order.
        for child in &one.children {
            let found = both
                .children
                .iter()
                .find(|it| (&it.name, &it.site) == (&child.name, &child.site));
            same(
                child,
                found.unwrap_or_else(|| panic!("no {} {}", child.name, child.site)),
            );
        }
    }
    for name in ["postgres-transaction", "postgres-rows", "redis-command"] {
        let (_folder, paths) = copies(name, 2);
        let (one, both) = (of(&paths[..1]), of(&paths));
        assert_eq!(both.intervals, 2 * one.intervals, "{name}");
        assert_eq!(both.intervals_seen, 2 * one.intervals_seen);
        assert_eq!(both.discarded, 2 * one.discarded);
        assert_eq!(both.closure.max_abs_error_ticks, 0);
        let left_out = |warning: &Warning| matches!(warning, Warning::TimedInSome { .. });
        assert!(!both.warnings.iter().any(left_out), "{:?}", both.warnings);
        same(&one.tree, &both.tree);
        let waits = |profile: &Profile| profile.waits.iter().map(|row| row.count).sum::<u64>();
        assert_eq!(waits(&both), 2 * waits(&one), "{name}");
    }
}

/// The file says what the files say, and a merged file is as good as its parts.
#[test]
fn a_merged_file_is_its_parts() {
    let (folder, mut paths) = copies("postgres-rows", 2);
    let third = folder.path().join("third.keel");
    std::fs::copy(recording("postgres-rows"), &third).unwrap();
    paths.push(third.clone());
    let all = folder.path().join("all.keel");
    merge(&paths, &all, &Progress::default()).unwrap();
    assert_eq!(of(std::slice::from_ref(&all)), of(&paths));

    let (two, three) = (
        folder.path().join("two.keel"),
        folder.path().join("three.keel"),
    );
    merge(&paths[..2], &two, &Progress::default()).unwrap();
    merge(&[two.clone(), third], &three, &Progress::default()).unwrap();
    assert_eq!(std::fs::read(&three).unwrap(), std::fs::read(&all).unwrap());
    assert!(matches!(
        merge(&[two.clone(), paths[0].clone()], &two, &Progress::default()),
        Err(Error::MergedIntoItself { .. })
    ));
    assert!(matches!(
        replay_files(&[two.clone(), two], None),
        Err(Error::Twice { .. })
    ));
}

/// Another program, and one recorded otherwise: refused, and no file is left.
#[test]
fn strangers_are_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("all.keel");
    for other in ["redis-command", "postgres-rows"] {
        let paths = [recording("postgres-transaction"), recording(other)];
        let error = merge(&paths, &output, &Progress::default()).unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, Error::Different { .. }) && text.contains(other),
            "{text}"
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// The rest of a recording that was cut is read; an empty one gets a warning.
#[test]
fn cut_recordings() {
    let (folder, mut paths) = copies("postgres-rows", 2);
    let whole = std::fs::read(&paths[0]).unwrap();
    std::fs::write(&paths[1], &whole[..whole.len() / 2]).unwrap();
    let empty = folder.path().join("empty.keel");
    std::fs::write(&empty, &whole[..16]).unwrap();
    paths.push(empty);
    let replayed = replay_files(&paths, None).unwrap();
    assert!(replayed.cut);
    let both = profile(&replayed);
    let parts = [&paths[..1], &paths[1..2]].map(of);
    assert_eq!(both.intervals, parts[0].intervals + parts[1].intervals);
    let is_empty = |warning: &Warning| match warning {
        Warning::RecordingEmpty { path } => path.ends_with("empty.keel"),
        _ => false,
    };
    assert!(both.warnings.iter().any(is_empty), "{:?}", both.warnings);

    let all = folder.path().join("all.keel");
    merge(&paths, &all, &Progress::default()).unwrap();
    assert_eq!(of(&[all]).intervals, both.intervals);
}

/// The caller is notified of each byte that is read, and of the total. Several files that are reported as one are
/// read twice, and a third time where they are merged.
#[test]
fn bytes_read_are_counted() {
    use std::sync::{Arc, Mutex};
    let (folder, paths) = copies("postgres-transaction", 2);
    let merged = folder.path().join("merged.keel");
    let size = |path: &PathBuf| std::fs::metadata(path).unwrap().len();
    let two: u64 = paths.iter().map(size).sum();
    let counted = |work: &dyn Fn(&Progress)| {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&reported);
        work(&Progress::reported_to(move |read, to_read| {
            hears.lock().unwrap().push((read, to_read));
        }));
        let reported = reported.lock().unwrap().clone();
        assert!(reported.iter().all(|&(read, to_read)| read <= to_read));
        assert!(reported.is_sorted());
        *reported.last().unwrap()
    };
    let all = |paths: &[PathBuf], progress: &Progress| {
        replay_some(paths, KeptWhole::default(), &|_| true, progress).unwrap();
    };
    let one = size(&paths[0]);
    assert_eq!(counted(&|progress| all(&paths[..1], progress)), (one, one));
    assert_eq!(
        counted(&|progress| all(&paths, progress)),
        (2 * two, 2 * two)
    );
    let merging = counted(&|progress| {
        merge(&paths, &merged, progress).unwrap();
    });
    assert_eq!(merging, (3 * two, 3 * two));
    let twice = 2 * size(&merged);
    let merged = [merged];
    assert_eq!(counted(&|progress| all(&merged, progress)), (twice, twice));
    let observing = counted(&|progress| {
        let observation = Observation::open_counted(&paths[..1], progress).unwrap();
        observation.replay(&mut |_| Ok(())).unwrap();
    });
    assert_eq!(observing, (2 * one, 2 * one));
}
