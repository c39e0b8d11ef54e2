//! Whatever comes, nothing stops: it is counted, and the rest is analysed.

mod support;

use evenkeel_analysis::findings::warnings::{SpansDefect, SpansWarning};
use evenkeel_spans::critical;
use evenkeel_spans::tree::Forest;
use evenkeel_spans::{Converter, Counts, Span, SpanKind, Traces, read};
use proptest::prelude::*;
use support::*;

fn read(bytes: &[u8]) -> (usize, Counts) {
    let (mut converter, mut traces) = (Converter::default(), Traces::default());
    read::content(bytes, &mut converter, &mut |span, into| {
        traces.add(span, 0, &mut into.counts);
    });
    let requests = converter.convert(traces.finish());
    (requests.len(), converter.counts)
}

fn span(id: u64, parent: u64, start_ns: u64, end_ns: u64) -> Span {
    Span {
        trace: 1,
        id,
        parent,
        start_ns,
        end_ns,
        ..Span::default()
    }
}

/// The path's spans by id with their times, the root first.
fn path(spans: Vec<Span>) -> (Vec<(u64, u64, u64)>, Counts) {
    let mut counts = Counts::default();
    let forest = Forest::new(spans, &mut counts);
    let path = critical::path(&forest, forest.roots[0], &mut counts);
    let calls = path.iter().map(|call| {
        let id = forest.spans[call.span as usize].id;
        (id, call.start_ns, call.end_ns)
    });
    (calls.collect(), counts)
}

