//! A profiled process joined to spans, with known answers: `payment` handles `POST /pay` by functions whose times are planted.
//!
//! ```text
//! payment: POST /pay     [ 0.1 ms |handle                                                        | 0.1 ms ]
//! decode                          [x ms]
//! query                                    [0.05 ms, SELECT balance, 0.05 ms]
//! render                                                                     [to the end of handle]
//! ```

mod support;

use std::collections::HashMap;

use evenkeel_analysis::findings::warnings::{SpansDefect, SpansWarning};
use evenkeel_analysis::profile::{Node, Profile};
use evenkeel_analysis::{Analysis, Options, ProbeCost};
use evenkeel_spans::join::{Function, Piece, Process, Work};
use evenkeel_spans::{Converter, Traces, read};
use support::*;

const US: u64 = 1000;
const REQUESTS: u64 = 600;
const HANDLE: u32 = 0;
const DECODE: u32 = 1;
const QUERY: u32 = 2;
const RENDER: u32 = 3;

/// The process, and by request what `decode` took.
fn process(spans: &[Made], ahead_ns: i64, named: &str) -> (Process, Vec<u64>) {
    let function = |name: &str, parent| Function {
        name: name.to_owned(),
        parent,
        is_call: true,
        file: Some("pay.c".to_owned()),
        ..Function::default()
    };
    let functions = vec![
        function("handle", None),
        function("decode", Some(HANDLE)),
        function("query", Some(HANDLE)),
        function("render", Some(HANDLE)),
    ];
    let mut process = Process::new("pay.keel".to_owned(), functions);
    let mut random = Random(3);
    let mut decoding = Vec::new();
    let mut of_trace: HashMap<u128, HashMap<&str, &Made>> = HashMap::new();
    for span in spans {
        of_trace
            .entry(span.trace)
            .or_default()
            .insert(span.name, span);
    }
    let mut traces: Vec<_> = of_trace.into_iter().collect();
    traces.sort_by_key(|(trace, _)| *trace);
    for (trace, spans) in traces {
        let (server, select) = (spans["POST /pay"], spans["SELECT balance"]);
        let at = |ns: u64| ns.checked_add_signed(ahead_ns).unwrap();
        let piece = |from, to, function| Piece {
            from_ns: at(from),
            to_ns: at(to),
            function: Some(function),
        };
        let begin = server.start + 100 * US;
        let end = server.end - 100 * US;
        let took = random.below(250) * US;
        decoding.push(took);
        let (asks, has) = (select.start - 50 * US, select.end + 50 * US);
        process.works.entry(trace).or_default().push(Work {
            span: spans[named].id,
            begin_ns: at(begin),
            end_ns: at(end),
            pieces: vec![
                piece(begin, begin + took, DECODE),
                piece(begin + took, asks, HANDLE),
                piece(asks, has, QUERY),
                piece(has, end, RENDER),
            ],
        });
    }
    (process, decoding)
}

fn profile(spans: &[Made], process: Process) -> (Profile, Converter) {
    let (mut converter, mut traces) = (Converter::default(), Traces::default());
    read::content(&json(spans), &mut converter, &mut |span, into| {
        traces.add(span, 0, &mut into.counts);
    });
    converter.processes.all.push(process);
    let requests = converter.convert(traces.finish());
    let mut analysis = Analysis::new(ProbeCost::default());
    analysis.follow_waits();
    analysis.begin_round(1, converter.sites().sites.len() as u32);
    for (thread, request) in (1..).zip(&requests) {
        analysis.push(thread, &request.records);
        analysis.thread_ended(thread);
        analysis.pass_ended();
    }
    analysis.ended();
    let profile = analysis.profile(&converter.sites(), &Options::default());
    (profile, converter)
}

/// The node by the names on the way to it.
fn below<'a>(node: &'a Node, names: &[&str]) -> &'a Node {
    names.iter().fold(node, |node, name| {
        let mut children = node.children.iter();
        let named = children.find(|child| child.name == *name);
        named.unwrap_or_else(|| panic!("no {name} below {node:#?}"))
    })
}

const TO_PAY: [&str; 4] = [
    "frontend: GET /checkout",
    "frontend: call payment",
    "payment: POST /pay",
    "payment: handle()",
];

