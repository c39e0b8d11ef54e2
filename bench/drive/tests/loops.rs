//! The load loops against targets made up for the purpose. Every assertion follows from what a sleep guarantees (it is
//! never too short) and from counts, so a slow machine cannot make it fail.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use evenkeel_drive::Error;
use evenkeel_drive::arrivals::Spread;
use evenkeel_drive::client::{Abort, Attempt, Client, Reason};
use evenkeel_drive::metrics::Metrics;
use evenkeel_drive::run::{Load, Measured, Observer, Plan, run};
use evenkeel_drive::sample::{Ending, Sample};

/// Keeps every sample.
#[derive(Default)]
struct Samples(Vec<Sample>);

impl Observer for Samples {
    fn samples(&mut self, samples: &[Sample]) -> Result<(), Error> {
        self.0.extend_from_slice(samples);
        Ok(())
    }

    fn slice(&mut self, _: &Metrics) {}
}

/// A client whose attempts are what a function makes of their number, counted over all clients.
struct Scripted<'a, F> {
    attempts: &'a AtomicU64,
    script: F,
}

impl<F: Fn(u64) -> Result<Attempt, Abort> + Send> Client for Scripted<'_, F> {
    fn draw(&mut self) -> u8 {
        0
    }

    fn attempt(&mut self) -> Result<Attempt, Abort> {
        (self.script)(self.attempts.fetch_add(1, Ordering::Relaxed))
    }
}

fn plan(load: Load, length_ms: u64) -> Plan {
    Plan {
        load,
        warmup: Duration::ZERO,
        length: Duration::from_millis(length_ms),
        retries_max: 100,
        seed: 1,
    }
}

fn open(rate_per_s: f64, in_flight_max: u64) -> Load {
    Load::Open {
        spread: Spread::Constant,
        rate_per_s,
        in_flight_max,
    }
}

/// Runs `count` clients of one script.
fn drive(
    count: usize,
    plan: &Plan,
    script: impl Fn(u64) -> Result<Attempt, Abort> + Send + Copy + 'static,
) -> (Result<Measured, Error>, Vec<Sample>) {
    let attempts: &'static AtomicU64 = Box::leak(Box::default());
    let mut clients: Vec<Box<dyn Client>> = (0..count)
        .map(|_| Box::new(Scripted { attempts, script }) as Box<dyn Client>)
        .collect();
    let mut kept = Samples::default();
    let measured = run(&mut clients, 1, plan, &AtomicBool::new(false), &mut kept);
    (measured, kept.0)
}

const STALL: Duration = Duration::from_millis(400);

/// One stall of 400 ms while 200 transactions a second arrive. Arrivals within it wait for its rest, although only a
/// single transaction was slow. A driver that measured from the start of the work would see one long latency among
/// hundreds ("coordinated omission").
#[test]
fn a_stall_shows_in_the_latency_of_every_arrival_during_it() {
    let stall_once = |attempt| {
        if attempt == 20 {
            thread::sleep(STALL);
        }
        Ok(Attempt::Committed)
    };
    let (measured, samples) = drive(1, &plan(open(200.0, 10_000), 1000), stall_once);
    let measured = measured.expect("a run");
    // Arrivals at 5, 10, ..., 995 ms.
    assert_eq!(measured.metrics.all.response.count, 199);
    assert_eq!((measured.rejected, measured.unfinished), (0, 0));
    let stalled = samples
        .iter()
        .filter(|sample| sample.service_ns() >= 400_000_000);
    assert!(stalled.count() >= 1);
    // The stall began at the earliest when arrival 20 was due. The 40 that follow in the first 200 ms waited for at least
    // the other 200 ms.
    let waited = samples
        .iter()
        .filter(|sample| sample.response_ns() >= 200_000_000);
    assert!(waited.count() >= 41);
    let queued = samples
        .iter()
        .filter(|sample| sample.queue_ns() >= 200_000_000);
    assert!(queued.count() >= 40);
    let sum = &measured.metrics.all;
    let parts = sum.queue.mean_ns() + sum.service.mean_ns();
    assert!((parts - sum.response.mean_ns()).abs() < 1.0);
}

/// The same stall in a closed loop is one long latency, which is the reason for open loops.
#[test]
fn a_closed_loop_sees_a_stall_once_for_each_client() {
    // The first attempt: it is made however slow the machine is.
    let stall_once = |attempt| {
        thread::sleep(if attempt == 0 {
            STALL
        } else {
            Duration::from_millis(5)
        });
        Ok(Attempt::Committed)
    };
    let (measured, samples) = drive(1, &plan(Load::Closed { thinking: false }, 600), stall_once);
    let measured = measured.expect("a run");
    assert_eq!(measured.offered_per_s, None);
    assert!(samples.iter().all(|sample| sample.queue_ns() == 0));
    let long = samples
        .iter()
        .filter(|sample| sample.response_ns() >= 400_000_000);
    assert!(long.count() >= 1);
    // 5 ms each, one after the other.
    assert!(samples.len() <= 120);
}

/// 1000 arrivals a second; at most 500 can be served, because each sleeps for 2 ms.
#[test]
fn a_queue_that_grows_until_the_end_is_seen() {
    let slow = |_| {
        thread::sleep(Duration::from_millis(2));
        Ok(Attempt::Committed)
    };
    let (measured, _) = drive(1, &plan(open(1000.0, 10_000), 1000), slow);
    let measured = measured.expect("a run");
    let in_flight = &measured.metrics.in_flight;
    assert!(
        in_flight.grows(measured.unfinished),
        "{:?}",
        in_flight.quarters()
    );
}

