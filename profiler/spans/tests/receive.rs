//! Spans as they come, by OTLP over gRPC and HTTP.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use evenkeel_spans::receive::Receiver;
use evenkeel_spans::{Converter, Traces};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::{TokioExecutor, TokioIo};
use support::*;

/// The answer to a literal request.
fn ask(
    receiver: &Receiver,
    converter: &mut Converter,
    traces: &mut Traces,
    request: &[u8],
) -> Vec<u8> {
    let mut stream = TcpStream::connect(receiver.addresses()[0]).unwrap();
    stream.write_all(request).unwrap();
    // What is refused is answered without being handed on.
    let answer = std::thread::spawn(move || {
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    });
    while !answer.is_finished() {
        receiver.take(Duration::from_millis(10), converter, &mut |span, into| {
            traces.add(span, 0, &mut into.counts);
        });
    }
    answer.join().unwrap()
}

/// The answer to a gRPC call: the status and the message, wherever they are, and the body.
fn call(
    receiver: &Receiver,
    converter: &mut Converter,
    traces: &mut Traces,
    (method, encoding): (&str, &str),
    body: Vec<u8>,
) -> (String, String, Vec<u8>) {
    let address = receiver.addresses()[0];
    let request = Request::post(format!("http://{address}{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("grpc-encoding", encoding)
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    let answer = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build();
        runtime.unwrap().block_on(async {
            let stream = tokio::net::TcpStream::connect(address).await.unwrap();
            let io = TokioIo::new(stream);
            let made = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
            let (mut sender, connection) = made.unwrap();
            tokio::spawn(connection);
            let answer = sender.send_request(request).await.unwrap();
            assert_eq!(answer.status(), 200);
            let (head, body) = answer.into_parts();
            let body = body.collect().await.unwrap();
            let trailers = body.trailers().cloned().unwrap_or_default();
            let text = |name: &str| {
                let value = head.headers.get(name).or(trailers.get(name));
                value.map_or(String::new(), |value| value.to_str().unwrap().to_owned())
            };
            (
                text("grpc-status"),
                text("grpc-message"),
                body.to_bytes().to_vec(),
            )
        })
    });
    while !answer.is_finished() {
        receiver.take(Duration::from_millis(10), converter, &mut |span, into| {
            traces.add(span, 0, &mut into.counts);
        });
    }
    answer.join().unwrap()
}

/// A message behind its length, as gRPC has it.
fn prefixed(message: &[u8], is_packed: bool) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[u8::from(is_packed)], &length[..], message].concat()
}

const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

/// gRPC at the same port: packed or not; what is wrong is answered by its status, and counted.
#[test]
fn grpc_is_spoken() {
    let receiver = Receiver::listen(&["127.0.0.1:0"]).unwrap();
    let (mut converter, mut traces) = (Converter::default(), Traces::default());
    let (spans, _) = shop(2, 1, |_| 0);
    let (one, two) = spans.split_at(spans.len() / 2);
    let mut call = |method: &str, encoding: &str, body: Vec<u8>| {
        call(
            &receiver,
            &mut converter,
            &mut traces,
            (method, encoding),
            body,
        )
    };
    let accepted = ("0".to_owned(), String::new(), vec![0; 5]);
    assert_eq!(
        call(EXPORT, "identity", prefixed(&protobuf(one), false)),
        accepted
    );
    assert_eq!(
        call(EXPORT, "gzip", prefixed(&gzip(&protobuf(two)), true)),
        accepted
    );
    assert_eq!(
        call(EXPORT, "identity", prefixed(b"", false)),
        accepted,
        "nothing"
    );
    let refused = [
        (
            "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
            "identity",
            "12",
            "metrics",
        ),
        (EXPORT, "zstd", "12", "gzip"),
    ];
    for (method, encoding, status, said) in refused {
        let (found, message, _) = call(method, encoding, prefixed(b"", false));
        assert!(
            found == status && message.contains(said),
            "{found} {message}"
        );
    }
    let cut = prefixed(&protobuf(one), false);
    let (found, message, _) = call(EXPORT, "identity", cut[..cut.len() - 9].to_vec());
    assert!(
        found == "3" && message.contains("whole"),
        "{found} {message}"
    );
    let (found, message, _) = call(EXPORT, "identity", prefixed(b"no spans at all", false));
    assert!(
        found == "3" && message.contains("damaged"),
        "{found} {message}"
    );
    let (found, _, body) = call(
        EXPORT,
        "identity",
        prefixed(&protobuf(&[without(one)]), false),
    );
    assert_eq!(
        (found.as_str(), body[0], body[4] as usize),
        ("0", 0, body.len() - 5)
    );
    assert_eq!(rejected(&body[5..]), 1);
    assert_eq!(
        (converter.counts.damaged, converter.counts.wrong_ids),
        (2, 1)
    );
    assert_eq!(converter.convert(traces.finish()).len(), 2);
}

