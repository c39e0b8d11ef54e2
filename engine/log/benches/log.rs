//! Commits over threads, streams, policies and block sizes, on a directory of the disk under the target directory.
//!
//! `cargo bench -p evenkeel-log -- [SECONDS]` prints one line for each configuration: commits a second, mean,
//! standard deviation and 99th percentile of the commit's latency, and the number of batches, which gives the size of
//! a group. Configurations are interleaved in rounds, and the medians over rounds printed. The streams of the first
//! part share the machine's disk. Those of the second part have separate simulated devices, whose syncs take a
//! millisecond, and in one of twenty cases ten.

mod devices;

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use devices::device_over;
use evenkeel_disk::{Directory, RealDirectory};
use evenkeel_log::{Depends, FlushPolicy, Log, LogSettings, Lsn, NewRecord};

const ROUNDS: usize = 3;
const RECORDS_PER_COMMIT: usize = 5;

#[derive(Clone, Copy)]
struct Configuration {
    name: &'static str,
    threads: usize,
    streams: usize,
    policy: FlushPolicy,
    block_bytes: usize,
    /// Whether a transaction needs only its own records.
    independent: bool,
    /// Whether the streams have simulated devices.
    simulated: bool,
}

const BASE: Configuration = Configuration {
    name: "eager flush, 1 stream, 8 threads, 4 KiB",
    threads: 8,
    streams: 1,
    policy: FlushPolicy::EagerFlush,
    block_bytes: 4096,
    independent: true,
    simulated: false,
};

fn configurations() -> Vec<Configuration> {
    let mut all = vec![BASE];
    let mut add = |name, change: fn(&mut Configuration)| {
        let mut configuration = Configuration { name, ..BASE };
        change(&mut configuration);
        all.push(configuration);
    };
    add("1 thread", |c| c.threads = 1);
    add("32 threads", |c| c.threads = 32);
    add("2 streams", |c| c.streams = 2);
    add("4 streams", |c| c.streams = 4);
    add("2 streams, everything needed", |c| {
        (c.streams, c.independent) = (2, false)
    });
    add("4 streams, everything needed", |c| {
        (c.streams, c.independent) = (4, false)
    });
    add("lazy flush", |c| c.policy = FlushPolicy::LazyFlush);
    add("lazy write", |c| c.policy = FlushPolicy::LazyWrite);
    add("block 512", |c| c.block_bytes = 512);
    add("block 8 KiB", |c| c.block_bytes = 8192);
    add("block 32 KiB", |c| c.block_bytes = 32768);
    add("block 64 KiB", |c| c.block_bytes = 65536);
    add("simulated devices: 1 stream", |c| c.simulated = true);
    add("2 streams", |c| (c.streams, c.simulated) = (2, true));
    add("4 streams", |c| (c.streams, c.simulated) = (4, true));
    add("2 streams, everything needed", |c| {
        (c.streams, c.simulated, c.independent) = (2, true, false);
    });
    add("4 streams, everything needed", |c| {
        (c.streams, c.simulated, c.independent) = (4, true, false);
    });
    all
}

#[derive(Clone, Copy, Default)]
struct Outcome {
    per_s: f64,
    mean_us: f64,
    sd_us: f64,
    p99_us: f64,
    commits_per_batch: f64,
}

fn run(configuration: Configuration, time: Duration) -> Outcome {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory to write to");
    let directories = (0..configuration.streams)
        .map(|stream| {
            let directory = RealDirectory::open(place.path().join(format!("stream{stream}")))?;
            let device = || device_over(directory.clone(), stream as u64);
            Ok(if configuration.simulated {
                device()
            } else {
                directory
            })
        })
        .collect::<std::io::Result<Vec<Arc<dyn Directory>>>>()
        .expect("directories to write to");
    let settings = LogSettings {
        policy: configuration.policy,
        block_bytes: configuration.block_bytes,
        ..LogSettings::default()
    };
    let (log, _) = Log::open(directories, settings).expect("a log");
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let mut latencies: Vec<f64> = thread::scope(|threads| {
        let workers: Vec<_> = (0..configuration.threads)
            .map(|worker| {
                let (log, stop) = (&log, &stop);
                threads.spawn(move || {
                    commit_until(log, stop, worker as u64, configuration.independent)
                })
            })
            .collect();
        thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("a worker"))
            .collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    latencies.sort_by(f64::total_cmp);
    let count = latencies.len() as f64;
    let mean = latencies.iter().sum::<f64>() / count;
    let variance = latencies
        .iter()
        .map(|latency| (latency - mean).powi(2))
        .sum::<f64>()
        / count;
    let batches: u64 = log
        .statistics()
        .streams
        .iter()
        .map(|stream| stream.batches)
        .sum();
    Outcome {
        per_s: count / seconds,
        mean_us: mean,
        sd_us: variance.sqrt(),
        p99_us: latencies[(latencies.len() - 1) * 99 / 100],
        commits_per_batch: count / batches.max(1) as f64,
    }
}

fn commit_until(log: &Log, stop: &AtomicBool, txn: u64, independent: bool) -> Vec<f64> {
    let payload = [7; 120];
    let depends = if independent {
        Depends::On(&[])
    } else {
        Depends::Everything
    };
    let mut latencies = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let mut prev = Lsn::ZERO;
        for _ in 0..RECORDS_PER_COMMIT {
            let record = NewRecord {
                txn,
                prev,
                kind: 1,
                depends,
                payload: &payload,
            };
            prev = log.append(&record).expect("an append");
        }
        let begun = Instant::now();
        log.commit(black_box(prev)).expect("a commit");
        latencies.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    latencies
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let seconds = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok());
    let time = Duration::from_secs_f64(seconds.unwrap_or(1.0));
    let configurations = configurations();
    let mut outcomes: Vec<Vec<Outcome>> = vec![Vec::new(); configurations.len()];
    for _ in 0..ROUNDS {
        for (configuration, outcomes) in configurations.iter().zip(&mut outcomes) {
            outcomes.push(run(*configuration, time));
        }
    }
    println!(
        "{:42} {:>10} {:>9} {:>9} {:>9} {:>13}",
        "", "commits/s", "mean us", "sd us", "p99 us", "commits/batch"
    );
    for (configuration, outcomes) in configurations.iter().zip(outcomes) {
        let of = |pick: fn(&Outcome) -> f64| median(outcomes.iter().map(pick).collect());
        println!(
            "{:42} {:10.0} {:9.1} {:9.1} {:9.1} {:13.1}",
            configuration.name,
            of(|o| o.per_s),
            of(|o| o.mean_us),
            of(|o| o.sd_us),
            of(|o| o.p99_us),
            of(|o| o.commits_per_batch),
        );
    }
}
