//! Spans a minute on one core: read, sorted into traces, walked and written as records. The aim is a million.

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use evenkeel_analysis::{Analysis, ProbeCost};
use evenkeel_spans::{Converter, Traces, read};

const REQUESTS: u64 = 100_000;

fn main() {
    let (spans, _) = support::shop(
        REQUESTS,
        1,
        |service| if service == "cart" { 5_000_000 } else { 0 },
    );
    // As exporters send them: in batches of 512.
    let batches = |write: fn(&[support::Made]) -> Vec<u8>| -> Vec<Vec<u8>> {
        spans.chunks(512).map(write).collect()
    };
    for (name, files) in [
        ("protobuf", batches(support::protobuf)),
        ("JSON", batches(support::json)),
    ] {
        let begun = Instant::now();
        let (mut converter, mut traces) = (Converter::default(), Traces::default());
        for bytes in &files {
            read::content(bytes, &mut converter, &mut |span, into| {
                traces.add(span, 0, &mut into.counts);
            });
        }
        let requests = converter.convert(traces.finish());
        let read_s = begun.elapsed().as_secs_f64();
        let mut analysis = Analysis::new(ProbeCost::default());
        analysis.follow_waits();
        analysis.begin_round(1, 0);
        for (thread, request) in (1..).zip(&requests) {
            analysis.push(thread, &request.records);
            analysis.thread_ended(thread);
            if thread % 512 == 0 {
                analysis.pass_ended();
            }
        }
        analysis.ended();
        assert_eq!(analysis.intervals_seen(), REQUESTS);
        let all_s = begun.elapsed().as_secs_f64();
        let a_minute = |seconds: f64| spans.len() as f64 / seconds * 60.0 / 1e6;
        println!(
            "{name}: {} spans; {:.1} million a minute to records, {:.1} million a minute with the analysis",
            spans.len(),
            a_minute(read_s),
            a_minute(all_s)
        );
    }
}
