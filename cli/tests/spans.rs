//! `evenkeel spans`: files, and an application of four services in two languages with OpenTelemetry's own SDKs.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::Value;
use support::build::{program, program_with};
use support::run::{Place, eventually, signal};

#[path = "programs/expect.rs"]
#[allow(dead_code)] // only what is asked of a tree
mod expect;
#[path = "waits/planted.rs"]
#[allow(dead_code)] // only what is asked of a tree
mod planted;

use expect::{number, quiet};
use planted::{child, mean_ticks, path};

#[path = "spans/joined.rs"]
mod joined;
#[path = "../../profiler/spans/tests/support/mod.rs"]
mod shop;

/// A file of traces gives everything that a profile gives; `compare` sees what changed, and in which service.
#[test]
fn files_are_profiled() {
    let place = Place::new();
    let (before, _) = shop::shop(1500, 1, |_| 0);
    let (mut after, _) = shop::shop(
        1500,
        2,
        |service| if service == "cart" { 30_000_000 } else { 0 },
    );
    // No lookup takes long any more.
    after.retain(|span| span.service != "payment" || span.name != "SELECT balance");
    std::fs::write(place.file("before.json"), shop::json(&before)).unwrap();
    std::fs::write(place.file("after.pb"), shop::protobuf(&after)).unwrap();
    let run = place
        .run([
            "spans",
            "before.json",
            "-o",
            "before.keel",
            "--html",
            "before.html",
        ])
        .ended(0);
    for said in [
        "payment: SELECT balance",
        "exact: in all 1,500 intervals that were timed",
        "1500 requests",
    ] {
        assert!(
            run.stdout.contains(said) || run.stderr.contains(said),
            "{said}: {}{}",
            run.stdout,
            run.stderr
        );
    }
    assert!(
        std::fs::read_to_string(place.file("before.html"))
            .unwrap()
            .contains("cart: GET")
    );
    let run = place
        .run(["spans", "--json", "after.pb", "-o", "after.keel"])
        .ended(0);
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(found["intervals"], 1500);
    let warnings = found["warnings"].to_string();
    assert!(warnings.contains("cart is 30.000 ms ahead"), "{warnings}");

    let compared = place.run(["compare", "before.keel", "after.keel"]).ended(0);
    assert!(
        compared.stdout.contains("SELECT balance"),
        "{}",
        compared.stdout
    );
    place
        .run(["merge", "before.keel", "after.keel", "-o", "both.keel"])
        .ended(0);
    let both = place
        .run(["report", "--json", "both.keel", "--timeline", "max"])
        .ended(0);
    let both: Value = serde_json::from_str(&both.stdout).unwrap();
    assert_eq!(both["intervals"], 3000);
    let lane = both["timelines"][0]["lanes"][0].as_str().unwrap();
    assert!(lane.starts_with("trace "), "{lane}");
    place
        .run([
            "export",
            "both.keel",
            "--format",
            "folded",
            "-o",
            "both.folded",
        ])
        .ended(0);
}

#[test]
fn files_without_traces_are_refused() {
    let place = Place::new();
    std::fs::write(place.file("foreign"), "PGDMP").unwrap();
    let refused: [(&[&str], &str); 6] = [
        (&["spans"], "FILE"),
        (&["spans", "missing.json"], "missing.json"),
        (&["spans", "foreign"], "there is no request"),
        (
            &["spans", "--otlp", "127.0.0.1:99999", "--for", "1s"],
            "127.0.0.1:99999",
        ),
        (&["spans", "foreign", "--for", "1s"], "--otlp"),
        (&["spans", "foreign", "--grace", "1s"], "--otlp"),
    ];
    for (words, said) in refused {
        place.run(words).ended(2).said(&[said]);
    }
}

