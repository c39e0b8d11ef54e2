//! Growth of a decision's time with the length of the queue: `cargo bench -p evenkeel-locks --bench decisions`.
//!
//! Every schedule at queue lengths from 1 to 1000, all in turn in each round; medians over the rounds. The exponent
//! is the slope of the least-squares line through the logarithms from length 32 on, where constant costs no longer
//! matter. An exponent of 1 is linear; the papers' decisions are quadratic (dissertation section 4.5).

#[path = "support/statistics.rs"]
mod statistics;

use std::time::{Duration, Instant};

use evenkeel_locks::contention::{Contention, Effects, Rules};
use evenkeel_locks::graph::{QueueIndex, TxnIndex, TxnMeta};
use evenkeel_locks::{Mode, ScheduleKind, SetSizes, Starvation};

use statistics::{median, slope};

/// Queue lengths.
const LENGTHS: [usize; 8] = [1, 3, 10, 32, 100, 178, 316, 1000];
/// The first of them the exponent is fitted from.
const FIT_FROM: usize = 32;
/// Times everything is measured.
const ROUNDS: usize = 15;
/// Waiters looked at in one measurement, whatever the length.
const WAITERS: usize = 20_000;

/// A hot object with `length` waiters, every other one shared, each with a transaction waiting for it. Births are in no
/// order, but the first shared waiter is the oldest: of two or more waiters the oldest can always be shared with.
fn contended(
    schedule: ScheduleKind,
    sizes: SetSizes,
    length: usize,
) -> (Contention, QueueIndex, TxnIndex) {
    let rules = Rules {
        sizes,
        starvation: Starvation::None,
        ..Rules::new(schedule)
    };
    let mut contention = Contention::new(rules);
    let mut effects = Effects::default();
    let mut id = 0;
    let mut begin = |contention: &mut Contention, birth_ns| {
        id += 1;
        contention.add_txn(TxnMeta {
            id,
            birth_ns,
            class: 0,
            expected_remaining_ns: Some(1.0),
        })
    };
    let hot = contention.add_queue();
    let holder = begin(&mut contention, 0);
    contention
        .request(holder, hot, Mode::X, 0, 0, &mut effects)
        .expect("free");
    for at in 0..length {
        let birth_ns = if at == 1 {
            0
        } else {
            1 + (at as u64 * 7919) % 1009
        };
        let waiter = begin(&mut contention, birth_ns);
        let dependent = begin(&mut contention, birth_ns);
        let own = contention.add_queue();
        contention
            .request(waiter, own, Mode::X, 0, 0, &mut effects)
            .expect("free");
        contention
            .request(dependent, own, Mode::X, 0, 0, &mut effects)
            .expect("waits");
        let mode = if at % 2 == 0 { Mode::X } else { Mode::S };
        contention
            .request(waiter, hot, mode, 1, 0, &mut effects)
            .expect("waits");
    }
    (contention, hot, holder)
}

fn decide(
    (contention, hot, holder): &mut (Contention, QueueIndex, TxnIndex),
    iterations: u64,
) -> Duration {
    let mut effects = Effects::default();
    let mut deciding = Duration::ZERO;
    for now_ns in 0..iterations {
        let started = Instant::now();
        contention.release(*holder, *hot, now_ns, &mut effects);
        deciding += started.elapsed();
        // The queue gets its length back before the next decision.
        let granted: Vec<_> = effects.granted.drain(..).collect();
        effects.clear();
        let mut back: Vec<_> = granted
            .iter()
            .map(|granted| (granted.txn, granted.mode))
            .collect();
        for granted in granted {
            contention.release(granted.txn, *hot, now_ns, &mut effects);
        }
        // Releasing the last reader may have granted a writer, and so on, until the queue is at rest again.
        while let Some(next) = effects.granted.pop() {
            back.push((next.txn, next.mode));
            contention.release(next.txn, *hot, now_ns, &mut effects);
        }
        contention
            .request(*holder, *hot, Mode::X, 0, now_ns, &mut effects)
            .expect("everybody left");
        for (txn, mode) in back {
            contention
                .request(txn, *hot, mode, 1, now_ns, &mut effects)
                .expect("waits");
        }
        effects.clear();
    }
    deciding
}

fn main() {
    // Criterion's filters and cargo's `--bench` are not for this one.
    let variants = ScheduleKind::ALL.into_iter().flat_map(|schedule| {
        let exact = schedule.needs_sizes().then_some(SetSizes::Exact);
        [Some(SetSizes::Approximate), exact]
            .into_iter()
            .flatten()
            .map(move |sizes| (schedule, sizes))
    });
    let mut measured: Vec<_> = variants
        .map(|variant| (variant, vec![Vec::new(); LENGTHS.len()]))
        .collect();
    for _ in 0..ROUNDS {
        for ((schedule, sizes), by_length) in &mut measured {
            for (length, times_ns) in LENGTHS.into_iter().zip(by_length) {
                let mut prepared = contended(*schedule, *sizes, length);
                let decisions = (WAITERS / length).clamp(20, 2000) as u64;
                let deciding = decide(&mut prepared, decisions);
                times_ns.push(deciding.as_nanos() as f64 / decisions as f64);
            }
        }
    }
    print!("{:<14}", "ns a decision");
    LENGTHS.iter().for_each(|length| print!("{length:>9}"));
    println!("{:>10}", "exponent");
    for ((schedule, sizes), by_length) in &mut measured {
        let exact = if *sizes == SetSizes::Exact {
            " exact"
        } else {
            ""
        };
        print!("{:<14}", format!("{}{exact}", schedule.name()));
        let mut points = Vec::new();
        for (length, times_ns) in LENGTHS.into_iter().zip(by_length) {
            let typical_ns = median(times_ns);
            print!("{typical_ns:>9.0}");
            if length >= FIT_FROM {
                points.push(((length as f64).ln(), typical_ns.ln()));
            }
        }
        println!("{:>10.2}", slope(&points));
    }
}
