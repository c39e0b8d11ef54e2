//! A request that goes from thread to thread, annotated: what `evenkeel profile --interval annotated --waits` makes of it is known.
//!
//! Requests are submitted in groups of 4 to one worker, which takes S = 300,000 ticks for each. They wait in the queue for
//! 0, S, 2 S and 3 S, and are then handled for S. So the latencies are S, 2 S, 3 S and 4 S.
//! ```text
//! mean latency 2.5 S, queued 1.5 S, in `handle` S;  variance 1.25 S^2, all of it the queue's
//! ```
//! The first and third of a group are of the class "even", in the mean 2 S; the others of the class "odd", in the mean 3 S.

use std::sync::mpsc::channel;

use evenkeel_wire::now_ticks;

/// Requests in a group.
const GROUP: u64 = 4;
/// Ticks of the time stamp counter a request takes.
const SERVICE_TICKS: u64 = 300_000;

fn main() {
    let requests: u64 = std::env::args()
        .nth(1)
        .map_or(800, |count| count.parse().expect("a number of requests"));
    let (queue, taken) = channel::<Vec<u64>>();
    let (done, answers) = channel::<u64>();
    let worker = std::thread::spawn(move || {
        for request in taken.into_iter().flatten() {
            evenkeel_annotate::dequeue(request);
            evenkeel_annotate::work(request);
            let answer = handle(request);
            evenkeel_annotate::end(request);
            done.send(answer).expect("main waits for it");
        }
    });
    let mut sum = 0;
    for first in (1..=requests).step_by(GROUP as usize) {
        let group: Vec<u64> = (first..first + GROUP).collect();
        for &request in &group {
            evenkeel_annotate::begin(request);
            let class = ["even", "odd"][(request - first) as usize % 2];
            evenkeel_annotate::class(request, class);
            evenkeel_annotate::enqueue(request);
            evenkeel_annotate::work(0);
        }
        queue.send(group).expect("the worker runs");
        sum += answers.iter().take(GROUP as usize).sum::<u64>();
    }
    drop(queue);
    worker.join().expect("it does not panic");
    println!("{requests} requests, {sum}");
}

/// Busy for [`SERVICE_TICKS`].
#[inline(never)]
fn handle(request: u64) -> u64 {
    let begin = now_ticks();
    while now_ticks() - begin < SERVICE_TICKS {}
    request * request
}
