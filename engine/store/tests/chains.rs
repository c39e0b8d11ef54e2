//! Chains of faults, found by search. A store on a simulated disk goes through three to eight events drawn by a seed.
//! They are work with rows short, long and of a mebibyte, growth, checkpoints, clean closes, drops, kills, and power
//! failures. Operations on the disk fail once or several times: syncs, writes, reads, and changes of names. The disk
//! is full, or read-only, or loses its cache; openings race, and kills repeat. Settings change: the number of log
//! streams, or the flush policy. After every opening the contents are compared with a model, and every page is read.
//! After a failure the store is opened again or continues, by chance. A failing chain is shortened as far as
//! possible, and printed as a test to be pasted below.
//!
//! The search is tested by planting known bugs, one at a time. `scripts/planted-bugs.sh` applies the patches of
//! `tests/planted`, and prints which chain found each, and when. The figures below are of the first seed, on two
//! processors. A change of the draw, or of the store's operations on the disk, needs another run. The chains of a bug
//! of threads differ from run to run.
//!
//! | bug | patch | chain | after |
//! |---|---|---|---|
//! | repaired pages are grown over | `1-grown-over`, of `evenkeel-pages` | none, see below | |
//! | a dropped store still writes | `2-still-writing` | 4 | 0.4 s |
//! | a clean close leaves dirty pages | `3-left-dirty` | 21 | 1.6 s |
//! | failed sync of the log, reopening, power failure | `4-log-believed` | 30 | 2.3 s |
//! | kill, reopening, power failure | `5-pages-believed` | 11 | 1.0 s |
//! | LSNs that the checkpoint knows are given out again | `6-numbers-again` | 4,410 | some minutes, beyond the test's 800 |
//!
//! The first bug no longer harms a store: redo takes the room of a page before it looks at it. It makes the pages
//! again that its records describe as a whole, which are all pages after the file's durable end. `evenkeel-pages` has
//! the test that finds it, `repaired_pages_are_not_grown_over` in `tests/crash.rs`.
//!
//! `EVENKEEL_CHAINS` is the number of chains, and `EVENKEEL_CHAINS_SEED` the first. `cargo run --release -p
//! evenkeel-store --example chains -- 8h` searches for hours, from another seed.

#[path = "support/chains/mod.rs"]
mod chains;
#[path = "../../log/tests/seeds/mod.rs"]
mod seeds;

use chains::plan::Plan;

/// Half a minute's worth, and more where the cores are shared with other tests.
const CHAINS: u64 = 800;

#[test]
fn no_chain_of_faults_loses_anything() {
    let (first, count) = seeds::from_environment(CHAINS);
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