/// The first of some spans, of no trace.
fn without(spans: &[Made]) -> Made {
    Made {
        trace: 0,
        ..spans[0].clone()
    }
}

/// The number of rejected spans in a protobuf answer: field 1 of field 1.
fn rejected(answer: &[u8]) -> u8 {
    let [0x0a, length, 0x08, rejected, 0x12, ..] = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(usize::from(*length), answer.len() - 2);
    *rejected
}

/// Several addresses, each for both protocols; one that is taken is named.
#[test]
fn several_addresses() {
    let receiver = Receiver::listen(&["127.0.0.1:0", "127.0.0.1:0"]).unwrap();
    let [first, second] = receiver.addresses() else {
        panic!("{:?}", receiver.addresses());
    };
    assert_ne!(first.port(), second.port());
    let taken = second.to_string();
    let error = Receiver::listen(&[taken.as_str()])
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains(&taken), "{error}");
    let taken = *first;
    drop(receiver);
    assert!(
        TcpStream::connect(taken).is_err(),
        "nobody listens any more"
    );
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
    let receiver = Receiver::listen(&["127.0.0.1:0"]).unwrap();
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
        post(
            "Content-Type: Application/JSON; charset=utf-8\r\n",
            &json(&of(2)),
        ),
        post(
            "Content-Type: application/x-protobuf\r\nContent-Encoding: gzip\r\n",
            &gzip(&protobuf(&of(3))),
        ),
        chunked,
    ];
    for request in sent {
        let answer = ask(&receiver, &mut converter, &mut traces, &request);
        let (head, _) = parts(&answer);
        assert!(head.starts_with("http/1.1 200"), "{head}");
    }
    let refused = [
        (
            post("Content-Type: application/grpc\r\n", b"x"),
            "415",
            "HTTP/2",
        ),
        (
            post(
                "Content-Type: application/json\r\nContent-Encoding: zstd\r\n",
                b"x",
            ),
            "415",
            "gzip",
        ),
        (post("", b"x"), "415", "application/x-protobuf"),
        (post("Content-Type: \r\n", b"x"), "415", "application/json"),
        (
            post("Content-Type: text/plain\r\n", b"{}"),
            "415",
            "application/json",
        ),
        (
            post("Content-Type: application/jsonl\r\n", b"{}"),
            "415",
            "application/json",
        ),
        (
            b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".to_vec(),
            "404",
            "/v1/traces",
        ),
    ];
    for (request, code, said) in refused {
        let answer = ask(&receiver, &mut converter, &mut traces, &request);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains(code) && answer.contains(said), "{answer}");
    }
    assert_eq!(converter.counts.damaged, 0);
    assert_eq!(converter.convert(traces.finish()).len(), 4);
}

/// The head of an answer, and what it says.
fn parts(answer: &[u8]) -> (String, &[u8]) {
    let at = answer.windows(4).position(|end| end == b"\r\n\r\n");
    let (head, body) = answer.split_at(at.unwrap() + 4);
    (
        String::from_utf8(head.to_vec()).unwrap().to_lowercase(),
        body,
    )
}

