//! Recordings of real servers with critical paths, replayed: each closes, counts what its clients did, and shows one thing
//! that this server does and the others do not.
//!
//! All were recorded on Debian 12 (stripped packages, two processors, other work on them) by
//! `evenkeel profile --preset NAME --waits --threshold 5% --max-probes 40 --max-overhead 100% -o ... --` and:
//!
//! - `recordings/apache-request.keel`: `apache2 -D FOREGROUND -d ... -f ...` 2.4.71, event module, one process of eight
//!   threads, under `ab -n 20 -c 2 .../cgi-bin/slow` (a script that sleeps for 20 ms) beside `ab -n 300 -c 2 .../1k.txt`;
//! - `recordings/nginx-request.keel`: `nginx -c ...` 1.22.1, one worker, under `ab -n 20 -c 2 .../1m.txt` (of which 64 kB
//!   are sent at once, the rest at 20 MB/s) beside `ab -n 600 -c 2 .../index.html`;
//! - `recordings/redis-command.keel`: `redis-server ...` 7.0.15 under `redis-benchmark -c 20 -n 1000 -t set,get`;
//! - `recordings/memcached-event.keel`: `memcached -t 4` 1.6.18 under `memcaslap -T 2 -c 16 -x 1600`.

use std::path::Path;

use evenkeel_analysis::Options;
use evenkeel_analysis::profile::{Node, Profile};
use evenkeel_analysis::sites::Kind;
use evenkeel_recording::Replay;

/// The profile of a recording with `seen` intervals; `closed` of them were recorded to their end.
#[track_caller]
fn replayed(name: &str, seen: u64, closed: u64) -> Profile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recordings/{name}.keel"));
    let replayed = Replay::open(&path).unwrap().run().unwrap();
    assert!(!replayed.cut);
    let profile = replayed.profile(&Options::default());
    assert_eq!(profile.closure.max_abs_error_ticks, 0);
    assert_eq!(profile.closure.intervals, closed);
    assert_eq!(profile.intervals_seen, seen);
    // Each is used, or there is a reason why not.
    assert_eq!(closed + profile.discarded + profile.sampled_out, seen);
    profile
}

/// The node below the root by the names on the way.
#[track_caller]
fn path<'a>(profile: &'a Profile, names: &[&str]) -> &'a Node {
    names.iter().fold(&profile.tree, |node, name| {
        let found = node.children.iter().find(|child| child.name == *name);
        found.unwrap_or_else(|| panic!("no {name} of {names:?} below {node:#?}"))
    })
}

/// 320 requests. A twentieth of them waits for a script, which the handler polls for: there the variance is.
#[test]
fn apache_waits_for_the_script() {
    let profile = replayed("apache-request", 320, 293);
    let poll = path(
        &profile,
        &["ap_invoke_handler", "waits: any of several descriptors"],
    );
    assert_eq!(poll.kind, Kind::Event);
    assert!(poll.share > 0.8, "{}", poll.share);
    let longest = &profile.waits[0];
    assert!(longest.waiter.starts_with("ap_invoke_handler "));
    // At most one poll a script was recorded but for those whose wait was cut in two; each takes the script's sleep.
    assert!((10..=25).contains(&longest.count) && longest.mean_ns > 15e6);
    // The script runs without the agent, because Apache gives it a clean environment.
    assert_eq!(longest.holder, None);
}

/// 620 requests on one thread. The long ones wait for their client while it sleeps, and for their turn while it serves the
/// short ones.
#[test]
fn nginx_takes_turns() {
    let profile = replayed("nginx-request", 620, 613);
    let turn = path(&profile, &["waiting for its turn"]);
    assert_eq!(turn.kind, Kind::Turn);
    let client = path(&profile, &["waits: any of several descriptors"]);
    assert!(turn.share > 0.3 && client.share > 0.5, "{}", turn.share);
    assert!(turn.share + client.share > 0.9, "{}", client.share);
    let other = ["waiting for its turn", "other interval: (no label)"];
    let handler = path(&profile, &[other[0], other[1], "ngx_http_handler"]);
    // More than 600 requests were handled during the 20 long ones, many during two of them.
    assert!(handler.calls_mean > 1.0, "{}", handler.calls_mean);
}

/// 2000 commands and two that redis-benchmark asks first; nothing waits for anybody, and each command is one call.
#[test]
fn redis_commands_do_not_wait() {
    let profile = replayed("redis-command", 2002, 1902);
    assert!(profile.waits.is_empty(), "{:?}", profile.waits);
    let call = path(&profile, &["call"]);
    assert_eq!(call.site, "processCommand+0x988");
    assert_eq!(call.calls_mean, 1.0);
}

/// 1600 requests, each an event, and some events of connections that open and close. In `drive_machine`, 0xcf20, a worker
/// waits for a mutex that another worker has, in the same call.
#[test]
fn memcached_workers_wait_for_each_other() {
    let profile = replayed("memcached-event", 1620, 806);
    let wait = path(&profile, &["(indirect)", "waits: mutex"]);
    assert_eq!(wait.kind, Kind::Lock);
    let row = &profile.waits[0];
    assert_eq!((row.object.as_str(), row.kind), ("mutex", Kind::Lock));
    assert_eq!(row.holder.as_deref(), Some("(no label)"));
    assert_eq!(row.waiter_calls, ["(indirect) [0xcf20+0x12b]"]);
    assert_eq!(row.holder_calls, row.waiter_calls);
}
