//! Recordings that a disk, a transfer or somebody else has changed: an error or a shorter run, never a panic.

use std::path::Path;
use std::sync::OnceLock;

use evenkeel_analysis::rounds::plans::PlanChange;
use evenkeel_analysis::sites::Site;
use evenkeel_analysis::{Analysis, Options};
use evenkeel_recording::{Meta, Replay, Writer};
use evenkeel_wire::{Event, KeepRate, Record, Stamp};
use proptest::prelude::*;

/// The smallest recording of a real server.
fn whole() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/mariadb-rows.keel");
        std::fs::read(path).expect("a recording")
    })
}

/// A recording of sums: two minutes of 50 intervals with two calls each.
fn of_sums() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let meta = Meta {
            ticks_per_ns: 2.0,
            summary: true,
            complete: true,
            ..Meta::default()
        };
        let mut writer = Writer::create(file.path()).expect("room for it");
        writer.meta(&meta);
        for id in 0..2 {
            writer.site(id, &Site::default());
        }
        let mut analysis = Analysis::new(meta.cost());
        analysis.plan_changed(PlanChange {
            generation: 1,
            probes: 2,
            ..PlanChange::default()
        });
        for minute in 1..3 {
            for number in 0..50 {
                analysis.push(7, &interval(1_000_000 * minute + 1000 * number, number));
            }
            writer.minute(&analysis.minute(60_000_000_000 * minute));
        }
        writer.finish(&meta).expect("room for it");
        std::fs::read(file.path()).expect("it was written")
    })
}

/// The records of an interval of two calls; one takes as long as the interval's number says.
fn interval(at: u64, number: u64) -> Vec<Record> {
    let stamp = Stamp {
        generation: 1,
        probed: true,
    };
    let end = Event::End {
        at: at + 500,
        keep: KeepRate::ALL,
        left: false,
        generation: 1,
        open: &[],
    };
    let calls = [
        Record::new(at + 10, 100, 0),
        Record::new(at + 200, 100 + number, 1),
    ];
    let begin = Event::Begin { at, stamp }.records();
    begin.chain(calls).chain(end.records()).collect()
}

#[test]
fn a_recording_of_sums_that_is_whole_is_read() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), of_sums()).expect("room for it");
    let replayed = Replay::open(file.path()).and_then(Replay::run);
    let replayed = replayed.expect("nothing is wrong with it");
    let profile = replayed
        .analysis
        .profile(&replayed.sites, &Options::default());
    assert_eq!(profile.intervals, 100);
}

/// Replays bytes as a recording, to the profile.
fn replay(bytes: &[u8]) {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), bytes).expect("room for it");
    if let Ok(replayed) = Replay::open(file.path()).and_then(Replay::run) {
        let options = Options {
            ticks_per_ns: 2.0,
            ..Options::default()
        };
        replayed.analysis.profile(&replayed.sites, &options);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn changed_anywhere_and_cut_anywhere(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = whole().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(end.index(bytes.len()) + 1);
        replay(&bytes);
    }

    #[test]
    fn of_any_bytes_behind_the_head(rest in proptest::collection::vec(any::<u8>(), 0..400)) {
        replay(&[&whole()[..16], &rest].concat());
    }

    /// A piece of one chunk in the place of another's.
    #[test]
    fn with_pieces_moved(from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(), length in 1usize..5000) {
        let mut bytes = whole().to_vec();
        let from = from.index(bytes.len() - length);
        let to = to.index(bytes.len() - length);
        bytes.copy_within(from..from + length, to);
        replay(&bytes);
    }

    #[test]
    fn of_sums_changed_anywhere_and_cut_anywhere(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = of_sums().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(end.index(bytes.len()) + 1);
        replay(&bytes);
    }
}
