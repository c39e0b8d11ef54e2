//! Chains of faults, found by search: a store on a simulated disk goes through three to eight events drawn by a seed
//! (work with rows short, long and of a mebibyte, growth, checkpoints, clean closes, drops, kills, power failures, syncs, writes, reads and changes of
//! names that fail once or several times, a full disk, kills on one again and again, racing openings, a read-only disk, an evicted cache,
//! another number of log streams or another flush policy), and after every opening its contents are compared with a model and every
//! page is read. After a failure the store is opened again or goes on, by chance. A chain that fails is made as short as it can be and
//! printed as a test, to be pasted below.
//!
//! What it is worth is tried by putting bugs back that had been found by reading, and then by this search, one at a time:
//! `scripts/planted-bugs.sh` applies the patches of `tests/planted` and says which chain found each, and when. The figures below are of
//! the first seed, on two processors; whoever changes the draw, or what the store asks of the disk, runs it again. The chains of a bug
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
//! The first bug does a store no harm any more: redo takes the room of a page before it looks at it, and makes the pages anew that its
//! records describe as a whole, which are all that lie behind the file's durable end. `evenkeel-pages` has the test that finds it,
//! `repaired_pages_are_not_grown_over` in `tests/crash.rs`.
//!
//! `EVENKEEL_CHAINS` says how many chains are tried, and `EVENKEEL_CHAINS_SEED` which is the first;
//! `cargo run --release -p evenkeel-store --example chains -- 8h` searches for hours, from a seed of its own.

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