/// Jaeger also writes OpenTelemetry's links as references. In trace 1, span 1 takes up messages of two other traces,
/// and is a root. Span 2 names a message first, and then its caller; span 3 only follows from 1.
#[test]
fn links_are_no_parents() {
    let reference = |kind: &str, trace: &str, span: &str| {
        format!(r#"{{"refType":"{kind}","traceID":"{trace}","spanID":"{span}"}}"#)
    };
    let span = |id: &str, start: u64, duration: u64, references: &[String]| {
        format!(
            r#"{{"traceID":"0001","spanID":"{id}","operationName":"op {id}","references":[{}],"startTime":{start},"duration":{duration}}}"#,
            references.join(",")
        )
    };
    let spans = [
        span(
            "1",
            100,
            50,
            &[
                reference("FOLLOWS_FROM", "7", "70"),
                reference("CHILD_OF", "8", "80"),
            ],
        ),
        span(
            "2",
            110,
            20,
            &[
                reference("FOLLOWS_FROM", "7", "1"),
                reference("CHILD_OF", "1", "1"),
            ],
        ),
        span("3", 135, 5, &[reference("FOLLOWS_FROM", "1", "1")]),
    ];
    let document = format!(
        r#"{{"data":[{{"traceID":"0001","spans":[{}]}}]}}"#,
        spans.join(",")
    );
    let mut found = Vec::new();
    let mut converter = Converter::default();
    read::content(document.as_bytes(), &mut converter, &mut |span, _| {
        found.push((span.id, span.parent, span.follows));
    });
    assert_eq!(found, [(1, 0, false), (2, 1, false), (3, 1, true)]);
}

/// By hand: 1 calls 2 (100 to 300) and 3 (120 to 500) at once, then 4 (500 to 800), which begins a moment before 3
/// ends; 5 continues after 1.
#[test]
fn critical_paths() {
    let mut late = span(5, 1, 700, 2000);
    late.kind = SpanKind::Internal;
    let spans = vec![
        span(1, 0, 0, 1000),
        span(2, 1, 100, 300),
        span(3, 1, 120, 505),
        span(4, 1, 500, 800),
        late,
    ];
    let (found, counts) = path(spans.clone());
    assert_eq!(found, [(1, 0, 1000), (4, 500, 800), (3, 120, 500)]);
    assert_eq!(counts.asynchronous, 1);
    // A server outlives the client that gave up on it: it was waited for until then.
    let mut answered = spans;
    answered[0].kind = SpanKind::Client;
    answered[4].kind = SpanKind::Server;
    let (found, counts) = path(answered);
    assert_eq!(found, [(1, 0, 1000), (5, 700, 1000), (3, 120, 505)]);
    assert_eq!((counts.asynchronous, counts.cut), (0, 1));
}

#[test]
fn broken_traces() {
    let (spans, _) = shop(10, 1, |_| 0);
    let mut broken = spans.clone();
    // A trace whose root names a parent in a circle, one that calls itself, one that ends before it starts, one without a number.
    let of = |number: u128| move |span: &&mut Made| span.trace & 0xff == number;
    let root = broken.iter_mut().find(of(1)).unwrap();
    root.parent = root.id + 1;
    let alone = broken.iter_mut().rfind(of(2)).unwrap();
    alone.parent = alone.id;
    let backwards = broken.iter_mut().rfind(of(3)).unwrap();
    (backwards.start, backwards.end) = (backwards.end, backwards.start);
    broken.iter_mut().rfind(of(4)).unwrap().id = 0;
    broken.push(spans[spans.len() - 1].clone());
    let (requests, counts) = read(&json(&broken));
    assert_eq!(requests, 9);
    assert_eq!(
        (
            counts.rootless,
            counts.invalid,
            counts.wrong_ids,
            counts.duplicates
        ),
        (1, 1, 1, 1),
        "{counts:?}"
    );
    assert!(counts.cycles > 1, "{counts:?}");
    for bytes in [
        &b"{\"resourceSpans\":7}\n"[..],
        b"[1,2]",
        b"{\"version\":9}",
        b"PGDMP",
    ] {
        let (requests, counts) = read(bytes);
        assert_eq!(
            (requests, counts.damaged),
            (0, 1),
            "{}",
            String::from_utf8_lossy(bytes)
        );
    }
    assert_eq!(read(b""), (0, Counts::default()));
    // A damaged line among good ones costs itself.
    let lines = [
        json(&spans[..20]),
        b"\n{\"resourceSpans\":[{\"sc\n".to_vec(),
        json(&spans[20..]),
    ]
    .concat();
    let (requests, counts) = read(&lines);
    assert_eq!((requests, counts.damaged), (10, 1));
}

/// Spans with invalid numbers are left out and counted, in every format; the other traces are unchanged.
#[test]
fn wrong_numbers() {
    let (spans, _) = shop(10, 1, |_| 0);
    let replaced = |bytes: &[u8], from: &str, to: &str| {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        assert!(text.contains(from), "{from} in {text}");
        text.replace(from, to).into_bytes()
    };
    let of_one = spans.iter().filter(|span| span.trace == spans[0].trace);
    let of_one = of_one.count() as u64;
    let trace = format!("{:032x}", spans[0].trace);
    let zeros = "0".repeat(32);
    let not_hexadecimal = trace.replace('1', "x");
    for wrong in ["", "1", &zeros, &not_hexadecimal, &trace[1..]] {
        let (requests, counts) = read(&replaced(&json(&spans), &trace, wrong));
        let found = (requests, counts.traces, counts.wrong_ids, counts.base64_ids);
        assert_eq!(found, (9, 9, of_one, 0), "{wrong}: {counts:?}");
        assert_eq!(counts.spans, spans.len() as u64);
        let wrong_ids = SpansWarning::Defects(SpansDefect::WrongIds, of_one);
        assert!(counts.warnings().contains(&wrong_ids));
    }
    let (requests, counts) = read(&replaced(&json(&spans), &trace, "AAAAAAAAAAEAAAAAAAAAAQ=="));
    assert_eq!(
        (requests, counts.wrong_ids),
        (9, of_one),
        "only one of the two is in base64"
    );

    // Jaeger's may be short.
    for (other, requests, wrong_ids) in [("7", 10, 0), ("0", 9, of_one), ("g", 9, of_one)] {
        let (found, counts) = read(&replaced(&jaeger(&spans), &trace, other));
        assert_eq!((found, counts.wrong_ids), (requests, wrong_ids), "{other}");
    }

    let mut without = spans.clone();
    let is_of_one = |span: &&mut Made| span.trace == spans[0].trace;
    without
        .iter_mut()
        .filter(is_of_one)
        .for_each(|span| span.trace = 0);
    let (requests, counts) = read(&protobuf(&without));
    assert_eq!((requests, counts.wrong_ids), (9, of_one));
}

/// OTLP's JSON as protobuf's own mapping writes it.
#[test]
fn numbers_in_base64() {
    let spans = |trace: &str, id: &str| {
        format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{trace}","spanId":"{id}","name":"a","startTimeUnixNano":"1","endTimeUnixNano":"9"}}]}}]}}]}}"#
        )
    };
    let (requests, counts) =
        read(spans("5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174").as_bytes());
    assert_eq!((requests, counts.base64_ids), (1, 0));
    let (requests, counts) = read(spans("W47/95gDgQPSabYzgT/GDA==", "7uGbfsPBsXQ=").as_bytes());
    assert_eq!((requests, counts.base64_ids, counts.wrong_ids), (0, 1, 0));
    let base64 = SpansWarning::Defects(SpansDefect::Base64Ids, 1);
    assert!(counts.warnings().contains(&base64));
}

