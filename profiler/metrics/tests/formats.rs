//! What is scraped and sent is what the readers of others take: promtool, which checks metrics and rules, and protoc with OpenTelemetry's
//! definitions.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use evenkeel_analysis::findings::Finding;
use evenkeel_analysis::profile::{Bin, Profile};
use evenkeel_metrics::otlp::{self, Sender};
use evenkeel_metrics::{Server, Session, Totals, text};

fn finding(headline: &str, share: f64) -> Finding {
    Finding {
        headline: headline.to_owned(),
        share,
        mean_ns: share * 1e6,
        tail_share: [("p99".to_owned(), share)].into(),
        ..Finding::default()
    }
}

/// A minute with intervals of 1 ms and of 40 ms.
fn minute(findings: Vec<Finding>) -> (Profile, [Bin; 2]) {
    let share: f64 = findings.iter().map(|one| one.share).sum();
    let mut profile = Profile {
        interval: "look \"up\"".to_owned(),
        intervals: 1_000,
        mean_ns: 1e6,
        variance_ns2: 1e12,
        percentiles_ns: [("p50".to_owned(), 1e6), ("p99".to_owned(), 4e7)].into(),
        findings,
        sampled_out: 500,
        ..Profile::default()
    };
    profile.uncovered.share = 1.0 - share;
    let bin = |ns: f64, count| Bin {
        from_ns: ns,
        to_ns: ns * 1.01,
        count,
    };
    (profile, [bin(0.9e6, 900), bin(4e7, 100)])
}

fn totals(top: usize) -> Totals {
    Totals::new(Session {
        target: "server --fast".to_owned(),
        began_unix_ns: 1_700_000_000_000_000_000,
        top,
    })
}

fn known() -> Arc<Mutex<Totals>> {
    let mut totals = totals(10);
    for at in 1..=2 {
        let (profile, latencies) = minute(vec![finding("wait called by flush", 0.7)]);
        let ended = 1_700_000_000_000_000_000 + at * 60_000_000_000;
        totals.add(&profile, &latencies, ended);
    }
    Arc::new(Mutex::new(totals))
}

/// Runs a reader with something at its standard input: what it says, and whether it takes it.
fn read_by(command: &mut Command, input: &[u8]) -> (String, bool) {
    let piped = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = piped.spawn().expect("scripts/install.sh test installs it");
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        String::from_utf8_lossy(&said).into_owned(),
        output.status.success(),
    )
}

#[test]
fn two_minutes_are_added_up() {
    let text = text(&known());
    let value = |series: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(series));
        line.unwrap_or_else(|| panic!("{series}\n{text}"))
            .trim()
            .parse()
            .unwrap()
    };
    for (series, expected) in [
        ("evenkeel_intervals_total", 2000.0),
        (
            "evenkeel_interval_latency_seconds_bucket{le=\"0.001\"}",
            1800.0,
        ),
        (
            "evenkeel_interval_latency_seconds_bucket{le=\"0.025\"}",
            1800.0,
        ),
        (
            "evenkeel_interval_latency_seconds_bucket{le=\"0.05\"}",
            2000.0,
        ),
        ("evenkeel_interval_latency_seconds_count", 2000.0),
        ("evenkeel_intervals_not_recorded_total", 1000.0),
        (
            "evenkeel_finding_variance_share_ratio{finding=\"wait called by flush\"}",
            0.7,
        ),
        ("evenkeel_period_latency_seconds{percentile=\"p99\"}", 0.04),
        (
            "evenkeel_session_info{target=\"server --fast\",interval=\"look \\\"up\\\"\"}",
            1.0,
        ),
    ] {
        assert!((value(series) - expected).abs() < 1e-9, "{series}\n{text}");
    }
    // 2,000 intervals of 1 ms, 0.7 of each in the finding.
    let named = value("evenkeel_finding_seconds_total{finding=\"wait called by flush\"}");
    let rest = value("evenkeel_finding_seconds_total{finding=\"unattributed\"}");
    assert!(
        (named - 1.4).abs() < 1e-9 && (rest - 0.6).abs() < 1e-9,
        "{named} {rest}"
    );
    let rest = value("evenkeel_finding_p99_share_ratio{finding=\"unattributed\"}");
    assert!((rest - 0.3).abs() < 1e-9, "{rest}");
}

