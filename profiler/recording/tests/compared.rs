//! Recordings of servers beside themselves: what both timed, and nothing that differs.

use std::path::{Path, PathBuf};

use evenkeel_analysis::Options;
use evenkeel_analysis::comparison::load::SidesLoad;
use evenkeel_analysis::comparison::rows::{Circumstances, Verdict, What, rows};
use evenkeel_analysis::profile::Profile;
use evenkeel_recording::{Compared, Error, Progress, compared, replay_files};

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recordings/{name}.keel"))
}

fn sides(before: &str, after: &str) -> Result<(Compared, [Profile; 2]), Error> {
    let files = [before, after].map(|name| vec![recording(name)]);
    let profiles = [0, 1].map(|side: usize| {
        let replayed = replay_files(&files[side], None).unwrap();
        replayed.profile(&Options::default())
    });
    let both = [&files[0][..], &files[1][..]];
    let found = compared(
        both,
        [&profiles[0], &profiles[1]],
        &[],
        &Progress::default(),
    )?;
    Ok((found, profiles))
}

/// The same file on both sides: the intervals are those of its profile, the times of calls too, and no row differs.
#[test]
fn a_recording_beside_itself() {
    for name in [
        "postgres-transaction",
        "postgres-rows",
        "redis-command",
        "nginx-request",
    ] {
        let (found, [profile, _]) = sides(name, name).unwrap();
        let Compared { sides, parts, .. } = &found;
        for side in sides {
            let total = &side[0].total;
            assert_eq!(total.intervals as u64, profile.intervals, "{name}");
            let mean = total.whole_ns / total.intervals;
            assert!(
                (mean - profile.mean_ns).abs() < 1e-6 * mean,
                "{name}: {mean}"
            );
            // Winsorised times add up as the others do: own times to the latency.
            let root = total.part(parts.of_node(0)).all_ns;
            assert!((root - total.latency_ns).abs() < 1e-6 * root, "{name}");
            let findings = (0..parts.of_node(0)).map(|part| total.part(part).all_ns);
            let all: f64 = findings.sum();
            assert!((all - root).abs() < 1e-6 * root, "{name}: {all} of {root}");
        }
        let circumstances = Circumstances {
            same_interval: true,
            has_processor: true,
            ..Circumstances::default()
        };
        let load = SidesLoad::of(sides);
        for row in rows(sides, parts, load.as_ref(), &circumstances) {
            assert_eq!(row.difference(), 0.0, "{name}: {row:?}");
            let told = matches!(row.verdict, Verdict::Better | Verdict::Worse);
            assert!(!told, "{name}: {row:?}");
        }
    }
}

/// Redis with waits beside PostgreSQL without: another program and other options are no reason to refuse, and waits are followed on neither.
#[test]
fn different_recordings_are_compared_on_calls_that_both_timed() {
    let (found, _) = sides("postgres-transaction", "redis-command").unwrap();
    assert_eq!(found.metas[0][0].program(), "postgres");
    assert_eq!(found.metas[1][0].program(), "redis-server");
    assert!(found.sides.iter().all(|side| side[0].total.intervals > 0.0));
    let rows = rows(&found.sides, &found.parts, None, &Circumstances::default());
    let mean = rows.iter().find(|row| row.what == What::Mean).unwrap();
    assert!(mean.pair.is_some());
}
