//! Intervals that sampling skips: they are counted with their latencies, so that no slow one is lost unnoticed.

mod harness;

use evenkeel_wire::{Role, latency_class};
use harness::plan::{Hook, Hooks};
use harness::{How, run};

const HOOKS: [Hook<'static>; 1] = [Hook::new("request", Role::Whole)];

/// All of 500 intervals are skipped; ten last for a hundredth of a second, which is at least a million ticks on any
/// machine.
#[test]
fn skipped_intervals_are_counted_with_their_latencies() {
    let how = How {
        hooks: Hooks(&HOOKS),
        skips_all: true,
        ..How::default()
    };
    let run = run("skipped", &how);
    assert_eq!(run.stdout(), "500\n");
    assert!(run.streams.iter().all(|stream| stream.events.is_empty()));
    let [unrecorded] = &run.unrecorded[..] else {
        panic!("one thread: {:?}", run.unrecorded)
    };
    assert_eq!(unrecorded.intervals, 500);
    let slow = unrecorded.by_class[latency_class(1_000_000)..]
        .iter()
        .sum::<u64>();
    assert!(slow >= 10, "{slow}");
    assert_eq!(unrecorded.by_class.iter().sum::<u64>(), 500);
    let largest = unrecorded.by_class.iter().rposition(|&count| count > 0);
    assert_eq!(largest, Some(latency_class(unrecorded.max_ticks)));
}

/// Nothing is counted as unrecorded where every interval is recorded.
#[test]
fn recorded_intervals_are_not_counted_again() {
    let how = How {
        hooks: Hooks(&HOOKS),
        ..How::default()
    };
    let run = run("skipped", &how);
    assert_eq!(
        run.unrecorded.iter().map(|one| one.intervals).sum::<u64>(),
        0
    );
}
