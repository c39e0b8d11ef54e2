//! Power failures at every operation of the disk during TPC-C on the embedded store, with 1, 2 and 4 log streams.
//!
//! The data is loaded once and the store closed; every run starts from a copy of that disk. One client runs a fixed
//! sequence of transactions, so the disk's content after a failure is known exactly. It equals that of
//! SQLite after the same transactions, as many as were acknowledged. It may have one more transaction, if its commit
//! was requested.

mod course;
mod testbed;
mod witness;

use course::Course;
use evenkeel_disk::faults::FaultDisk;
use evenkeel_workloads::interface::{Connection, Workload, complete};
use testbed::{Progress, Testbed, contents, load, run_course, settings};

/// Disks that each power failure leaves.
const IMAGES: u64 = 3;
/// Parts of the course, between which the recovery is made to fail, too.
const PLACES: u64 = 4;
/// Transactions that a recovered store continues with.
const FURTHER: usize = 4;

fn crash_everywhere(streams: usize) {
    let (course, settings) = (Course::draw(witness::states), settings(streams));
    let loaded = load(&course, &settings);
    let (mut kept, mut lost) = (0, 0);
    for cut in 1.. {
        let disk = loaded.after_kill();
        disk.cut_power_at(cut);
        let mut progress = Progress::default();
        let ran = run_course(&disk, &settings, &course, &mut progress);
        if !disk.power_is_off() {
            ran.unwrap();
            println!(
                "{} operations; commits that were asked for when the power failed: {kept} kept, {lost} lost",
                cut - 1
            );
            assert!(kept > 0 && lost > 0, "either may happen: {kept}, {lost}");
            return;
        }
        for image in 0..IMAGES {
            let left = disk.after_power_failure(image * 1_000_000 + cut);
            let what = format!("{streams} streams, cut {cut}, image {image}");
            let there = check(&left, &settings, &course, progress, &what);
            let unacknowledged = there > progress.ended;
            kept += usize::from(unacknowledged);
            lost += usize::from(progress.committing && !unacknowledged);
        }
    }
}

/// Recovers `left`, checks that it has an allowed content, and that the store continues from it. Returns the number
/// of transactions.
fn check(
    left: &FaultDisk,
    settings: &evenkeel_store::Settings,
    course: &Course,
    progress: Progress,
    what: &str,
) -> usize {
    let mut testbed =
        Testbed::open(left, settings, course).unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = contents(&course.tpcc, testbed.store());
    let last = progress.ended + usize::from(progress.committing);
    let there = (progress.ended..=last).find(|&ended| course.states[ended] == found);
    let there = there.unwrap_or_else(|| {
        let states = &course.states[progress.ended..=last];
        panic!(
            "{what}: {} transactions were acknowledged, but {}",
            progress.ended,
            course.differences(&found, states)
        )
    });
    let violations = complete(async {
        testbed.link.begin_alone();
        let violations = course.tpcc.check(&mut testbed.link).await?;
        testbed.link.rollback().await.map(|()| violations)
    });
    assert_eq!(violations, Ok(Vec::new()), "{what}");

    let goes_on = (there + FURTHER).min(course.requests.len());
    let mut again = Progress::default();
    testbed
        .run(course, there..goes_on, &mut again)
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    let further = contents(&course.tpcc, testbed.store());
    assert!(
        further == course.states[goes_on],
        "{what}: {}",
        course.differences(&further, &course.states[goes_on..=goes_on])
    );
    there
}

#[test]
fn every_operation_with_one_stream() {
    crash_everywhere(1);
}

#[test]
fn every_operation_with_two_streams() {
    crash_everywhere(2);
}

#[test]
fn every_operation_with_four_streams() {
    crash_everywhere(4);
}

/// The power fails in the middle of the course, and again at each operation of the recovery.
#[test]
fn every_operation_of_the_recovery() {
    let course = Course::draw(witness::states);
    for streams in [1, 2, 4] {
        let settings = settings(streams);
        let loaded = load(&course, &settings);
        let whole = loaded.after_kill();
        run_course(&whole, &settings, &course, &mut Progress::default()).unwrap();
        for cut in (1..PLACES).map(|place| place * whole.operations() / PLACES) {
            let disk = loaded.after_kill();
            disk.cut_power_at(cut);
            let mut progress = Progress::default();
            let ran = run_course(&disk, &settings, &course, &mut progress);
            assert!(ran.is_err() && disk.power_is_off());
            for again in 1.. {
                let left = disk.after_power_failure(cut);
                left.cut_power_at(again);
                let recovered = Testbed::open(&left, &settings, &course);
                if !left.power_is_off() {
                    recovered.map(drop).unwrap();
                    break;
                }
                drop(recovered);
                let left = left.after_power_failure(again);
                let what = format!("{streams} streams, cut {cut}, and {again} of the recovery");
                check(&left, &settings, &course, progress, &what);
            }
        }
    }
}