#[test]
fn arrivals_over_the_limit_in_flight_are_rejected_and_counted() {
    // Each takes at least 100 ms, so two clients finish at most 20 in the second, and 5 are in flight at its end. Of
    // 99 arrivals at least 74 are rejected. The counts add up.
    let slow = |_| {
        thread::sleep(Duration::from_millis(100));
        Ok(Attempt::Committed)
    };
    let (measured, samples) = drive(2, &plan(open(100.0, 5), 1000), slow);
    let measured = measured.expect("a run");
    assert!(measured.rejected >= 74, "{}", measured.rejected);
    let served = measured.metrics.all.response.count;
    assert_eq!(served + measured.rejected + measured.unfinished, 99);
    assert_eq!(served, samples.len() as u64);
    // 99 arrivals in a window of one second.
    assert_eq!(measured.offered_per_s, Some(99.0));
}

#[test]
fn aborted_attempts_are_retried_and_counted_by_reason() {
    // Attempts fail in turn: deadlock, serialization, then a commit.
    let twice = |attempt| match attempt % 3 {
        0 => Err(Abort::Retry(Reason::Deadlock)),
        1 => Err(Abort::Retry(Reason::Serialization)),
        _ => Ok(Attempt::Committed),
    };
    let (measured, samples) = drive(1, &plan(open(100.0, 100), 300), twice);
    let metrics = measured.expect("a run").metrics;
    // Arrivals at 10, 20, ..., 290 ms.
    assert_eq!(metrics.all.response.count, 29);
    assert_eq!((metrics.aborts, metrics.retries), ([29, 29, 0], 58));
    assert!(
        samples
            .iter()
            .all(|sample| sample.retries == 2 && sample.ending == Ending::Committed)
    );
}

#[test]
fn a_transaction_that_never_succeeds_is_given_up_after_its_retries() {
    let never = |_| Err(Abort::Retry(Reason::LockTimeout));
    let plan = Plan {
        retries_max: 3,
        ..plan(open(100.0, 100), 100)
    };
    let (measured, _) = drive(1, &plan, never);
    let metrics = measured.expect("a run").metrics;
    assert_eq!((metrics.given_up, metrics.all.response.count), (9, 0));
    assert_eq!((metrics.aborts, metrics.retries), ([0, 0, 36], 27));
}

#[test]
fn an_error_that_no_retry_mends_ends_the_run_with_its_words() {
    let fails = |attempt| match attempt {
        7 => Err(Abort::Fatal(Error::Setting(
            "the disk is on fire".to_owned(),
        ))),
        _ => Ok(Attempt::Committed),
    };
    // An hour, if it did not end.
    let (measured, _) = drive(4, &plan(open(1000.0, 100), 3_600_000), fails);
    assert_eq!(
        measured.expect_err("an error").to_string(),
        "the disk is on fire"
    );
}

#[test]
fn a_backlog_of_the_warm_up_is_not_hidden() {
    // The first transaction takes until the window has begun.
    let slow_start = |attempt| {
        if attempt == 0 {
            thread::sleep(Duration::from_millis(300));
        }
        Ok(Attempt::Committed)
    };
    let plan = Plan {
        warmup: Duration::from_millis(200),
        ..plan(open(100.0, 1000), 500)
    };
    let (measured, _) = drive(1, &plan, slow_start);
    let measured = measured.expect("a run");
    // 20, 30, ... and 190 ms were due in the warm-up, and none of them could start before 310 ms.
    assert_eq!(measured.metrics.backlog, 18);
    assert_eq!(measured.metrics.all.response.count, 50);
}

#[test]
fn an_interrupted_run_reports_what_it_has() {
    let attempts: &'static AtomicU64 = Box::leak(Box::default());
    let interrupted: &'static AtomicBool = Box::leak(Box::default());
    let script = |attempt| {
        interrupted.store(attempt >= 10, Ordering::Relaxed);
        Ok(Attempt::Committed)
    };
    let mut clients: Vec<Box<dyn Client>> = vec![Box::new(Scripted { attempts, script })];
    let mut kept = Samples::default();
    let plan = plan(open(1000.0, 100), 3_600_000);
    let measured = run(&mut clients, 1, &plan, interrupted, &mut kept).expect("a run");
    assert!(measured.interrupted);
    assert!(measured.metrics.all.response.count >= 10);
    assert!(measured.metrics.window().length_s() < 3600.0);
}

/// Takes its time before and after each transaction.
struct Thoughtful;

impl Client for Thoughtful {
    fn draw(&mut self) -> u8 {
        0
    }

    fn attempt(&mut self) -> Result<Attempt, Abort> {
        Ok(Attempt::Committed)
    }

    fn pauses(&mut self) -> (Duration, Duration) {
        (Duration::from_millis(40), Duration::from_millis(60))
    }
}

#[test]
fn keying_and_think_times_pass_between_transactions_and_count_in_none() {
    let run = |thinking| {
        let mut clients: Vec<Box<dyn Client>> = vec![Box::new(Thoughtful)];
        let mut kept = Samples::default();
        let plan = plan(Load::Closed { thinking }, 500);
        run(&mut clients, 1, &plan, &AtomicBool::new(false), &mut kept).expect("a run");
        kept.0
    };
    // With 40 ms before and 60 ms after each, transactions start at 40, 140, 240, 340 and 440 ms, if nothing is late.
    let samples = run(true);
    assert!((1..=5).contains(&samples.len()), "{}", samples.len());
    assert!(samples[0].scheduled_ns >= 40_000_000);
    let apart = samples
        .windows(2)
        .map(|pair| pair[1].started_ns - pair[0].ended_ns);
    assert!(apart.into_iter().all(|gap_ns| gap_ns >= 100_000_000));
    assert!(
        samples
            .iter()
            .all(|sample| sample.started_ns == sample.scheduled_ns)
    );
    // The same client without its pauses gets more done.
    assert!(run(false).len() > 5);
}
