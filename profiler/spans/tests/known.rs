//! Traces whose answers are known.

mod support;

use evenkeel_analysis::findings::warnings::{SpansDefect, SpansWarning};
use evenkeel_analysis::profile::{Node, Profile};
use evenkeel_analysis::{Analysis, Options, ProbeCost};
use evenkeel_spans::{Converter, Request, Traces, read};
use support::*;

/// The requests of these files.
fn requests(files: &[Vec<u8>]) -> (Vec<Request>, Converter) {
    let (mut converter, mut traces) = (Converter::default(), Traces::default());
    for bytes in files {
        read::content(bytes, &mut converter, &mut |span, into| {
            traces.add(span, 0, &mut into.counts);
        });
    }
    let requests = converter.convert(traces.finish());
    (requests, converter)
}

fn profile(requests: &[Request], converter: &Converter) -> Profile {
    let mut analysis = Analysis::new(ProbeCost::default());
    analysis.follow_waits();
    analysis.begin_round(1, converter.sites().sites.len() as u32);
    for (thread, request) in (1..).zip(requests) {
        analysis.push(thread, &request.records);
        analysis.thread_ended(thread);
        analysis.pass_ended();
    }
    analysis.ended();
    analysis.profile(&converter.sites(), &Options::default())
}

fn find<'a>(node: &'a Node, name: &str) -> &'a Node {
    fn search<'a>(node: &'a Node, name: &str) -> Option<&'a Node> {
        let below = || node.children.iter().find_map(|child| search(child, name));
        (node.name == name).then_some(node).or_else(below)
    }
    search(node, name).unwrap_or_else(|| panic!("no {name} in {node:#?}"))
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance * expected.abs().max(1.0),
        "{found} instead of {expected}"
    );
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Cov(x, L) / Var(L).
fn share(x: &[f64], latency: &[f64]) -> f64 {
    let (mx, ml) = (mean(x), mean(latency));
    let both: f64 = x
        .iter()
        .zip(latency)
        .map(|(x, l)| (x - mx) * (l - ml))
        .sum();
    let own: f64 = latency.iter().map(|l| (l - ml) * (l - ml)).sum();
    both / own
}

/// Means and shares are the planted ones, to the rounding of doubles. The clocks of two services are 70 ms ahead and
/// 40 ms behind, far more than any call takes.
#[test]
fn planted_variance_is_found() {
    let skew: Skew = |service| match service {
        "cart" => 70 * MS as i64,
        "payment" => -40 * MS as i64,
        _ => 0,
    };
    let (spans, truths) = shop(4000, 7, skew);
    let (requests, converter) = requests(&[json(&spans)]);
    assert_eq!(requests.len(), 4000);
    let found = profile(&requests, &converter);
    assert_eq!((found.intervals, found.discarded), (4000, 0));
    assert_eq!(found.closure.max_abs_error_ticks, 0);

    let of = |get: fn(&Truth) -> u64| {
        truths
            .iter()
            .map(|truth| get(truth) as f64)
            .collect::<Vec<_>>()
    };
    let latency = of(|truth| truth.latency);
    near(found.mean_ns, mean(&latency), 1e-9);
    let expected = [
        ("cart: GET /cart", of(|truth| truth.cart)),
        ("frontend: call stock", of(|truth| truth.stock)),
        ("payment: SELECT balance", of(|truth| truth.balance)),
        ("frontend: call shipping", of(|truth| truth.shipping)),
    ];
    for (name, planted) in expected {
        let node = find(&found.tree, name);
        near(node.mean_ns, mean(&planted), 1e-9);
        near(node.share, share(&planted, &latency), 1e-6);
    }
    let stock = find(&found.tree, "frontend: call stock");
    near(stock.calls_mean, mean(&of(|truth| truth.stock_calls)), 1e-9);
    // The culprit explains nearly everything, and is the first finding.
    assert!(share(&of(|truth| truth.balance), &latency) > 0.8);
    let first = &found.findings[0];
    assert_eq!(
        first.function, "payment: SELECT balance",
        "{:?}",
        found.findings
    );
    assert!(
        found
            .findings
            .iter()
            .all(|finding| !finding.function.contains("mail"))
    );
    assert_eq!(converter.counts.asynchronous, 4000, "mails");

    let clocks = converter.clocks.corrections(&converter.names);
    for (name, expected_ns) in [("cart", -70_000_000), ("payment", 40_000_000)] {
        let is_it = |it: &SpansWarning| {
            matches!(it, SpansWarning::HostClock { clock, by, correction_ns, .. }
            if (&**clock, &**by, *correction_ns) == (name, "frontend", expected_ns))
        };
        assert!(clocks.iter().any(is_it), "{clocks:?}");
    }
    let path = &found.timelines[0];
    assert!(
        path.spans
            .iter()
            .any(|span| span.name == "payment: SELECT balance"),
        "{path:#?}"
    );
}

