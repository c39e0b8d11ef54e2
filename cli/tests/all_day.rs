//! A session that runs all day: metrics for a real Prometheus, a unit that systemd takes, and what was at two o'clock.

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use support::build::{EVENKEEL, program};
use support::run::{Place, eventually, finish, finish_hearing, has_opened_all};

/// Ends a process with its owner.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// The body of an answer; nothing where nobody answers.
fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: a\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some(body.to_owned())
}

/// Prometheus that scrapes this address every second, and where it answers.
fn prometheus(place: &Place, scraped: &str) -> (Ended, String) {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/prometheus-rules.yml");
    let settings = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
         rule_files: ['{}']\n\
         scrape_configs: [{{job_name: evenkeel, static_configs: [{{targets: ['{scraped}']}}]}}]\n",
        rules.display()
    );
    std::fs::write(place.file("prometheus.yml"), settings).unwrap();
    let address = format!("127.0.0.1:{}", free_port());
    let child = Command::new("prometheus")
        .arg(format!("--web.listen-address={address}"))
        .arg(format!(
            "--config.file={}",
            place.file("prometheus.yml").display()
        ))
        .arg(format!(
            "--storage.tsdb.path={}",
            place.file("series").display()
        ))
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(place.file("prometheus.log")).unwrap())
        .spawn()
        .expect("prometheus; scripts/install.sh test installs it");
    (Ended(child), address)
}

/// What Prometheus has for a question.
fn asked(address: &str, question: &str) -> Vec<Value> {
    let answer = get(address, &format!("/api/v1/query?query={question}"));
    let answer = answer.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let found = answer
        .as_ref()
        .and_then(|one| one["data"]["result"].as_array());
    found.cloned().unwrap_or_default()
}

/// The value of a series.
fn value(series: &Value) -> f64 {
    series["value"][1].as_str().unwrap().parse().unwrap()
}

#[test]
fn prometheus_scrapes_what_explains_the_last_minute() {
    let place = Place::new();
    let address = format!("127.0.0.1:{}", free_port());
    let mut profile = place.evenkeel(["profile", "--interval", "run_interval", "--summary=1s"]);
    profile.args(["--metrics", &address, "--top", "3", "--"]);
    profile.arg(program("stages")).arg("1000");
    profile.env("PACED", "1").env("UNTIL", place.file("enough"));
    let session = profile.spawn().unwrap();
    let (_prometheus, server) = prometheus(&place, &address);

    let found = eventually(|| {
        let shares = asked(&server, "evenkeel_finding_variance_share_ratio");
        let named = |one: &&Value| one["metric"]["finding"] != "unattributed";
        shares.iter().filter(named).any(|one| value(one) > 0.2)
    });
    let scraped = get(&address, "/metrics").unwrap_or_default();
    let log = std::fs::read_to_string(place.file("prometheus.log")).unwrap_or_default();
    assert!(found, "{scraped}\n{log}");
    let intervals = asked(&server, "evenkeel_intervals_total");
    assert!(value(&intervals[0]) > 0.0);
    let counted = asked(&server, "evenkeel_interval_latency_seconds_count");
    assert!(value(&counted[0]) > 0.0);
    // Rules are evaluated over what was scraped: the first cause has a name.
    let first = eventually(|| {
        let first = asked(&server, "evenkeel:finding_p99_share_ratio:first");
        first
            .first()
            .is_some_and(|one| one["metric"]["finding"].is_string())
    });
    assert!(
        first,
        "{}",
        get(&server, "/api/v1/rules").unwrap_or_default()
    );
    let info = asked(&server, "evenkeel_session_info");
    assert_eq!(info[0]["metric"]["interval"], "run_interval");
    let series = scraped
        .lines()
        .filter(|line| !line.starts_with('#'))
        .count();
    assert!(series < 100, "{series}");

    std::fs::write(place.file("enough"), "").unwrap();
    let run = finish(session).ended(0);
    assert!(
        run.stderr
            .contains(&format!("metrics are at http://{address}/metrics"))
    );
    assert!(get(&address, "/metrics").is_none(), "it has ended");
    place.assert_nothing_left();
}

