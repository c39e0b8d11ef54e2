//! The presets of Apache, nginx, Redis and memcached, each under its usual load tool. Every interval is counted and
//! closes, and each server has one property that the others lack.
//!
//! Asserts only what the work determines. The few shares are of planted waits, which are many times longer than
//! disturbances by other work on the machine.

mod support;

#[path = "servers_presets/load.rs"]
mod load;

use evenkeel_servers::{Apache, LoopbackServer, Memcached, Mpm, Nginx, Redis, http_get};
use evenkeel_servers::{RunningLoopbackServer, ServerError};
use load::{installed_with, number_after, number_before, run, start};
use serde_json::Value;
use support::build::EVENKEEL;
use support::servers::{ProfiledServer, count, nodes};

/// Requests that each server answers before the load begins, to show that it is up.
const READY: u64 = 1;

/// A server under its preset.
struct UnderPreset {
    profiled: ProfiledServer<RunningLoopbackServer>,
    folder: tempfile::TempDir,
}

impl UnderPreset {
    /// Recorded without a break. `None`, said on standard error, where the server or its load tool is not installed.
    #[track_caller]
    fn start(
        preset: &str,
        prepared: Result<LoopbackServer, ServerError>,
        tool: &str,
    ) -> Option<UnderPreset> {
        UnderPreset::within(preset, prepared, tool, "100%")
    }

    /// Recorded as far as it does not cost more than a fraction of the latency and of the machine.
    #[track_caller]
    fn within(
        preset: &str,
        prepared: Result<LoopbackServer, ServerError>,
        tool: &str,
        overhead_max: &str,
    ) -> Option<UnderPreset> {
        let prepared = installed_with(prepared, tool)?;
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("run.keel");
        let options = [
            "--preset",
            preset,
            "--waits",
            "--max-overhead",
            overhead_max,
        ];
        let more = ["--max-probes", "60", "-o", recording.to_str().unwrap()];
        let profiled = ProfiledServer::of(prepared, &[&options[..], &more].concat());
        Some(UnderPreset { profiled, folder })
    }

    /// Ends the session and returns its profile, whose recording says the same.
    #[track_caller]
    fn finish(self) -> Value {
        let profile = self.profiled.finish().profile().clone();
        let warnings = profile["warnings"].to_string();
        assert!(!warnings.contains("were not recorded"), "{warnings}");
        let recording = self.folder.path().join("run.keel");
        let report = run(EVENKEEL, &["report", recording.to_str().unwrap(), "--json"]);
        let replayed: Value = serde_json::from_str(&report).expect("the report is JSON");
        for key in ["intervals_seen", "intervals", "closure", "mean_ns"] {
            assert_eq!(replayed[key], profile[key], "{key}");
        }
        profile
    }

    fn port(&self) -> u16 {
        self.profiled.server.port()
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port())
    }
}

fn is_wait(name: &str) -> bool {
    name.starts_with("waits: ")
}

/// The share of the interval's own waits in calls below `function`; waits of its wakers are excluded.
fn share_of_waits_below(profile: &Value, function: &str) -> f64 {
    let own = |path: &[String]| {
        let (name, above) = path.split_last().expect("the root at least");
        is_wait(name)
            && !above.iter().any(|name| is_wait(name))
            && above.iter().any(|name| name == function)
    };
    nodes(profile)
        .iter()
        .filter(|(path, _)| own(path))
        .map(|(_, node)| node["share"].as_f64().unwrap())
        .sum()
}

