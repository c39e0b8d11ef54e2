//! Chains of faults, found by search: a store on a simulated disk goes through three to eight events drawn by a seed
//! (work, growth, checkpoints, clean closes, drops, kills, power failures, failed syncs, torn writes, a full disk, kills on one again
//! and again, racing openings, a read-only disk, an evicted cache), and after every opening its contents are compared with a model
//! and every page is read. A chain that fails is made as short as it can be and printed as a test, to be pasted below.
//!
//! What it is worth is tried by putting bugs back that had been found by reading, one at a time: `scripts/planted-bugs.sh` applies the
//! patches of `tests/planted` and says which chain found each, and when. The figures below are of the first seed with an earlier draw
//! (another generator; for all but the first also other odds), on two processors that eight builds shared: the script has to be run
//! again. Without other load 20 chains take about a second.
//!
//! | bug | patch | chain | after |
//! |---|---|---|---|
//! | repaired pages are grown over | `1-grown-over` | 444 | 68 s |
//! | a dropped store still writes | `2-still-writing` | 10 | 1 s |
//! | a clean close leaves dirty pages | `3-left-dirty` | 84 | 7 s |
//! | failed sync of the log, reopening, power failure | `4-log-believed` | 306 | 78 s |
//! | kill, reopening, power failure | `5-pages-believed` | 22 | 6 s |
//!
//! `EVENKEEL_CHAINS` says how many chains are tried, and `EVENKEEL_CHAINS_SEED` which is the first;
//! `cargo run --release -p evenkeel-store --example chains -- 8h` searches for hours, from a seed of its own.

#[path = "support/chains/mod.rs"]
mod chains;

use chains::plan::Plan;

/// Half a minute's worth, and more where the cores are shared with other tests.
const CHAINS: u64 = 800;

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => default,
    }
}

#[test]
fn no_chain_of_faults_loses_anything() {
    let first = number("EVENKEEL_CHAINS_SEED", 1);
    let count = number("EVENKEEL_CHAINS", CHAINS);
    if let Some(found) = chains::search(first..first + count) {
        panic!(
            "chain {} of {count} fails after {:.1} s: {}",
            found.chain,
            found.took.as_secs_f64(),
            found.test
        );
    }
}

/// For tests that a search has printed.
#[allow(dead_code, reason = "there may be no such test")]
fn replay(plan: Plan) {
    if let Some(what) = chains::failure_of(&plan) {
        panic!("{what}");
    }
}