/// Damaged messages are refused for good, in the encoding of the request, and counted; a message that lacks what it may lack is taken.
#[test]
fn damaged_messages_are_refused() {
    let receiver = Receiver::listen(&["127.0.0.1:0"]).unwrap();
    let (mut converter, mut traces) = (Converter::default(), Traces::default());
    let (spans, _) = shop(2, 1, |_| 0);
    let as_json = "Content-Type: application/json\r\n";
    let as_protobuf = "Content-Type: application/x-protobuf\r\n";
    let packed = gzip(&json(&spans));
    let damaged: [(&str, &[u8]); 12] = [
        (as_json, b""),
        (as_json, b"{"),
        (as_json, b"no spans"),
        (as_json, b"[]"),
        (as_json, b"{\"resourceSpans\":7}"),
        (as_json, b"{}{}"),
        (as_json, &json(&spans)[..200]),
        (as_json, &protobuf(&spans)),
        (as_json, &packed[..packed.len() / 2]),
        (as_protobuf, b"no spans"),
        (as_protobuf, &json(&spans)),
        (as_protobuf, &protobuf(&spans[..1])[..40]),
    ];
    for (number, (kind, body)) in (1..).zip(damaged) {
        let answer = ask(&receiver, &mut converter, &mut traces, &post(kind, body));
        let (head, said) = parts(&answer);
        let of = String::from_utf8_lossy(body);
        assert!(head.starts_with("http/1.1 400"), "{of}: {head}");
        assert!(head.contains(&kind.to_lowercase()), "{of}: {head}");
        if kind == as_json {
            let said: serde_json::Value = serde_json::from_slice(said).unwrap();
            assert_eq!(said["code"], 3, "{of}");
            assert!(
                said["message"].as_str().unwrap().contains("damaged"),
                "{of}"
            );
        } else {
            // Status: its code, then the length of its message, then the message.
            let [0x08, 3, 0x12, length, message @ ..] = said else {
                panic!("{of}: {said:?}");
            };
            assert_eq!(usize::from(*length), message.len());
            assert!(message.starts_with(b"a message is damaged"), "{of}");
        }
        assert_eq!(converter.counts.damaged, number, "{of}");
    }
    assert_eq!(converter.counts.spans, 0);
    // Nothing, and fields of later versions, are no damage.
    let empty: [(&str, &[u8]); 4] = [
        (as_json, b"{}"),
        (as_json, b" {\"resourceSpans\":[],\"later\":1} "),
        (as_protobuf, b""),
        (as_protobuf, b"\x12\x01x"),
    ];
    for (kind, body) in empty {
        let answer = ask(&receiver, &mut converter, &mut traces, &post(kind, body));
        assert!(parts(&answer).0.starts_with("http/1.1 200"), "{body:?}");
    }
    assert_eq!(converter.counts.damaged, 12);

    // Unusable spans are left out, and the sender is told; the others are taken.
    let mut some = spans.clone();
    some.push(without(&spans));
    let answer = ask(
        &receiver,
        &mut converter,
        &mut traces,
        &post(as_json, &json(&some)),
    );
    let (head, said) = parts(&answer);
    let said: serde_json::Value = serde_json::from_slice(said).unwrap();
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert_eq!(said["partialSuccess"]["rejectedSpans"], "1");
    let answer = ask(
        &receiver,
        &mut converter,
        &mut traces,
        &post(as_protobuf, &protobuf(&[without(&spans)])),
    );
    assert_eq!(rejected(parts(&answer).1), 1);
    assert_eq!(converter.counts.wrong_ids, 2);
    assert_eq!(converter.convert(traces.finish()).len(), 2);
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
    assert_eq!(traces.quiet(10, 10).len(), 0);
    assert_eq!(traces.quiet(11, 11).len(), 1);
    add(&json(&spans[..1]), 30, &mut converter, &mut traces);
    assert_eq!(converter.counts.late, 1);
    assert_eq!(
        (traces.spans(), traces.finish().len()),
        (spans.len() - count, 1)
    );
}