/// 60 requests wait for a script that sleeps for 50 ms, among 2000 for a file that take less than one. The variance
/// is the handler's wait for the script.
#[track_caller]
fn apache_waits_for_its_script(mpm: Mpm) {
    // Its first process ends at once. Where it ends with the answer, Apache may sleep until it has: another cause.
    let script =
        "#!/bin/sh\n{ sleep 0.05; printf 'Content-Type: text/plain\\n\\n'; echo slow; } &\n";
    let apache = Apache {
        mpm,
        scripts: vec![("slow".into(), script.into())],
        // So few threads that the profiler has a ring for each from the first request on.
        ..Apache::in_one_process(8)
    };
    let Some(profiled) = UnderPreset::start("apache", apache.prepare(), "ab") else {
        return;
    };
    let (slow, file) = (profiled.url("/cgi-bin/slow"), profiled.url("/64k.txt"));
    let slow = start("ab", &["-q", "-n", "60", "-c", "2", &slow]);
    let files = run("ab", &["-q", "-n", "2000", "-c", "4", &file]);
    let slow = slow.output();
    for (said, requests) in [(&slow, 60), (&files, 2000)] {
        assert_eq!(number_after(said, "Complete requests:"), requests);
        assert_eq!(number_after(said, "Failed requests:"), 0, "{said}");
    }
    let profile = profiled.finish();
    assert_eq!(count(&profile["intervals_seen"]), READY + 60 + 2000);
    let share = share_of_waits_below(&profile, "ap_invoke_handler");
    assert!(share > 0.5, "{share}: {:#}", profile["tree"]);
}

#[test]
fn apache_event() {
    apache_waits_for_its_script(Mpm::Event);
}

#[test]
fn apache_worker() {
    apache_waits_for_its_script(Mpm::Worker);
}

/// An nginx that serves long answers at a limited rate, and says how many requests it has had.
fn nginx_with_a_limit() -> Nginx {
    let directives = [
        "location = /1m.txt { limit_rate_after 64k; limit_rate 20m; }",
        "location = /status { stub_status; }",
    ];
    Nginx {
        directives: directives.map(str::to_owned).to_vec(),
        ..Nginx::default()
    }
}

/// Number of requests that nginx has begun, including the one for this number.
#[track_caller]
fn nginx_requests(profiled: &UnderPreset) -> u64 {
    let status = http_get(profiled.port(), "/status").unwrap();
    let status = String::from_utf8(status).unwrap();
    // Connections accepted, connections handled, requests.
    let totals = status
        .lines()
        .nth(2)
        .and_then(|line| line.split(' ').nth(3));
    totals
        .and_then(|requests| requests.parse().ok())
        .unwrap_or_else(|| panic!("{status}"))
}

/// The part of requests' wait for their turn during which other requests were served.
fn others_turns(profile: &Value) -> Option<f64> {
    let all = nodes(profile);
    let of_others = all.iter().filter(|(path, _)| match &path[..] {
        [_, turn, other] => {
            turn == "waiting for its turn" && other.starts_with("other interval: GET ")
        }
        _ => false,
    });
    of_others
        .filter_map(|(_, node)| node["mean_ns"].as_f64())
        .reduce(|all, more| all + more)
}

/// One thread serves long answers at a limited rate and short ones in between, so the long ones wait for their turn.
///
/// Two connections with short answers keep the thread busy. The requests that wait for a turn are the long ones, few,
/// at 50 ms each. Sixteen at a time make them a part of the variance that the tree shows.
#[test]
fn nginx() {
    const CONNECTIONS: [(&str, &str); 2] = [("/64k.txt", "2"), ("/1m.txt", "16")];
    let Some(profiled) = UnderPreset::start("nginx", nginx_with_a_limit().prepare(), "wrk") else {
        return;
    };
    let running = CONNECTIONS.map(|(path, connections)| {
        let url = profiled.url(path);
        start("wrk", &["-t", "1", "-c", connections, "-d", "3s", &url])
    });
    let answered: u64 = running
        .into_iter()
        .map(|load| number_before(&load.output(), " requests in "))
        .sum();
    let requests = nginx_requests(&profiled);
    assert!(requests > answered, "{requests} for {answered} answers");
    let profile = profiled.finish();
    assert_eq!(
        count(&profile["intervals_seen"]),
        requests,
        "{} {}",
        profile["discarded_by_reason"],
        profile["warnings"]
    );
    let others = others_turns(&profile);
    assert!(others.is_some_and(|mean_ns| mean_ns > 0.0), "{profile:#}");
}