/// A class of intervals is an operation that is asked for from outside.
#[test]
fn classes_are_what_requests_ask_for() {
    let (mut spans, _) = shop(300, 9, |_| 0);
    for span in spans
        .iter_mut()
        .filter(|span| span.parent == 0 && span.trace % 3 == 0)
    {
        span.name = "GET /browse";
    }
    let (requests, converter) = requests(&[protobuf(&spans)]);
    let found = profile(&requests, &converter);
    let classes: Vec<_> = found
        .classes
        .classes
        .iter()
        .map(|class| (class.name.as_str(), class.intervals))
        .collect();
    assert_eq!(
        classes,
        [
            ("frontend: GET /checkout", 200),
            ("frontend: GET /browse", 100)
        ]
    );
}

/// Every format says the same.
#[test]
fn formats_agree() {
    let (spans, _) = shop(50, 3, |_| 0);
    let (expected, converter) = requests(&[json(&spans)]);
    assert_eq!(expected.len(), 50);
    let sites = converter.sites();
    let lines: Vec<u8> = spans
        .chunks(7)
        .flat_map(|some| [json(some), b"\n".to_vec()].concat())
        .collect();
    let frames: Vec<u8> = spans
        .chunks(9)
        .flat_map(|some| framed(&protobuf(some)))
        .collect();
    // As the Collector's file exporter packs them: each by itself, behind its packed length.
    let packed = |write: fn(&[Made]) -> Vec<u8>| -> Vec<u8> {
        let some = spans.chunks(8);
        some.flat_map(|some| framed(&zstandard(&write(some))))
            .collect()
    };
    let halves = spans.split_at(spans.len() / 2);
    let cases: [(&str, Vec<Vec<u8>>); 10] = [
        ("lines", vec![lines]),
        ("protobuf", vec![protobuf(&spans)]),
        ("frames", vec![frames.clone()]),
        ("gzip", vec![gzip(&frames)]),
        ("zstandard", vec![zstandard(&frames)]),
        ("packed frames", vec![packed(protobuf)]),
        ("packed JSON", vec![packed(json)]),
        ("jaeger", vec![jaeger(&spans)]),
        ("two files", vec![json(halves.0), protobuf(halves.1)]),
        (
            "space",
            vec![[b"\n  ".to_vec(), json(&spans), b"\n\n".to_vec()].concat()],
        ),
    ];
    for (name, files) in cases {
        let (found, converter) = requests(&files);
        assert_eq!(converter.counts.damaged, 0, "{name}");
        // Sites are numbered in the order of their first use along the paths: the same for all.
        assert_eq!(converter.sites(), sites, "{name}");
        assert_eq!(found, expected, "{name}");
    }
}

/// With spans lost at random, every kind of loss is counted, and the rest adds up.
#[test]
fn lost_spans_are_counted() {
    let (spans, _) = shop(500, 11, |_| 0);
    let mut random = Random(5);
    let left: Vec<Made> = spans
        .iter()
        .filter(|_| random.below(20) != 0)
        .cloned()
        .collect();
    let roots = left.iter().filter(|span| span.parent == 0).count();
    let (requests, converter) = requests(&[json(&left)]);
    let counts = converter.counts;
    assert_eq!(
        (counts.spans, counts.requests),
        (left.len() as u64, requests.len() as u64)
    );
    assert!(roots < 500 && counts.orphans > 0, "{counts:?}");
    // Without its root a trace begins at a service that was called, where one was.
    assert_eq!(counts.requests, roots as u64 + counts.remote_roots);
    assert_eq!(counts.traces, counts.requests + counts.rootless);
    let found = profile(&requests, &converter);
    assert_eq!((found.discarded, found.closure.max_abs_error_ticks), (0, 0));
    let orphans = SpansWarning::Defects(SpansDefect::Orphans, counts.orphans);
    assert!(converter.warnings().contains(&orphans));
}