/// Unusable spans are named and counted, in a file and over the network, where their sender gets an error too; the
/// rest is analysed.
#[test]
fn unusable_spans_are_reported() {
    let place = Place::new();
    let (spans, _) = shop::shop(20, 1, |_| 0);
    let good = String::from_utf8(shop::json(&spans)).unwrap();
    let trace = |number: usize| format!("{:032x}", spans[0].trace + number as u128);
    let bad = good
        .replace(&trace(3), "no-hexadecimal-digits-in-this-id")
        .replace(&trace(4), &"0".repeat(32));
    let left_out = spans
        .iter()
        .filter(|span| [trace(3), trace(4)].contains(&format!("{:032x}", span.trace)));
    let wrong = format!(
        "{} spans have an invalid trace id or span id",
        left_out.count()
    );
    std::fs::write(place.file("bad.json"), &bad).unwrap();
    let run = place.run(["spans", "--json", "bad.json"]).ended(0);
    let found: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(found["intervals"], 18);
    assert!(
        found["warnings"].to_string().contains(&wrong),
        "{}",
        found["warnings"]
    );

    let words = ["spans", "--otlp", "127.0.0.1:0", "--json"];
    let mut profiler = place.evenkeel(words).spawn().unwrap();
    let mut said = BufReader::new(profiler.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let address = line.split_once("http://").unwrap().1;
    let address = address.split_whitespace().next().unwrap();
    let sent = [
        ("application/json", bad.as_str(), "200", "rejectedSpans"),
        ("application/json", &good[..300], "400", "damaged"),
        ("text/plain", "{}", "415", "application/json"),
    ];
    for (kind, body, code, expected) in sent {
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        let head = format!(
            "POST /v1/traces HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(
            answer.contains(code) && answer.contains(expected),
            "{answer}"
        );
    }
    let (found, rest) = interrupted(profiler, said);
    assert_eq!(found["intervals"], 18, "{rest}");
    let warnings = found["warnings"].to_string();
    for expected in ["1 documents are damaged", &wrong] {
        assert!(warnings.contains(expected), "{expected}: {warnings}");
    }
}

/// A recording that nobody asked for is gone with the program, even if that is killed.
#[test]
fn a_killed_program_leaves_no_recording() {
    let place = Place::new();
    std::fs::create_dir(place.file("scratch")).unwrap();
    let words = ["spans", "--otlp", "127.0.0.1:0"];
    let mut command = place.evenkeel(words);
    let mut profiler = command
        .env("TMPDIR", place.file("scratch"))
        .spawn()
        .unwrap();
    let mut said = BufReader::new(profiler.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("taking spans"), "{line}");
    profiler.kill().unwrap();
    profiler.wait().unwrap();
    let left = std::fs::read_dir(place.file("scratch")).unwrap();
    assert_eq!(left.count(), 0);
}

/// Ends with its place.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

fn get(port: u16, path: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
        return false;
    };
    let request = format!("GET {path} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.contains(" 200 ")
}

/// Where the SDKs are; nothing where they cannot be had, which only a machine without CI may say.
fn sdks() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shop");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shop/install.sh");
    let installed = Command::new(script).arg(&folder).output().unwrap();
    if installed.status.success() {
        return Some(folder);
    }
    let why = String::from_utf8_lossy(&installed.stderr).into_owned();
    assert!(
        std::env::var_os("CI").is_none(),
        "OpenTelemetry's SDKs cannot be installed: {why}"
    );
    eprintln!("SKIPPED: OpenTelemetry's SDKs cannot be installed: {why}");
    None
}

/// The output and messages of a profiler that was ended by Ctrl-C.
fn interrupted(mut profiler: Child, mut said: BufReader<ChildStderr>) -> (Value, String) {
    signal(profiler.id() as i32, libc::SIGINT);
    let (mut printed, mut rest) = (String::new(), String::new());
    let mut output = profiler.stdout.take().unwrap();
    output.read_to_string(&mut printed).unwrap();
    said.read_to_string(&mut rest).unwrap();
    assert!(profiler.wait().unwrap().success(), "{rest}");
    let found = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{rest}"));
    (found, rest)
}

/// A checkout passes from `frontend` to `cart` and on to `stock`, then to `payment`, whose lookups sometimes miss
/// their cache. That is found, by name, from spans received over gRPC and HTTP.
#[test]
fn the_culprit_of_a_real_shop_is_found() {
    let Some(sdks) = sdks() else { return };
    let place = Place::new();
    let words = [
        "spans",
        "--otlp",
        "127.0.0.1:0",
        "--grace",
        "2s",
        "-o",
        "shop.keel",
        "--json",
    ];
    let mut profiler = place.evenkeel(words).spawn().unwrap();
    let mut said = BufReader::new(profiler.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let address = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"));
    let address = address
        .unwrap_or_else(|| panic!("no address in {line}"))
        .to_owned();

    let [frontend, cart, stock, payment] = [(); 4].map(|()| free_port());
    for script in ["service.py", "service.mjs"] {
        // Node looks for its packages next to the script.
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/shop")
            .join(script);
        std::fs::copy(from, sdks.join(script)).unwrap();
    }
    let start = |program: &Path, script: &str, name: &str, port: u16, callees: &[(&str, u16)]| {
        // Either protocol, at the same address.
        let protocol = if name == "payment" {
            "grpc"
        } else {
            "http/protobuf"
        };
        let callees = callees
            .iter()
            .map(|(callee, port)| format!("{callee}={port}"));
        let child = Command::new(program)
            .arg(sdks.join(script))
            .args([name, &port.to_string()])
            .args(callees)
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", &address)
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
            .stdin(Stdio::null())
            .spawn();
        Service(child.unwrap())
    };
    let python = sdks.join("python/bin/python3");
    let node = Path::new("node");
    let _services = [
        start(&python, "service.py", "payment", payment, &[]),
        start(node, "service.mjs", "stock", stock, &[]),
        start(node, "service.mjs", "cart", cart, &[("stock", stock)]),
        start(
            &python,
            "service.py",
            "frontend",
            frontend,
            &[("cart", cart), ("payment", payment)],
        ),
    ];
    for port in [frontend, cart, stock, payment] {
        assert!(
            eventually(|| get(port, "/alive")),
            "a service does not answer"
        );
    }
    for _ in 0..160 {
        assert!(get(frontend, "/checkout"));
    }
    for port in [frontend, cart, stock, payment] {
        assert!(get(port, "/end"));
    }
    let (found, rest) = interrupted(profiler, said);
    assert_eq!(found["intervals"], 160, "{rest}");
    assert_eq!(found["closure"]["max_abs_error_ticks"], 0);
    let first = &found["findings"][0];
    assert_eq!(
        first["function"], "payment: lookup balance",
        "{:#}",
        found["findings"]
    );
    let tree = found["tree"].to_string();
    for operation in [
        "frontend: GET /checkout",
        "cart: GET /cart",
        "stock: GET /stock",
        "payment: GET /pay",
    ] {
        assert!(tree.contains(operation), "{operation} in {tree}");
    }
}