#[test]
fn a_session_has_only_so_many_series() {
    let mut totals = totals(3);
    for round in 0..100 {
        let findings = (0..20).map(|at| finding(&format!("f{round}_{at}"), 0.04));
        let (profile, latencies) = minute(findings.collect());
        totals.add(&profile, &latencies, 0);
    }
    let text = text(&Arc::new(Mutex::new(totals)));
    let series = |family: &str| text.lines().filter(|line| line.starts_with(family)).count();
    // Four times as many as at a time, the others together, and what is unattributed.
    assert_eq!(series("evenkeel_finding_seconds_total{"), 3 * 4 + 2);
    assert!(series("evenkeel_finding_variance_share_ratio{") <= 3 + 2);
    let all = text.lines().filter(|line| !line.starts_with('#')).count();
    assert!(all < 100, "{all}");
}

#[test]
fn promtool_takes_the_metrics() {
    let mut check = Command::new("promtool");
    let text = text(&known());
    let (said, taken) = read_by(check.args(["check", "metrics"]), text.as_bytes());
    assert!(taken && said.trim().is_empty(), "{said}\n{text}");
    let odd = "# TYPE evenkeel_odd counter\nevenkeel_odd 1\n";
    let mut check = Command::new("promtool");
    let (said, _) = read_by(check.args(["check", "metrics"]), odd.as_bytes());
    assert!(said.contains("_total"), "the check is none: {said}");
}

fn deploy(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../deploy")
        .join(file)
}

#[test]
fn promtool_takes_the_rules_and_the_alert_names_the_cause() {
    for words in [["check", "rules"], ["test", "rules"]] {
        let file = match words[0] {
            "check" => "prometheus-rules.yml",
            _ => "prometheus-rules.test.yml",
        };
        let mut run = Command::new("promtool");
        let (said, taken) = read_by(run.args(words).arg(deploy(file)), b"");
        assert!(taken, "{said}");
    }
}

/// Names of metrics in a text.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = words.filter(|word| word.starts_with("evenkeel_"));
    names.map(str::to_owned).collect()
}

