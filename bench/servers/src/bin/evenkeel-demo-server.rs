//! A small multi-threaded server that makes its own load, to be profiled where no database can be installed.
//!
//! Each worker thread carries out bank transfers, one after another with a pause between them:
//!
//! ```text
//! handle_transaction
//!   parse_request        short and even
//!   lookup_account       skewed: 1 request in 32 follows a chain 30 times as long
//!   append_log
//!     acquire_log_lock   waits while other threads flush
//!     write_log          copies the record into the file
//!     flush_log          fdatasync: as uneven as the device
//!     release_log_lock
//! ```
//!
//! These are C functions that are neither inlined nor renamed, so that a profiler finds them by name and sees their
//! calls. With several threads, waiting for the log's lock should come out first or second beside flushing, then
//! `lookup_account`.

use std::fs::File;
use std::hint::black_box;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use signal_hook::consts::{SIGINT, SIGTERM};

/// A small multi-threaded server that makes its own load: a target for `evenkeel profile`.
///
/// Example: evenkeel profile --interval handle_transaction -- evenkeel-demo-server --threads 4
#[derive(Parser)]
#[command(verbatim_doc_comment)]
struct Arguments {
    /// Worker threads.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Seconds to run; SIGINT and SIGTERM end it earlier.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
}

/// Accounts, each with the index of the next one in a chain that visits all.
const ACCOUNTS: usize = 1 << 16;
/// Links followed for an ordinary request.
const CHAIN_LINKS: u64 = 500;
/// One request in this many is of the skewed kind.
const SKEWED_ONE_IN: u64 = 32;
/// Length of a skewed request's chain relative to the others.
const SKEW: u64 = 30;
/// Bytes of a log record.
const RECORD_BYTES: usize = 128;
/// Records in the log file; it is written round and round, so that a long run does not fill the disk.
const LOG_RECORDS: u64 = 1 << 16;
/// Longest pause of a client between two requests; pauses are uniform from zero.
const PAUSE_MAX: Duration = Duration::from_micros(500);
/// Time between two looks at whether to end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// State shared by the threads.
struct Server {
    chain: Vec<u32>,
    log: File,
    log_lock: LogLock,
    log_records: AtomicU64,
}

/// A lock whose acquisition and release are separate calls, as in C servers.
struct LogLock {
    held: Mutex<bool>,
    released: Condvar,
}

impl Server {
    fn new() -> io::Result<Self> {
        // /var/tmp is on a disk where /tmp often is memory, to which flushing costs nothing.
        let on_disk = Path::new("/var/tmp");
        let log = tempfile::tempfile_in(on_disk).or_else(|_| tempfile::tempfile())?;
        log.set_len(LOG_RECORDS * RECORD_BYTES as u64)?;
        // An odd multiplier and an odd increment with multiplier = 1 mod 4: one cycle through all accounts (Knuth,
        // The Art of Computer Programming 2, theorem 3.2.1.2 A).
        let next =
            |account: usize| (account.wrapping_mul(20_173).wrapping_add(12_345) % ACCOUNTS) as u32;
        Ok(Self {
            chain: (0..ACCOUNTS).map(next).collect(),
            log,
            log_lock: LogLock {
                held: Mutex::new(false),
                released: Condvar::new(),
            },
            log_records: AtomicU64::new(0),
        })
    }
}

/// A request from its arrival to its answer: the interval to profile. Returns 0, or 1 if the log failed.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn handle_transaction(server: &Server, request: u64) -> i32 {
    let account = parse_request(request);
    let balance = lookup_account(server, account, request.is_multiple_of(SKEWED_ONE_IN));
    black_box(append_log(server, account, balance))
}

/// Takes the account out of the request, digit by digit.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn parse_request(request: u64) -> u64 {
    let mut account = 0_u64;
    let mut rest = request;
    while rest > 0 {
        account = black_box(account.wrapping_mul(10).wrapping_add(rest % 10));
        rest /= 10;
    }
    account
}

/// Follows the chain from the account; for a skewed request much further.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn lookup_account(server: &Server, account: u64, skewed: bool) -> u64 {
    let links = CHAIN_LINKS * if skewed { SKEW } else { 1 };
    let start = (account % ACCOUNTS as u64) as u32;
    let end = (0..links).fold(start, |at, _| black_box(server.chain[at as usize]));
    u64::from(end)
}

/// Makes the transfer durable: one record, written and flushed under the log's lock. Returns 0, or 1 on failure.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn append_log(server: &Server, account: u64, balance: u64) -> i32 {
    acquire_log_lock(&server.log_lock);
    let failed = write_log(server, account, balance) + flush_log(server);
    release_log_lock(&server.log_lock);
    i32::from(failed > 0)
}

/// Waits until no other thread writes to the log.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn acquire_log_lock(lock: &LogLock) {
    let held = lock.held.lock().unwrap_or_else(PoisonError::into_inner);
    let free = lock.released.wait_while(held, |held| *held);
    *free.unwrap_or_else(PoisonError::into_inner) = true;
}

/// Lets one waiting thread on.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn release_log_lock(lock: &LogLock) {
    *lock.held.lock().unwrap_or_else(PoisonError::into_inner) = false;
    lock.released.notify_one();
}