#[test]
fn the_own_time_of_a_span_is_that_of_its_functions() {
    // Its clock, that of its service's spans, and the caller's name: each way has the same answer.
    let cases: [(i64, Skew, &str); 4] = [
        (0, |_| 0, "POST /pay"),
        (13_000_000, |_| 0, "POST /pay"),
        (
            -4_000_000,
            |service| if service == "payment" { 40_000_000 } else { 0 },
            "POST /pay",
        ),
        (0, |_| 0, "call payment"),
    ];
    for (ahead_ns, skew, named) in cases {
        let (spans, truths) = shop(REQUESTS, 5, skew);
        let (process, decoding) = process(&spans, ahead_ns, named);
        let (found, converter) = profile(&spans, process);
        assert_eq!((found.intervals, found.discarded), (REQUESTS, 0));
        assert_eq!(found.closure.max_abs_error_ticks, 0);
        // Where shipping takes longer, payment is not on the path.
        let paid = || {
            truths
                .iter()
                .zip(&decoding)
                .filter(|(truth, _)| truth.balance > 0)
        };
        let joined = paid().count() as u64;
        let fate = converter.processes.all[0].fate;
        assert_eq!(
            (fate.joined, fate.off_path, fate.without_span),
            (joined, REQUESTS - joined, 0)
        );

        let handle = below(&found.tree, &TO_PAY);
        let mean = |total_ns: u64| total_ns as f64 / REQUESTS as f64;
        let near = |node: &Node, expected_ns: f64, calls: u64| {
            assert!(
                (node.mean_ns - expected_ns).abs() < 1e-6 * expected_ns,
                "{expected_ns}: {node:#?}"
            );
            assert!(
                (node.calls_mean - mean(calls)).abs() < 1e-9,
                "{calls}: {node:#?}"
            );
        };
        let took: u64 = paid().map(|(_, &took)| took).sum();
        let decodes = paid().filter(|(_, took)| **took > 0).count() as u64;
        near(below(handle, &["payment: decode()"]), mean(took), decodes);
        // Before the SELECT and after it.
        near(
            below(handle, &["payment: query()"]),
            mean(joined * 100 * US),
            2 * joined,
        );
        near(
            below(handle, &["payment: render()"]),
            mean(joined * 350 * US),
            joined,
        );
        near(handle, mean(joined * 800 * US), 2 * joined);
        let own = below(
            &found.tree,
            &[
                TO_PAY[0],
                TO_PAY[1],
                TO_PAY[2],
                "body of payment: POST /pay",
            ],
        );
        near(own, mean(joined * 200 * US), joined);
        assert_eq!(
            below(handle, &["payment: decode()"]).file.as_deref(),
            Some("pay.c")
        );
        // The span below is where it was.
        let select = below(
            &found.tree,
            &[TO_PAY[0], TO_PAY[1], TO_PAY[2], "payment: SELECT balance"],
        );
        near(
            select,
            mean(truths.iter().map(|truth| truth.balance).sum()),
            joined,
        );
        let warnings = converter.warnings();
        let is_clock = |it: &SpansWarning| matches!(it, SpansWarning::ProcessClock { .. });
        assert_eq!(warnings.iter().any(is_clock), ahead_ns != 0, "{warnings:?}");
        assert!(warnings.contains(&SpansWarning::OffPath {
            process: "pay.keel".to_owned(),
            intervals: REQUESTS - joined,
        }));
    }
}

/// A function explains what its span's own time did: the finding goes from the service into it.
#[test]
fn a_finding_goes_into_the_function() {
    let (mut spans, _) = shop(REQUESTS, 8, |_| 0);
    // Nothing varies but what the service does itself, in one of four requests.
    let mut random = Random(1);
    for request in spans.chunk_by_mut(|a, b| a.trace == b.trace) {
        let slow = if random.below(4) == 0 { 200 * MS } else { 0 };
        let longer = ["GET /checkout", "call payment", "POST /pay"];
        for span in request
            .iter_mut()
            .filter(|span| longer.contains(&span.name))
        {
            span.end += slow;
        }
    }
    let (before, _) = profile(&spans, Process::new(String::new(), Vec::new()));
    assert_eq!(before.findings[0].function, "payment: POST /pay");
    let (process, _) = process(&spans, 0, "POST /pay");
    let (found, _) = profile(&spans, process);
    assert_eq!(
        found.findings[0].function, "payment: render()",
        "{:#?}",
        found.findings
    );
}

/// Where an operation is split into functions, requests through it without a recorded interval are left out, and no
/// others.
#[test]
fn requests_that_were_not_recorded_are_left_out() {
    let (spans, truths) = shop(REQUESTS, 5, |_| 0);
    let (mut process, _) = process(&spans, 0, "POST /pay");
    process
        .works
        .retain(|trace, _| (*trace as u64).is_multiple_of(3));
    let is_kept = |(at, truth): &(usize, &Truth)| (at + 1) % 3 == 0 || truth.balance == 0;
    let kept = truths.iter().enumerate().filter(is_kept).count() as u64;
    let (found, converter) = profile(&spans, process);
    assert_eq!((found.intervals, converter.counts.requests), (kept, kept));
    assert_eq!(converter.counts.not_joined, REQUESTS - kept);
    let left_out = SpansWarning::Defects(SpansDefect::NotJoined, REQUESTS - kept);
    assert!(converter.warnings().contains(&left_out));
}

/// The report says what cannot be joined, and the spans' profile is unchanged.
#[test]
fn what_is_not_joined_is_said() {
    let (spans, _) = shop(50, 2, |_| 0);
    let (mut process, _) = process(&spans, 0, "POST /pay");
    for work in process.works.values_mut().flatten() {
        work.span = 7_777_777;
    }
    let (found, converter) = profile(&spans, process);
    let (alone, _) = profile(&spans, Process::default());
    assert_eq!(found.tree, alone.tree);
    let process = || "pay.keel".to_owned();
    let expected = [
        SpansWarning::NothingJoined(process()),
        SpansWarning::SpanMissing {
            process: process(),
            intervals: 50,
        },
    ];
    assert_eq!(converter.warnings(), expected);
}

/// Two intervals of one span run at the same time, and their pieces reach beyond it: the path is still a path.
#[test]
fn intervals_that_overlap() {
    let (spans, _) = shop(40, 2, |_| 0);
    let (mut process, _) = process(&spans, 0, "POST /pay");
    for works in process.works.values_mut() {
        let mut second = works[0].clone();
        for piece in &mut second.pieces {
            piece.from_ns -= 300 * US;
            piece.to_ns += 900 * US;
        }
        works.push(second);
    }
    let (found, _) = profile(&spans, process);
    assert_eq!((found.intervals, found.discarded), (40, 0));
    assert_eq!(found.closure.max_abs_error_ticks, 0);
}
