//! Spans as they come, by OTLP over HTTP.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use evenkeel_spans::receive::Receiver;
use evenkeel_spans::{Converter, Traces};
use support::*;

/// What is answered to a request as it stands.
fn ask(
    receiver: &Receiver,
    converter: &mut Converter,
    traces: &mut Traces,
    request: &[u8],
) -> String {
    let mut stream = TcpStream::connect(receiver.address().unwrap()).unwrap();
    stream.write_all(request).unwrap();
    receiver.take(Duration::from_secs(60), converter, &mut |span, into| {
        traces.add(span, 0, &mut into.counts);
    });
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn post(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /v1/traces HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

#[test]
fn every_way_to_send() {
    let receiver = Receiver::listen("127.0.0.1:0").unwrap();
    let (mut converter, mut traces) = (Converter::default(), Traces::default());
    let (spans, _) = shop(5, 1, |_| 0);
    let of = |number: u128| -> Vec<Made> {
        let is_its = |span: &&Made| span.trace & 0xff == number;
        spans.iter().filter(is_its).cloned().collect()
    };
    let chunked = {
        let body = json(&of(4));
        let head = "POST /v1/traces HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
        let (one, two) = body.split_at(100);
        let chunk =
            |part: &[u8]| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
        [head.as_bytes(), &chunk(one), &chunk(two), b"0\r\n\r\n"].concat()
    };
    let sent = [
        post(
            "Content-Type: application/x-protobuf\r\n",
            &protobuf(&of(1)),
        ),
        post("Content-Type: application/json\r\n", &json(&of(2))),
        post(
            "Content-Type: application/x-protobuf\r\nContent-Encoding: gzip\r\n",
            &gzip(&protobuf(&of(3))),
        ),
        chunked,
    ];
    for request in sent {
        let answer = ask(&receiver, &mut converter, &mut traces, &request);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let refused = [
        (
            post("Content-Type: application/grpc\r\n", b"x"),
            "415",
            "http/protobuf",
        ),
        (post("Content-Encoding: zstd\r\n", b"x"), "415", "gzip"),
        (
            b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_vec(),
            "404",
            "/v1/traces",
        ),
    ];
    for (request, code, said) in refused {
        let answer = ask(&receiver, &mut converter, &mut traces, &request);
        assert!(answer.contains(code) && answer.contains(said), "{answer}");
    }
    assert_eq!(converter.counts.damaged, 0);
    assert_eq!(converter.convert(traces.finish()).len(), 4);
}

/// A trace is complete when nothing of it has come for a while; what comes then is late.
#[test]
fn traces_come_to_their_end() {
    let (mut converter, mut traces) = (Converter::default(), Traces::default());
    let (spans, _) = shop(2, 1, |_| 0);
    let add = |bytes: &[u8], now, converter: &mut Converter, traces: &mut Traces| {
        evenkeel_spans::read::content(bytes, converter, &mut |span, into| {
            traces.add(span, now, &mut into.counts);
        });
    };
    let count = spans
        .iter()
        .filter(|span| span.trace == spans[0].trace)
        .count();
    add(&json(&spans[..count]), 10, &mut converter, &mut traces);
    add(&json(&spans[count..]), 20, &mut converter, &mut traces);
    assert_eq!(traces.quiet(10).len(), 0);
    assert_eq!(traces.quiet(11).len(), 1);
    add(&json(&spans[..1]), 30, &mut converter, &mut traces);
    assert_eq!(converter.counts.late, 1);
    assert_eq!(
        (traces.spans(), traces.finish().len()),
        (spans.len() - count, 1)
    );
}
