//! Cost of the kernel's events for a target: `cargo bench -p evenkeel-kernel`.
//!
//! Two threads hand a byte back and forth through pipes, each hand-over a wake-up and up to two context switches. Rounds with and
//! without events take turns; printed are the medians of the time of a hand-over, and how many events there were.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use evenkeel_kernel::{KernelEvents, Watched};

const ROUND: Duration = Duration::from_millis(250);
const ROUNDS: usize = 9;
/// Between two drains, as in a session.
const PERIOD: Duration = Duration::from_millis(10);

fn main() {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    let (mut events, mut lost) = (0u32, 0);
    let mut wakers = false;
    for _ in 0..ROUNDS {
        without.push(hand_over_ns(|| {}));
        let mut kernel = match KernelEvents::watch(Watched::Children) {
            Ok(kernel) => kernel,
            Err(error) => return println!("{error}"),
        };
        with.push(hand_over_ns(|| kernel.drain(&mut |_| events += 1)));
        wakers = kernel.sees_wakers();
        lost += kernel.lost;
    }
    let (without, with) = (median(&mut without), median(&mut with));
    let rate = f64::from(events) / (ROUND * ROUNDS as u32).as_secs_f64();
    let kinds = if wakers {
        "all kinds"
    } else {
        "no tracepoints"
    };
    println!("a hand-over: {without:.0} ns without events, {with:.0} ns with ({kinds})");
    println!("{rate:.0} events a second, {lost} lost");
}

/// Mean time of a hand-over; `meanwhile` is called now and then.
fn hand_over_ns(mut meanwhile: impl FnMut()) -> f64 {
    let (there, here) = (pipe().expect("a pipe"), pipe().expect("a pipe"));
    let over = AtomicBool::new(false);
    let count = AtomicU64::new(0);
    thread::scope(|scope| {
        let mut first = there.1;
        first.write_all(&[0]).expect("there is room");
        scope.spawn(|| pass_on(there.0, here.1, &over, &count));
        scope.spawn(|| pass_on(here.0, first, &over, &count));
        let started = Instant::now();
        while started.elapsed() < ROUND {
            thread::sleep(PERIOD);
            meanwhile();
        }
        over.store(true, Relaxed);
    });
    ROUND.as_nanos() as f64 / count.load(Relaxed) as f64
}

/// Until it is over, or the other has gone.
fn pass_on(mut from: PipeReader, mut to: PipeWriter, over: &AtomicBool, count: &AtomicU64) {
    let mut byte = [0];
    while !over.load(Relaxed) && from.read_exact(&mut byte).is_ok() && to.write_all(&byte).is_ok() {
        count.fetch_add(1, Relaxed);
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