/// Every question of the dashboard and the rules is one that Prometheus understands, of metrics that there are.
#[test]
fn dashboard_and_rules_ask_for_metrics_that_there_are() {
    let dashboard = std::fs::read_to_string(deploy("grafana-dashboard.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap());
    let questions = targets.map(|target| target["expr"].as_str().unwrap());
    let questions: Vec<String> = questions
        .map(|one| one.replace("$__rate_interval", "5m"))
        .collect();
    assert!(questions.len() > 10);
    let mut rules = String::from("groups:\n- name: dashboard\n  rules:\n");
    for (at, one) in questions.iter().enumerate() {
        rules += &format!("  - {{record: 'r{at}', expr: '{one}'}}\n");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yml");
    std::fs::write(&file, rules).unwrap();
    let mut run = Command::new("promtool");
    let (said, taken) = read_by(run.args(["check", "rules"]).arg(&file), b"");
    assert!(taken, "{said}");

    let mut totals = totals(1);
    let (mut profile, latencies) = minute(vec![finding("f", 0.5)]);
    let reason = evenkeel_analysis::profile::LeftOut::Said("lost".to_owned());
    profile.discarded_by_reason.insert(reason, 3);
    totals.add(&profile, &latencies, 0);
    let there = named(&text(&Arc::new(Mutex::new(totals))));
    let rules = std::fs::read_to_string(deploy("prometheus-rules.yml")).unwrap();
    for name in named(&(questions.join(" ") + &rules)) {
        assert!(there.contains(&name), "{name} is no metric: {there:?}");
    }
}

#[test]
fn metrics_are_served() {
    let server = Server::listen("127.0.0.1:0", known()).unwrap();
    let get = |request: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        write!(
            stream,
            "{request} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    // One that says nothing holds up nobody.
    let _silent = TcpStream::connect(server.address()).unwrap();
    let answer = get("GET /metrics");
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.contains("text/plain; version=0.0.4"), "{answer}");
    assert!(
        answer.contains("\nevenkeel_intervals_total 2000"),
        "{answer}"
    );
    assert!(get("GET /").starts_with("HTTP/1.1 404"));
    assert!(get("POST /metrics").starts_with("HTTP/1.1 405"));
}

/// A message as text, by OpenTelemetry's definitions. Fields that they do not have are numbers in it.
fn decoded(message: &[u8]) -> String {
    let definitions =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../export/tests/opentelemetry-proto");
    let service = "opentelemetry/proto/collector/metrics/v1/metrics_service.proto";
    let kind = "opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest";
    let mut protoc = Command::new("protoc");
    protoc
        .arg(format!("--decode={kind}"))
        .arg(format!("-I{}", definitions.display()))
        .arg(definitions.join(service));
    let (said, taken) = read_by(&mut protoc, message);
    assert!(taken, "{said}");
    let unknown = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    assert_eq!(said.lines().find(unknown), None, "{said}");
    said
}

/// Takes one request over HTTP, and answers it.
fn collect(listener: &TcpListener, status: &str) -> (String, Vec<u8>) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut all = Vec::new();
    let mut part = [0; 4096];
    loop {
        let read = stream.read(&mut part).unwrap();
        all.extend(&part[..read]);
        let Some(end) = all.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&all[..end]).into_owned();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.expect("a length").parse().unwrap();
        if all.len() < end + 4 + length {
            continue;
        }
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
        return (head, all.split_off(end + 4));
    }
}

fn outcome(sender: &Sender) -> Result<(), String> {
    let began = Instant::now();
    loop {
        if let Some(outcome) = sender.outcome() {
            return outcome;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "no outcome");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_collector_takes_what_is_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sender = Sender::to(format!("http://{address}").parse().unwrap()).unwrap();
    sender.send(otlp::request(&known().lock().unwrap(), "db1"));
    let (head, body) = collect(&listener, "200 OK");
    assert!(head.starts_with("POST /v1/metrics HTTP/1.1"), "{head}");
    assert!(head.contains("application/x-protobuf"), "{head}");
    assert_eq!(outcome(&sender), Ok(()));
    let text = decoded(&body);
    for part in [
        "key: \"host.name\"",
        "string_value: \"db1\"",
        "name: \"evenkeel.interval_latency\"",
        "unit: \"s\"",
        "aggregation_temporality: AGGREGATION_TEMPORALITY_CUMULATIVE",
        "is_monotonic: true",
        "explicit_bounds: 1e-06",
        "bucket_counts: 1800",
        "count: 2000",
        "string_value: \"wait called by flush\"",
        "as_double: 0.7",
        "start_time_unix_nano: 1700000000000000000",
        "time_unix_nano: 1700000120000000000",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // The bucket beyond the last bound has none.
    let lines = |what: &str| text.lines().filter(|line| line.contains(what)).count();
    assert_eq!(lines("bucket_counts:"), lines("explicit_bounds:") + 1);
}

#[test]
fn what_a_collector_refuses_is_known() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sender = Sender::to(format!("http://{address}/there").parse().unwrap()).unwrap();
    let request = || otlp::request(&known().lock().unwrap(), "db1");
    sender.send(request());
    let (head, _) = collect(&listener, "503 Busy");
    assert!(head.starts_with("POST /there"), "{head}");
    assert!(outcome(&sender).unwrap_err().contains("503"));
    drop(listener);
    sender.send(request());
    assert!(outcome(&sender).is_err());
    for wrong in ["https://collector:4318", "127.0.0.1:4318", "ftp://a", ""] {
        let why = wrong.parse::<otlp::Endpoint>().unwrap_err();
        assert!(why.contains("for example http://127.0.0.1:4318"), "{why}");
    }
}