/// Writes the record into the next place of the file. Returns 0, or 1 on failure.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn write_log(server: &Server, account: u64, balance: u64) -> i32 {
    let number = server.log_records.fetch_add(1, Ordering::Relaxed);
    let mut record = [0_u8; RECORD_BYTES];
    record[..8].copy_from_slice(&account.to_le_bytes());
    record[8..16].copy_from_slice(&balance.to_le_bytes());
    let offset = number % LOG_RECORDS * RECORD_BYTES as u64;
    i32::from(server.log.write_all_at(&record, offset).is_err())
}

/// Waits for the device. Returns 0, or 1 on failure.
#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn flush_log(server: &Server) -> i32 {
    i32::from(server.log.sync_data().is_err())
}

/// Count, mean and sum of squared deviations of latencies, in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: u64,
    mean_ns: f64,
    squares_ns2: f64,
}

impl Moments {
    fn add(&mut self, latency: Duration) {
        self.merge(Self {
            count: 1,
            mean_ns: latency.as_nanos() as f64,
            squares_ns2: 0.0,
        });
    }

    /// Chan, Golub and LeVeque 1979, "Updating formulae and a pairwise algorithm for computing sample variances".
    fn merge(&mut self, other: Self) {
        let count = self.count + other.count;
        if count == 0 {
            return;
        }
        let (n, m, total) = (self.count as f64, other.count as f64, count as f64);
        let delta = other.mean_ns - self.mean_ns;
        self.squares_ns2 += other.squares_ns2 + delta * delta * n * m / total;
        self.mean_ns += delta * m / total;
        self.count = count;
    }

    fn sd_ns(&self) -> f64 {
        (self.squares_ns2 / self.count.max(1) as f64).sqrt()
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014): the same requests in every run.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A client and its thread, until `stop`. Returns its latencies and the number of failed transactions.
fn work(server: &Server, seed: u64, stop: &AtomicBool) -> (Moments, u64) {
    let mut state = seed;
    let (mut latencies, mut failed) = (Moments::default(), 0);
    while !stop.load(Ordering::Relaxed) {
        let request = random(&mut state);
        let begin = Instant::now();
        failed += u64::from(handle_transaction(server, request) != 0);
        latencies.add(begin.elapsed());
        thread::sleep(PAUSE_MAX.mul_f64(random(&mut state) as f64 / u64::MAX as f64));
    }
    (latencies, failed)
}

/// Runs all threads to the end of the time or the first signal. Returns the transactions that failed.
fn run(arguments: &Arguments) -> io::Result<u64> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let server = Server::new()?;
    let (latencies, failed) = thread::scope(|scope| {
        let workers: Vec<_> = (0..arguments.threads)
            .map(|thread| {
                let (server, stop) = (&server, &stop);
                scope.spawn(move || work(server, u64::from(thread), stop))
            })
            .collect();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(arguments.seconds)
            && !stop.load(Ordering::Relaxed)
        {
            thread::sleep(POLL_INTERVAL);
        }
        stop.store(true, Ordering::Relaxed);
        workers
            .into_iter()
            .fold((Moments::default(), 0), |(mut all, failures), worker| {
                let (latencies, failed) = worker.join().expect("a worker never panics");
                all.merge(latencies);
                (all, failures + failed)
            })
    });
    println!(
        "transactions {}, failed {failed}, mean {:.3} ms, sd {:.3} ms",
        latencies.count,
        latencies.mean_ns / 1e6,
        latencies.sd_ns() / 1e6
    );
    Ok(failed)
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failed) => {
            eprintln!(
                "evenkeel-demo-server: the log could not be written for {failed} transactions; is the disk full?"
            );
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!(
                "evenkeel-demo-server: cannot make the log file in /var/tmp or the temporary folder: {error}"
            );
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_two_halves_are_those_of_the_whole() {
        // Values 1, 2, 3, 6 have the mean 3 and squared deviations 4 + 1 + 0 + 9 = 14, so sd = sqrt(14 / 4).
        let of = |values: &[u64]| {
            let mut moments = Moments::default();
            values
                .iter()
                .for_each(|&ns| moments.add(Duration::from_nanos(ns)));
            moments
        };
        let mut halves = of(&[1, 2]);
        halves.merge(of(&[3, 6]));
        assert_eq!((halves.count, halves.mean_ns), (4, 3.0));
        assert!((halves.sd_ns() - 3.5_f64.sqrt()).abs() < 1e-12);
        halves.merge(Moments::default());
        assert_eq!(halves.count, 4);
    }

    #[test]
    fn the_chain_visits_every_account() {
        let server = Server::new().unwrap();
        let mut at = 0_u32;
        let visited: std::collections::HashSet<u32> = (0..ACCOUNTS)
            .map(|_| {
                at = server.chain[at as usize];
                at
            })
            .collect();
        assert_eq!(visited.len(), ACCOUNTS);
    }

    #[test]
    fn a_transaction_leaves_its_record() {
        let server = Server::new().unwrap();
        assert_eq!(handle_transaction(&server, 321), 0);
        let mut record = [0_u8; 8];
        server.log.read_exact_at(&mut record, 0).unwrap();
        // The digits are taken from the end: 321 names account 123.
        assert_eq!(u64::from_le_bytes(record), 123);
    }
}