#[test]
fn what_cannot_be_exported_is_said_at_once() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = |options: &[&str]| {
        let words = ["profile", "--interval", "run_interval"];
        let words = words.iter().chain(options).copied();
        place.run(words.chain(["--", "true"])).ended(2)
    };
    run(&["--summary", "--metrics", &address]).said(&["--metrics cannot listen", "free port"]);
    run(&["--metrics", &address]).said(&["--summary"]);
    run(&["--summary"]).said(&["--output", "--metrics"]);
    run(&["--summary", "--otlp", "https://there:4318"]).said(&["Collector on this machine"]);
}

/// A directory gets a file for each session, and a report of a time takes the minutes of that time.
#[test]
fn a_report_of_a_time() {
    let place = Place::new();
    std::fs::create_dir(place.file("sums")).unwrap();
    let mut profile = place.evenkeel(["profile", "--interval", "run_interval"]);
    profile.args(["--summary=300ms", "-o", "sums", "--json=run.json", "--"]);
    profile.arg(program("stages")).arg("1000");
    profile.env("PACED", "1").env("UNTIL", place.file("enough"));
    let enough = place.file("enough");
    let heard = move |line: &str| {
        if has_opened_all(line) {
            std::fs::write(&enough, "").unwrap();
        }
    };
    finish_hearing(profile.spawn().unwrap(), heard).ended(0);
    let seen = |run: &str| serde_json::from_str::<Value>(run).unwrap()["intervals_seen"].as_u64();
    let whole = place
        .run(["report", "--json", "--since", "1h", "sums"])
        .ended(0);
    assert_eq!(
        seen(&whole.stdout),
        place.json("run.json")["intervals_seen"].as_u64()
    );
    whole.said(&["what follows is of 20"]);
    let report = place.run(["report", "--since", "1h", "sums"]).ended(0);
    assert!(report.stdout.contains("closure"), "{}", report.stdout);
    place
        .run(["report", "--since", "3h", "--until", "2h", "sums"])
        .ended(2)
        .said(&["no recording in sums has that time", "those there are of"]);
    place
        .run(["report", "--since", "1h", "--until", "2h", "sums"])
        .ended(2)
        .said(&["is not before --until"]);
    place
        .run(["report", "--since", "noon", "sums"])
        .ended(2)
        .said(&["write 14:00"]);
    let plain = "../profiler/recording/tests/recordings/redis-command.keel";
    let plain = Path::new(env!("CARGO_MANIFEST_DIR")).join(plain);
    place
        .run([
            "report",
            "--since",
            "2000-01-01 00:00",
            plain.to_str().unwrap(),
        ])
        .ended(2)
        .said(&["a recording made with --summary"]);
    std::fs::create_dir(place.file("empty")).unwrap();
    place
        .run(["report", "empty"])
        .ended(2)
        .said(&["has no recordings"]);
}

/// systemd takes the unit, and `evenkeel attach` the options in it.
#[test]
fn the_unit_is_one() {
    let place = Place::new();
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/evenkeel@.service");
    let unit = std::fs::read_to_string(unit).unwrap();
    let here = unit.replace("/usr/bin/evenkeel", EVENKEEL);
    assert_ne!(here, unit);
    std::fs::write(place.file("evenkeel@.service"), &here).unwrap();
    let server = "[Service]\nExecStart=/bin/true\n";
    std::fs::write(place.file("shop.service"), server).unwrap();
    let mut verify = place.command("systemd-analyze");
    verify.args([
        "verify",
        "--man=no",
        "./evenkeel@shop.service",
        "./shop.service",
    ]);
    let verified = finish(verify.spawn().expect("systemd-analyze")).ended(0);
    let said = verified.stdout + &verified.stderr;
    assert!(!said.contains("evenkeel@"), "{said}");

    let line = here
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let directory = place.file("").display().to_string();
    let line = line
        .unwrap()
        .replace("%i", "no-such-unit")
        .replace("%%", "%");
    let line = line.replace("${STATE_DIRECTORY}", &directory);
    let words = line.replace("$EVENKEEL_OPTIONS", "--preset postgres");
    let run = place.run(words.split_whitespace().skip(1)).ended(2);
    let refused = ["systemd does not run here", "has no running process"];
    assert!(
        refused.iter().any(|why| run.stderr.contains(why)),
        "{}",
        run.stderr
    );
}