/// The long answers one after another have to wait, too, but for no other request.
#[test]
fn nginx_with_one_request_at_a_time() {
    let Some(profiled) = UnderPreset::start("nginx", nginx_with_a_limit().prepare(), "ab") else {
        return;
    };
    let said = run(
        "ab",
        &["-q", "-n", "60", "-c", "1", &profiled.url("/1m.txt")],
    );
    assert_eq!(number_after(&said, "Complete requests:"), 60);
    let profile = profiled.finish();
    assert_eq!(count(&profile["intervals_seen"]), READY + 60);
    assert_eq!(others_turns(&profile), None, "{profile:#}");
}

/// Requests between the windows in which everything is recorded are counted, though their keys are not known when they begin.
#[test]
fn nginx_between_windows() {
    let prepared = Nginx::default().prepare();
    let Some(profiled) = UnderPreset::within("nginx", prepared, "ab", "1%") else {
        return;
    };
    let url = profiled.url("/1k.txt");
    let said = run("ab", &["-q", "-n", "20000", "-c", "4", &url]);
    assert_eq!(number_after(&said, "Complete requests:"), 20_000);
    let profile = profiled.finish();
    assert_eq!(count(&profile["intervals_seen"]), READY + 20_000);
    assert!(
        count(&profile["sampled_out"]) > 0,
        "recorded without a break"
    );
}

/// Every command of the load is an interval, on the main thread whether others write the answers or not.
#[track_caller]
fn redis_commands(io_threads: u32) {
    let redis = Redis {
        io_threads,
        ..Redis::default()
    };
    let Some(profiled) = UnderPreset::start("redis", redis.prepare(), "redis-benchmark") else {
        return;
    };
    let port = profiled.port().to_string();
    let said = run(
        "redis-benchmark",
        &["-p", &port, "-c", "50", "-n", "4000", "-t", "set,get", "-q"],
    );
    assert_eq!(said.matches("requests per second").count(), 2, "{said}");
    let stats = run("redis-cli", &["-p", &port, "INFO", "stats"]);
    let commands = number_after(&stats, "total_commands_processed:");
    assert!(commands >= READY + 2 * 4000, "{stats}");
    // Fifty clients wait at once: more than twice the threads, from where on Redis lets them write.
    let written_by_threads = number_after(&stats, "io_threaded_writes_processed:");
    assert_eq!(written_by_threads > 0, io_threads > 1, "{stats}");
    let profile = profiled.finish();
    // Redis counts a command when it ends: not yet the one that asked.
    assert_eq!(count(&profile["intervals_seen"]), commands + 1);
    let tree = nodes(&profile);
    let (_, call) = tree
        .iter()
        .find(|(path, _)| path.len() == 2 && path[1] == "call")
        .unwrap_or_else(|| panic!("{:#}", profile["tree"]));
    assert_eq!(call["calls_mean"], 1.0, "each command is carried out once");
}

#[test]
fn redis() {
    redis_commands(1);
}

#[test]
fn redis_with_threads_that_write() {
    redis_commands(4);
}

/// Each connection has one request at a time, so a request is one event. Connections that open and close add a few,
/// and a request that arrives in two pieces is two. Threads only wait for each other's mutexes: the acceptor notifies
/// a worker by an event descriptor, without waiting for it.
#[test]
fn memcached() {
    const CONNECTIONS: u64 = 16;
    let Some(profiled) =
        UnderPreset::start("memcached", Memcached::default().prepare(), "memcaslap")
    else {
        return;
    };
    let address = format!("127.0.0.1:{}", profiled.port());
    let connections = CONNECTIONS.to_string();
    let arguments = ["-s", &address, "-T", "2", "-c", &connections, "-x", "20000"];
    let said = run("memcaslap", &arguments);
    let (gets, sets) = (
        number_after(&said, "cmd_get:"),
        number_after(&said, "cmd_set:"),
    );
    assert_eq!(gets + sets, 20_000, "{said}");
    let profile = profiled.finish();
    let seen = count(&profile["intervals_seen"]);
    // Accepted, first woken, closed; also for the connection that checked that the server is up, and its request.
    let of_connections = 3 * (CONNECTIONS + 1) + READY;
    assert!(
        (gets + sets..=gets + 2 * sets + of_connections).contains(&seen),
        "{seen}: {said}"
    );
    for wait in profile["waits"].as_array().into_iter().flatten() {
        assert_eq!(wait["object"], "mutex", "{wait:#}");
    }
}
