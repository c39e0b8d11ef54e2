//! Spans as they come: OTLP over HTTP (`POST /v1/traces`, protobuf or JSON, gzip or not), the protocol that every SDK and the Collector
//! speak. gRPC is not: the message says what to set.

use std::io::Read;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use tiny_http::{Header, Method, Request, Response, Server};

use crate::convert::Converter;
use crate::read;
use crate::span::Span;

/// Largest message taken, as it comes.
const BODY_MAX: u64 = 1 << 26;

/// Listens for spans.
pub struct Receiver {
    server: Server,
}

impl Receiver {
    /// Listens on an address.
    ///
    /// # Errors
    /// What the system says.
    pub fn listen(address: impl ToSocketAddrs) -> Result<Receiver, String> {
        let server = Server::http(address).map_err(|error| error.to_string())?;
        Ok(Receiver { server })
    }

    /// Where it listens.
    pub fn address(&self) -> Option<SocketAddr> {
        self.server.server_addr().to_ip()
    }

    /// Takes what comes within some time; returns when a message was taken or the time is up.
    pub fn take(
        &self,
        within: Duration,
        into: &mut Converter,
        take: &mut dyn FnMut(Span, &mut Converter),
    ) {
        if let Ok(Some(request)) = self.server.recv_timeout(within) {
            answer(request, into, take);
        }
    }
}

fn answer(mut request: Request, into: &mut Converter, take: &mut dyn FnMut(Span, &mut Converter)) {
    let header = |name: &'static str| {
        let headers = request.headers().iter();
        let mut named = headers.filter(|header| header.field.equiv(name));
        named.next().map(|header| header.value.to_string())
    };
    let content = header("Content-Type").unwrap_or_default();
    let packing = header("Content-Encoding").unwrap_or_default();
    let refuse = |request: Request, code: u16, why: &str| {
        // The sender that went away has its answer.
        let _ = request.respond(Response::from_string(format!("{why}\n")).with_status_code(code));
    };
    if content.starts_with("application/grpc") {
        return refuse(
            request,
            415,
            "gRPC is not understood: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
        );
    }
    if request.method() != &Method::Post || !request.url().ends_with("/v1/traces") {
        return refuse(request, 404, "traces are taken at POST /v1/traces");
    }
    if !matches!(packing.as_str(), "" | "identity" | "gzip") {
        return refuse(
            request,
            415,
            "gzip, or no compression, is understood: set OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
        );
    }
    let mut body = Vec::new();
    let read_all = request
        .as_reader()
        .take(BODY_MAX + 1)
        .read_to_end(&mut body);
    if read_all.is_err() {
        into.counts.damaged += 1;
        return;
    }
    if body.len() as u64 > BODY_MAX {
        into.counts.damaged += 1;
        return refuse(
            request,
            413,
            "a message is too large: export smaller batches",
        );
    }
    read::content(&body, into, take);
    // An empty ExportTraceServiceResponse, in the language of the request.
    let is_json = content.starts_with("application/json");
    let (kind, body) = match is_json {
        true => ("application/json", "{}"),
        false => ("application/x-protobuf", ""),
    };
    let header = Header::from_bytes("Content-Type", kind).expect("a header");
    let _ = request.respond(Response::from_string(body).with_header(header));
}
