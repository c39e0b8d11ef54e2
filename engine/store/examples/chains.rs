//! Searches for chains of faults that the store does not survive, for the given time: `chains -- 8h`.
//!
//! The test `chains` does the same for about a minute, always from the same seed; this begins where the clock says.

#[path = "../tests/support/chains/mod.rs"]
mod chains;

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Number of chains between two looks at the clock.
const CHAINS: u64 = 200;

fn main() {
    let time = std::env::args().nth(1).unwrap_or_else(|| "1h".to_owned());
    let time = match humantime::parse_duration(&time) {
        Ok(time) => time,
        Err(error) => {
            eprintln!("{time:?} is no time ({error}); give for example 90s, 30m or 8h");
            std::process::exit(2);
        }
    };
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut seed = since_epoch.map_or(0, |time| time.as_nanos() as u64);
    let begun = Instant::now();
    let mut count = 0;
    while begun.elapsed() < time {
        if let Some(found) = chains::search(seed..seed + CHAINS) {
            println!("chain {} fails: {}", count + found.chain, found.test);
            std::process::exit(1);
        }
        (seed, count) = (seed + CHAINS, count + CHAINS);
        println!("{count} chains in {} s", begun.elapsed().as_secs());
    }
}
