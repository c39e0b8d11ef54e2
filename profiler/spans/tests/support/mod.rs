//! Traces of a shop whose latency is known, span for span, and the formats that they are written in.
//!
//! ```text
//! frontend: GET /checkout           1 ms of its own, then one after the other
//!   frontend: call cart             0.2 ms there, 0.2 ms back
//!     cart: GET /cart               2 to 6 ms
//!   frontend: call stock            5 ms; in one of five it fails and is made once more
//!   frontend: send mail             0.1 ms; mail: deliver takes it up after the request has ended
//!   frontend: call payment          at the same time as shipping; 0.4 ms there and back
//!     payment: POST /pay            1 ms of its own
//!       payment: SELECT balance     2 ms, in one of ten 40 ms: the planted culprit
//!   frontend: call shipping         3 to 9 ms
//! ```

#![allow(dead_code)] // each test program takes what it needs

use std::io::Write;

pub const MS: u64 = 1_000_000;
const US: u64 = 1000;
/// Beginning of the first request: far from 0, as real times are.
const BEGIN: u64 = 1_700_000_000_000_000_000;

/// A span as the shop makes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    pub trace: u128,
    pub id: u64,
    pub parent: u64,
    pub service: &'static str,
    pub name: &'static str,
    /// OTLP's number.
    pub kind: u64,
    pub start: u64,
    pub end: u64,
    pub failed: bool,
}

/// The planted times of a request's path, ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Truth {
    pub latency: u64,
    pub cart: u64,
    pub stock: u64,
    /// Attempts.
    pub stock_calls: u64,
    /// Own time of `payment: SELECT balance`, if payment is on the path.
    pub balance: u64,
    pub shipping: u64,
}

/// A sequence that is the same everywhere (Knuth's constants).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % end
    }
}

/// Advance of each service's clock, ns.
pub type Skew = fn(&str) -> i64;

/// Requests of the shop.
pub fn shop(requests: u64, seed: u64, skew: Skew) -> (Vec<Made>, Vec<Truth>) {
    let mut random = Random(seed);
    let (mut spans, mut truths) = (Vec::new(), Vec::new());
    for number in 0..requests {
        let trace = u128::from(seed) << 64 | u128::from(number + 1);
        let mut id = 0;
        let begin = BEGIN + number * 200 * MS;
        let mut truth = Truth::default();
        let mut add = |parent, service, name, kind, start: u64, end: u64| {
            id += 1;
            let ahead = skew(service);
            spans.push(Made {
                trace,
                id: number << 8 | id,
                parent,
                service,
                name,
                kind,
                start: start.checked_add_signed(ahead).unwrap(),
                end: end.checked_add_signed(ahead).unwrap(),
                failed: false,
            });
            number << 8 | id
        };
        let root = add(0, "frontend", "GET /checkout", 2, begin, begin);
        let mut now = begin + MS;

        truth.cart = 2 * MS + random.below(4000) * US;
        let call = add(
            root,
            "frontend",
            "call cart",
            3,
            now,
            now + truth.cart + 400 * US,
        );
        add(
            call,
            "cart",
            "GET /cart",
            2,
            now + 200 * US,
            now + 200 * US + truth.cart,
        );
        now += truth.cart + 400 * US;

        truth.stock_calls = 1 + u64::from(random.below(5) == 0);
        for _ in 0..truth.stock_calls {
            add(root, "frontend", "call stock", 3, now, now + 5 * MS);
            truth.stock += 5 * MS;
            now += 5 * MS;
        }

        // Nobody waits for what becomes of it.
        let mail = add(root, "frontend", "send mail", 4, now, now + 100 * US);
        add(mail, "mail", "deliver", 5, now + 150 * MS, now + 190 * MS);
        now += 100 * US;

        let balance = if random.below(10) == 0 {
            40 * MS
        } else {
            2 * MS
        };
        let payment = now + balance + MS + 800 * US;
        let call = add(root, "frontend", "call payment", 3, now, payment);
        let server = add(
            call,
            "payment",
            "POST /pay",
            2,
            now + 400 * US,
            payment - 400 * US,
        );
        let select = now + 900 * US;
        add(
            server,
            "payment",
            "SELECT balance",
            3,
            select,
            select + balance,
        );
        let shipping = now + 3 * MS + random.below(6000) * US;
        add(root, "frontend", "call shipping", 3, now, shipping);
        match payment >= shipping {
            true => truth.balance = balance,
            false => truth.shipping = shipping - now,
        }
        now = payment.max(shipping);
        truth.latency = now - begin;
        let first = spans.len() - id as usize;
        spans[first].end = now.checked_add_signed(skew("frontend")).unwrap();
        truths.push(truth);
    }
    (spans, truths)
}

