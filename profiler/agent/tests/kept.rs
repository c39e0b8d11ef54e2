//! Intervals that are kept or not when they end, by their latency.

mod harness;

use evenkeel_wire::{KeepRate, Role, latency_class};
use harness::events::Event;
use harness::plan::{Hook, Hooks};
use harness::{How, Run, run};

const HOOKS: [Hook<'static>; 1] = [Hook::new("request", Role::Whole)];
/// Slower than what does nothing, and quicker than a hundredth of a second, on any machine.
const SLOW_TICKS: u64 = 1_000_000;

/// The quick ones of `skipped` one in eight.
fn by_latency(ticks: u64) -> KeepRate {
    KeepRate::of_log2(if ticks < SLOW_TICKS { 3 } else { 0 })
}

/// Ends of recorded intervals with weight one, and with weight eight.
fn ends(run: &Run) -> [usize; 2] {
    let ends = |weight: &str| {
        let is_end = |event: &Event| match event {
            Event::Other(text) => text.starts_with("End ") && text.contains(weight),
            _ => false,
        };
        run.all().filter(|(_, event)| is_end(event)).count()
    };
    [ends("KeepRate(0)"), ends("KeepRate(3)")]
}

/// Ten of 500 intervals are slow: all of these are recorded, and about one in eight of the others (of 490, 61 with a
/// standard deviation of 7). All unrecorded intervals are counted with their latency.
#[test]
fn the_slow_are_kept_and_the_quick_stand_for_several() {
    let how = How {
        hooks: Hooks(&HOOKS),
        keep: Some(by_latency),
        ..How::default()
    };
    let run = run("skipped", &how);
    assert_eq!(run.stdout(), "500\n");
    let [slow, quick] = ends(&run);
    // A quick one that was interrupted for long is slow.
    assert!((10..100).contains(&slow), "{slow}");
    assert!((25..110).contains(&quick), "{quick}");
    let [unrecorded] = &run.unrecorded[..] else {
        panic!("one thread: {:?}", run.unrecorded)
    };
    assert_eq!(unrecorded.intervals as usize + slow + quick, 500);
    let slow = unrecorded.by_class[latency_class(SLOW_TICKS) + 1..].iter();
    assert_eq!(slow.sum::<u64>(), 0);
}

/// Where waits are followed, others may need what a thread did.
#[test]
fn with_waits_all_are_kept() {
    let how = How {
        waits: true,
        hooks: Hooks(&HOOKS),
        keep: Some(by_latency),
        ..How::default()
    };
    assert_eq!(ends(&run("skipped", &how)), [500, 0]);
}