/// Times at the ends of what 64 bits hold, by clocks that are as far apart, are left out or analysed, and nothing overflows. The second trace lasts
/// longer than a record can say.
#[test]
fn times_of_all_sizes() {
    let (first, last) = (1, i64::MAX as u64);
    let far = |clock, span: Span| Span { clock, ..span };
    let traces = [
        vec![
            span(1, 0, last - 9, last),
            far(1, span(2, 1, first, first + 5)),
        ],
        vec![
            span(1, 0, first, last),
            far(2, span(2, 1, last - 5, last)),
            far(1, span(3, 2, 3, 4)),
        ],
        vec![
            span(1, 0, 5, last + 1),
            span(2, 0, 7, u64::MAX),
            span(3, 0, u64::MAX, u64::MAX),
        ],
        vec![span(1, 0, 5, 5), span(2, 1, 5, 5)],
    ];
    let (mut converter, mut sorted) = (Converter::default(), Traces::default());
    for clock in ["a", "b", "c"] {
        converter.names.clock(clock);
    }
    converter.names.operation("a", "b");
    for (number, spans) in (1..).zip(traces) {
        for one in spans {
            sorted.add(
                Span {
                    trace: number,
                    ..one
                },
                0,
                &mut converter.counts,
            );
        }
    }
    let requests = converter.convert(sorted.finish());
    let counts = converter.counts;
    assert_eq!(
        (requests.len(), counts.invalid, counts.too_long),
        (2, 3, 1),
        "{counts:?}"
    );
    assert!(!converter.warnings().is_empty());
}

/// Zipkin's spans are known by their field names, a list as a whole; other spans are read.
#[test]
fn zipkin_is_named() {
    let (spans, _) = shop(3, 1, |_| 0);
    let zipkin = br#"[
        {"traceId": "5b8efff798038103", "id": "eee19b7ec3c1b174", "name": "get /", "timestamp": 1, "duration": 5},
        {"id": "1", "parentId": "eee19b7ec3c1b174", "traceId": "5b8efff798038103"}
    ]
    "#;
    let (requests, counts) = read(&[zipkin, &json(&spans)[..]].concat());
    assert_eq!((requests, counts.zipkin, counts.damaged), (3, 1, 0));
    let warning = SpansWarning::Defects(SpansDefect::Zipkin, 1);
    assert!(counts.warnings().contains(&warning));
    let (_, counts) = read(b"[]");
    assert_eq!((counts.zipkin, counts.damaged), (0, 1));
}

/// A missing value is null in protobuf's mapping to JSON and in Go's output: equivalent to a missing field.
#[test]
fn nulls_are_nothing() {
    let otlp = r#"{"resourceSpans":[
        {"resource":null,"scopeSpans":null},
        {"resource":{"attributes":null},"scopeSpans":[{"scope":null,"spans":null}]},
        {"resource":{"attributes":[{"key":"service.name","value":null}]},"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c",
        "spanId":"eee19b7ec3c1b174","parentSpanId":null,"name":"a","kind":null,"startTimeUnixNano":"1","endTimeUnixNano":"9","attributes":null,
        "links":null,"status":null}]}]}]}"#;
    let jaeger = r#"{"data":[{"traceID":"1","spans":[{"traceID":"1","spanID":"1","operationName":"a","references":null,"startTime":1,
        "duration":9,"tags":null,"logs":null,"processID":"p1","warnings":null}],"processes":{"p1":{"serviceName":"s","tags":null}}},
        {"traceID":"2","spans":null,"processes":null}],"errors":null}"#;
    for text in [otlp, jaeger] {
        let (requests, counts) = read(text.as_bytes());
        assert_eq!((requests, counts.damaged), (1, 0), "{text}");
    }
}

/// A message whose first bytes look like an empty line and a brace or bracket, by its length, is not read as JSON.
#[test]
fn lengths_that_look_like_json() {
    let mut lengths = Vec::new();
    for length in 1..60 {
        let name: &'static str = "n".repeat(length).leak();
        let span = Made {
            trace: 1,
            id: 1,
            parent: 0,
            service: "a",
            name,
            kind: 2,
            start: 10,
            end: 20,
            failed: false,
        };
        let message = protobuf(&[span]);
        lengths.push(message[1]);
        let (requests, counts) = read(&message);
        assert_eq!((requests, counts.damaged), (1, 0), "{message:?}");
        let (requests, counts) = read(&framed(&message));
        assert_eq!((requests, counts.damaged), (1, 0), "{message:?}");
    }
    assert!(
        [b'{', b'['].iter().all(|length| lengths.contains(length)),
        "{lengths:?}"
    );
    // After an empty line, JSON is read as JSON.
    let (spans, _) = shop(2, 1, |_| 0);
    for begin in ["\n", "\n\n  "] {
        let (requests, counts) = read(&[begin.as_bytes(), &json(&spans)].concat());
        assert_eq!((requests, counts.damaged), (2, 0), "{begin:?}");
    }
}

