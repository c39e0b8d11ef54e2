//! A recording of a real server, replayed: what must hold of any recording holds of this one.
//!
//! `recordings/postgres-transaction.keel`: PostgreSQL 15.18 of Debian 12, stripped, under
//! `pgbench -n -c 4 -t 150 -R 150` at scale 2, recorded by
//! `evenkeel profile --preset postgres --interval transaction --threshold 5% --max-probes 50 -o ...`.

use std::path::Path;

use evenkeel_analysis::Options;
use evenkeel_analysis::profile::{Node, Profile};
use evenkeel_analysis::sites::Kind;
use evenkeel_recording::Replay;

fn replayed() -> Profile {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings/postgres-transaction.keel");
    let replayed = Replay::open(&path).unwrap().run().unwrap();
    assert!(!replayed.cut);
    let options = Options {
        ticks_per_ns: replayed.meta.ticks_per_ns,
        ..Options::default()
    };
    replayed.analysis.profile(&replayed.sites, &options)
}

#[test]
fn every_interval_closes_and_is_counted() {
    let profile = replayed();
    assert_eq!(profile.closure.max_abs_error_ticks, 0);
    // 4 clients x 150 transactions, and pgbench's own two: it asks for the scale and truncates nothing (-n).
    assert_eq!(profile.intervals_seen, 602);
    let rounds: u64 = profile.rounds.iter().map(|round| round.intervals).sum();
    // The rest began in a window without probes.
    assert!(rounds + profile.discarded <= 602 && profile.closure.intervals >= rounds);
}

#[test]
fn shares_add_up_the_tree() {
    fn check(node: &Node) {
        if !node.children.is_empty() {
            let sum: f64 = node.children.iter().map(|child| child.share).sum();
            assert!(
                (sum - node.share).abs() < 1e-9,
                "{}: {sum} and {}",
                node.name,
                node.share
            );
            let tail: f64 = node
                .children
                .iter()
                .map(|child| child.tail_share["p95"])
                .sum();
            assert!(
                (tail - node.tail_share["p95"]).abs() < 1e-9,
                "tail of {}",
                node.name
            );
        }
        node.children.iter().for_each(check);
    }
    let profile = replayed();
    assert!((profile.tree.share - 1.0).abs() < 1e-12);
    check(&profile.tree);
}

#[test]
fn the_commit_and_the_client_are_named() {
    fn find<'a>(node: &'a Node, site: &str) -> Option<&'a Node> {
        if node.site == site {
            return Some(node);
        }
        node.children.iter().find_map(|child| find(child, site))
    }
    let profile = replayed();
    let think = find(&profile.tree, "PostgresMain+0x60c").unwrap();
    assert_eq!(
        (think.name.as_str(), think.kind),
        ("pq_getbyte", Kind::Client)
    );
    // CommitTransaction, a static function of a stripped program: by its address.
    assert_eq!(
        find(&profile.tree, "CommitTransactionCommand+0x190")
            .unwrap()
            .name,
        "0x1e4360"
    );
}
