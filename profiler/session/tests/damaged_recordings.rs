//! Recordings that a disk, a transfer or somebody else has changed: an error or a shorter run, never a panic.

use std::path::Path;
use std::sync::OnceLock;

use evenkeel_analysis::Options;
use evenkeel_session::recording::Replay;
use proptest::prelude::*;

/// The smallest recording of a real server.
fn whole() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/mariadb-rows.keel");
        std::fs::read(path).expect("a recording")
    })
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
}