/// Groups of one service, in the order of their first spans.
fn by_service(spans: &[Made]) -> Vec<(&'static str, Vec<&Made>)> {
    let mut services: Vec<(&'static str, Vec<&Made>)> = Vec::new();
    for span in spans {
        match services.iter_mut().find(|(name, _)| *name == span.service) {
            Some((_, all)) => all.push(span),
            None => services.push((span.service, vec![span])),
        }
    }
    services
}

/// OTLP as JSON.
pub fn json(spans: &[Made]) -> Vec<u8> {
    let services = by_service(spans).into_iter().map(|(service, spans)| {
        let spans = spans.iter().map(|span| {
            let parent = match span.parent {
                0 => String::new(),
                parent => format!(r#""parentSpanId":"{parent:016x}","#),
            };
            format!(
                r#"{{"traceId":"{:032x}","spanId":"{:016x}",{parent}"name":"{}","kind":{},"startTimeUnixNano":"{}","endTimeUnixNano":"{}","status":{{"code":{}}},"attributes":[{{"key":"n","value":{{"intValue":"1"}}}}]}}"#,
                span.trace, span.id, span.name, span.kind, span.start, span.end, if span.failed { 2 } else { 0 }
            )
        });
        let spans: Vec<String> = spans.collect();
        format!(
            r#"{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"{service}"}}}}]}},"scopeSpans":[{{"scope":{{}},"spans":[{}]}}]}}"#,
            spans.join(",")
        )
    });
    let services: Vec<String> = services.collect();
    format!(r#"{{"resourceSpans":[{}]}}"#, services.join(",")).into_bytes()
}

/// Jaeger's JSON.
pub fn jaeger(spans: &[Made]) -> Vec<u8> {
    let kinds = ["", "internal", "server", "client", "producer", "consumer"];
    let mut traces: Vec<(u128, Vec<&Made>)> = Vec::new();
    for span in spans {
        match traces.last_mut().filter(|(trace, _)| *trace == span.trace) {
            Some((_, all)) => all.push(span),
            None => traces.push((span.trace, vec![span])),
        }
    }
    let traces = traces.into_iter().map(|(trace, spans)| {
        let of_span = spans.iter().map(|span| {
            let cause = match span.parent {
                0 => String::new(),
                parent => format!(r#"{{"refType":"CHILD_OF","traceID":"{trace:032x}","spanID":"{parent:016x}"}}"#),
            };
            format!(
                r#"{{"traceID":"{trace:032x}","spanID":"{:016x}","operationName":"{}","references":[{cause}],"startTime":{},"duration":{},"processID":"{}","tags":[{{"key":"span.kind","type":"string","value":"{}"}}]}}"#,
                span.id, span.name, span.start / US, (span.end - span.start) / US, span.service, kinds[span.kind as usize]
            )
        });
        let of_span: Vec<String> = of_span.collect();
        let processes = by_service(&spans.iter().map(|span| (*span).clone()).collect::<Vec<_>>())
            .into_iter()
            .map(|(service, _)| format!(r#""{service}":{{"serviceName":"{service}","tags":[]}}"#))
            .collect::<Vec<_>>();
        format!(
            r#"{{"traceID":"{trace:032x}","spans":[{}],"processes":{{{}}}}}"#,
            of_span.join(","),
            processes.join(",")
        )
    });
    let traces: Vec<String> = traces.collect();
    format!(r#"{{"data":[{}]}}"#, traces.join(",")).into_bytes()
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn field(tag: u64, body: &[u8], out: &mut Vec<u8>) {
    varint(tag << 3 | 2, out);
    varint(body.len() as u64, out);
    out.extend(body);
}

/// OTLP as protobuf, by the field numbers of the standard.
pub fn protobuf(spans: &[Made]) -> Vec<u8> {
    let mut message = Vec::new();
    for (service, spans) in by_service(spans) {
        let (mut value, mut known, mut resource) = (Vec::new(), Vec::new(), Vec::new());
        field(1, service.as_bytes(), &mut value);
        field(1, b"service.name", &mut known);
        field(2, &value, &mut known);
        field(1, &known, &mut resource);
        let mut scope = Vec::new();
        for span in spans {
            let mut body = Vec::new();
            field(1, &span.trace.to_be_bytes(), &mut body);
            field(2, &span.id.to_be_bytes(), &mut body);
            if span.parent != 0 {
                field(4, &span.parent.to_be_bytes(), &mut body);
            }
            field(5, span.name.as_bytes(), &mut body);
            varint(6 << 3, &mut body);
            varint(span.kind, &mut body);
            for (tag, time) in [(7, span.start), (8, span.end)] {
                varint(tag << 3 | 1, &mut body);
                body.extend(time.to_le_bytes());
            }
            field(2, &body, &mut scope);
        }
        let mut of_service = Vec::new();
        field(1, &resource, &mut of_service);
        field(2, &scope, &mut of_service);
        field(1, &of_service, &mut message);
    }
    message
}

/// A message behind its length, as the Collector's file exporter writes it.
pub fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_be_bytes(), message].concat()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packing.write_all(bytes).unwrap();
    packing.finish().unwrap()
}

/// A frame of Zstandard (RFC 8878, section 3.1.1) whose blocks are not compressed: its size in four bytes, then blocks of at most 128 KiB.
pub fn zstandard(bytes: &[u8]) -> Vec<u8> {
    let size = u32::try_from(bytes.len()).unwrap().to_le_bytes();
    let mut frame = [&[0x28, 0xb5, 0x2f, 0xfd, 0xa0], &size[..]].concat();
    let mut blocks = bytes.chunks(128 << 10).peekable();
    while let Some(block) = blocks.next() {
        let head = (block.len() as u32) << 3 | u32::from(blocks.peek().is_none());
        frame.extend_from_slice(&head.to_le_bytes()[..3]);
        frame.extend_from_slice(block);
    }
    frame
}
