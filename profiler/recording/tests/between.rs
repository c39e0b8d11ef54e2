//! Of a recording of sums, the minutes between two moments: exactly what their intervals say.

use std::path::{Path, PathBuf};

use evenkeel_analysis::analysis::LastMinute;
use evenkeel_analysis::profile::Profile;
use evenkeel_analysis::sites::Site;
use evenkeel_analysis::{Analysis, Options, ProbeCost};
use evenkeel_recording::{Meta, Progress, Writer, replay_between, replay_files};
use evenkeel_wire::{Marker, Record, latency_class};

const MINUTE_NS: u64 = 60_000_000_000;
/// Intervals of each minute, and their latency in ticks of one nanosecond.
const MINUTES: [(u64, u64); 4] = [(10, 1_000), (20, 2_000), (30, 5_000), (40, 1_500)];
/// Of each minute, intervals that were only counted.
const COUNTED: u64 = 5;

fn intervals(minute: usize) -> Vec<Record> {
    let (count, latency) = MINUTES[minute];
    let each = (0..count).flat_map(|at| {
        let begin = 1_000_000 * (1 + 100 * minute as u64 + at);
        // From the third minute on, another function is called.
        let probe = u32::from(minute > 1);
        [
            Record::marker(Marker::Begin, begin, 1 << 1 | 1),
            Record::new(begin + 10, latency / 2 + at, probe),
            Record::marker(Marker::End, begin + latency + at, 1 << 1 | 1),
        ]
    });
    each.collect()
}

fn meta() -> Meta {
    Meta {
        interval: "x".into(),
        root: "x".into(),
        ticks_per_ns: 1.0,
        summary: true,
        complete: true,
        ..Meta::default()
    }
}

fn begun() -> Analysis {
    let mut analysis = Analysis::new(ProbeCost::default());
    analysis.log_rounds();
    analysis.begin_round(1, 2);
    analysis
}

fn recorded(path: &Path) {
    let mut writer = Writer::create(path).unwrap();
    writer.meta(&meta());
    for (id, callee) in ["f", "g"].into_iter().enumerate() {
        let callee = callee.to_owned();
        writer.site(
            id as u32,
            &Site {
                callee,
                ..Site::default()
            },
        );
    }
    let mut analysis = begun();
    for (minute, &(_, latency)) in MINUTES.iter().enumerate() {
        analysis.push(7, &intervals(minute));
        writer.unrecorded(&[(latency_class(latency), COUNTED)], latency);
        writer.minute(&analysis.minute((minute as u64 + 100) * MINUTE_NS));
    }
    writer.finish(&meta()).unwrap();
}

/// The profile of the recording between two times, in minutes.
fn between(files: &[PathBuf], from: f64, to: f64) -> Option<Profile> {
    let moment = |minutes: f64| ((minutes + 100.0) * MINUTE_NS as f64) as u64;
    let moments = [moment(from), moment(to)];
    let replayed = replay_between(files, moments, &Progress::default()).unwrap();
    let covered = replayed.covered.clone()?;
    assert_eq!(covered.start % MINUTE_NS, 0);
    assert!(covered.start <= moments[0].max(100 * MINUTE_NS));
    Some(replayed.profile(&Options::default()))
}

/// The profile of these minutes as if there had been no others.
fn alone(minutes: impl Iterator<Item = usize>) -> Profile {
    let mut analysis = begun();
    minutes.for_each(|minute| analysis.push(7, &intervals(minute)));
    let options = Options {
        ticks_per_ns: 1.0,
        ..Options::default()
    };
    analysis.profile(&Default::default(), &options)
}

#[track_caller]
fn assert_same(one: &Profile, other: &Profile) {
    assert_eq!(one.intervals, other.intervals);
    assert_eq!(one.mean_ns, other.mean_ns);
    assert_eq!(one.variance_ns2, other.variance_ns2);
    // The largest latency of a minute is known as closely as the histogram's buckets are wide.
    for (name, ns) in &one.percentiles_ns {
        assert!(
            (ns / other.percentiles_ns[name] - 1.0).abs() < 0.02,
            "{name}"
        );
    }
    assert_eq!(one.closure, other.closure);
}

#[test]
fn minutes_between_two_moments_are_a_profile_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.keel");
    recorded(&file);
    let files = [file];
    for (from, to, minutes) in [
        (0.0, 1.0, 0..1),
        (1.0, 2.0, 1..2),
        (1.5, 2.5, 1..3),
        (2.0, 9.0, 2..4),
        (-9.0, 9.0, 0..4),
    ] {
        let profile = between(&files, from, to).expect("minutes");
        assert_same(&profile, &alone(minutes.clone()));
        let sampling = profile.sampling.expect("latencies");
        let seen = profile.intervals + COUNTED * minutes.len() as u64;
        assert_eq!(sampling.seen, seen, "{from} to {to}");
        assert_eq!(profile.sampled_out, COUNTED * minutes.len() as u64);
    }
    assert!(between(&files, 9.0, 10.0).is_none());
    assert!(between(&files, -9.0, -8.0).is_none());
}

/// Two copies have each interval twice, and share their call paths.
#[test]
fn several_recordings_are_cut_alike() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["a.keel", "b.keel"].map(|name| folder.path().join(name));
    files.iter().for_each(|file| recorded(file));
    let both = between(&files, 1.0, 3.0).expect("minutes");
    let one = between(&files[..1], 1.0, 3.0).expect("minutes");
    assert_eq!(both.intervals, 2 * one.intervals);
    assert_eq!(both.mean_ns, one.mean_ns);
    assert_eq!(both.tree.children.len(), one.tree.children.len());
}

/// A recording of single intervals has no minutes.
#[test]
fn single_intervals_have_no_minutes() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let files = [recordings.join("redis-command.keel")];
    let replayed = replay_between(&files, [0, u64::MAX], &Progress::default()).unwrap();
    assert_eq!(replayed.covered, None);
    let whole = replay_files(&files, None).unwrap();
    assert!(whole.covered.is_none() && whole.analysis.intervals_seen() > 0);
}

/// What a session shows of each minute is that minute's profile, though the minute's sums build on those before.
#[test]
fn the_last_minute_is_a_profile_of_its_own() {
    let mut analysis = begun();
    let mut last_minute = LastMinute::default();
    let options = Options {
        ticks_per_ns: 1.0,
        ..Options::default()
    };
    for (minute, &(_, latency)) in MINUTES.iter().enumerate() {
        analysis.push(7, &intervals(minute));
        last_minute.count_unrecorded(&[(latency_class(latency), COUNTED)], 5_000);
        let sums = analysis.minute(minute as u64 * MINUTE_NS);
        let shown = last_minute.alone(&sums, &analysis);
        let profile = shown.profile(&Default::default(), &options);
        assert_same(&profile, &alone(minute..minute + 1));
        let bins = shown.latency_bins(1.0);
        let all: u64 = bins.iter().map(|bin| bin.count).sum();
        assert_eq!(all, MINUTES[minute].0 + COUNTED);
        let max = bins.last().unwrap().to_ns;
        assert!(
            max < 1.1 * (latency + 50) as f64,
            "{max} in minute {minute}"
        );
    }
}