/// Files cut anywhere: what comes before is used, and that something is missing is counted.
#[test]
fn cut_files() {
    let (spans, _) = shop(4, 2, |_| 0);
    let frames: Vec<u8> = spans
        .chunks(5)
        .flat_map(|some| framed(&protobuf(some)))
        .collect();
    let lines: Vec<u8> = spans
        .chunks(5)
        .flat_map(|some| [json(some), b"\n".to_vec()].concat())
        .collect();
    // Where a file ends between two messages nothing shows that there were more.
    let ends = |parts: Vec<Vec<u8>>| -> Vec<usize> {
        let lengths = parts.iter().map(Vec::len);
        lengths
            .scan(0, |end, length| {
                *end += length;
                Some(*end)
            })
            .collect()
    };
    let ends_of_frames = ends(
        spans
            .chunks(5)
            .map(|some| framed(&protobuf(some)))
            .collect(),
    );
    let ends_of_lines = ends(
        spans
            .chunks(5)
            .map(|some| [json(some), b"\n".to_vec()].concat())
            .collect(),
    );
    let ends_of_lines = ends_of_lines.iter().flat_map(|&end| [end - 1, end]);
    for (whole, between) in [
        (frames.clone(), ends_of_frames),
        (lines, ends_of_lines.collect()),
        (gzip(&frames), Vec::new()),
    ] {
        let (all, counts) = read(&whole);
        assert_eq!((all, counts.damaged), (4, 0));
        let mut most = 0;
        for length in (1..whole.len()).step_by(13).chain(between.clone()) {
            let (some, counts) = read(&whole[..length]);
            assert!(some <= 4 && counts.spans <= spans.len() as u64);
            assert_eq!(counts.damaged == 0, between.contains(&length), "{length}");
            most = most.max(some);
        }
        assert!(most >= 1, "some of a cut file is used");
    }
}

/// A hundred thousand spans in one trace: side by side, and each within the one before.
#[test]
fn large_traces() {
    const MANY: u64 = 100_000;
    let wide = (2..MANY).map(|id| span(id, 1, 10 * id, 10 * id + 15));
    let wide = [span(1, 0, 1, 20 * MANY)].into_iter().chain(wide).collect();
    let deep = (1..MANY)
        .map(|id| span(id, id - 1, id, 3 * MANY - id))
        .collect();
    for (spans, most) in [(wide, MANY as usize), (deep, MANY as usize)] {
        let mut converter = Converter::default();
        let spans: Vec<Span> = spans;
        converter.names.operation("a", "b");
        let requests = converter.convert(vec![spans]);
        assert_eq!(requests.len(), 1);
        let calls = requests[0]
            .records
            .iter()
            .filter(|record| record.is_call())
            .count();
        assert!(calls > MANY as usize / 3 && calls <= most, "{calls}");
    }
}

proptest! {
    /// Paths partition their request whatever the spans are: calls nest, and none overlaps its neighbour.
    #[test]
    fn paths_nest(raw in prop::collection::vec((0u64..20, 1u64..100, 0u64..60, 0u8..5, any::<bool>()), 1..40)) {
        let kinds = [SpanKind::Internal, SpanKind::Server, SpanKind::Client, SpanKind::Producer, SpanKind::Consumer];
        let mut spans: Vec<Span> = (2..).zip(&raw).map(|(id, &(parent, start, length, kind, follows))| Span {
            kind: kinds[usize::from(kind)],
            follows,
            ..span(id, 1 + parent % (id - 1), start, start + length)
        }).collect();
        spans.push(span(1, 0, 1, 120));
        let mut counts = Counts::default();
        let forest = Forest::new(spans, &mut counts);
        let path = critical::path(&forest, forest.roots[0], &mut counts);
        let mut until: Vec<u64> = path.iter().map(|call| call.end_ns).collect();
        for (at, call) in path.iter().enumerate().skip(1) {
            let within = call.within as usize;
            prop_assert!(within < at && call.start_ns <= call.end_ns);
            prop_assert!(path[within].start_ns <= call.start_ns && call.end_ns <= until[within]);
            until[within] = call.start_ns;
        }
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), prefix in prop::sample::select(vec![&b""[..], b"{", b"{\"data\":[", b"\x0a", b"\x1f\x8b\x08", b"\0\0\0\x20"])) {
        read(&[prefix, &bytes].concat());
    }

    #[test]
    fn any_damage(at in 0usize..4000, byte: u8, as_json: bool) {
        let (spans, _) = shop(3, 4, |_| 0);
        let mut bytes = if as_json { json(&spans) } else { protobuf(&spans) };
        let place = at % bytes.len();
        bytes[place] = byte;
        read(&bytes);
    }
}
