//! What a request has to look like, and how it is answered, in either protocol (opentelemetry-proto, docs/specification.md; gRPC's
//! PROTOCOL-HTTP2.md).

use std::convert::Infallible;
use std::future;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Version};

/// What is sent back.
pub type Body = BoxBody<Bytes, Infallible>;

/// The only method that is answered.
const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const GRPC: &str = "application/grpc";
const JSON: &str = "application/json";
const PROTOBUF: &str = "application/x-protobuf";
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
static GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// How spans are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP/gRPC.
    Grpc,
    /// OTLP/HTTP, as JSON.
    Json,
    /// OTLP/HTTP, as protobuf.
    Protobuf,
}

/// Why a request is not taken.
pub struct Refusal {
    is_grpc: bool,
    status: StatusCode,
    /// gRPC's.
    code: &'static str,
    why: &'static str,
}

impl Protocol {
    /// The protocol of a request that may be taken.
    pub fn of<T>(request: &Request<T>) -> Result<Protocol, Refusal> {
        let header = |name: &HeaderName| {
            let value = request.headers().get(name);
            value
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
        };
        let content = header(&CONTENT_TYPE);
        let is_grpc = content.starts_with(GRPC);
        let refusal = |status, code, why| Refusal {
            is_grpc: is_grpc && request.version() == Version::HTTP_2,
            status,
            code,
            why,
        };
        let path = request.uri().path();
        let packing = header(match is_grpc {
            true => &GRPC_ENCODING,
            false => &CONTENT_ENCODING,
        });
        if is_grpc && request.version() != Version::HTTP_2 {
            return Err(refusal(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "3",
                "gRPC is spoken over HTTP/2",
            ));
        }
        let is_export = match is_grpc {
            true => path == EXPORT,
            false => request.method() == Method::POST && path.ends_with("/v1/traces"),
        };
        if !is_export {
            let why = "traces are taken at POST /v1/traces and TraceService/Export; metrics and logs are not";
            return Err(refusal(StatusCode::NOT_FOUND, "12", why));
        }
        if !matches!(packing, "" | "identity" | "gzip") {
            let why =
                "gzip, or no compression, is understood: set OTEL_EXPORTER_OTLP_COMPRESSION=gzip";
            return Err(refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, "12", why));
        }
        Ok(match (is_grpc, content.starts_with(JSON)) {
            (true, _) => Protocol::Grpc,
            (false, true) => Protocol::Json,
            (false, false) => Protocol::Protobuf,
        })
    }

    /// An empty `ExportTraceServiceResponse`, in the language of the request.
    pub fn accepted(self) -> Response<Body> {
        let (kind, body) = match self {
            // Not compressed, of length 0.
            Protocol::Grpc => (GRPC, &b"\0\0\0\0\0"[..]),
            Protocol::Json => (JSON, &b"{}"[..]),
            Protocol::Protobuf => (PROTOBUF, &b""[..]),
        };
        let body = Full::new(Bytes::from_static(body));
        let body = match self {
            Protocol::Grpc => {
                let trailers = HeaderMap::from_iter([(GRPC_STATUS, HeaderValue::from_static("0"))]);
                body.with_trailers(future::ready(Some(Ok(trailers))))
                    .boxed()
            }
            _ => body.boxed(),
        };
        response(StatusCode::OK, kind, body)
    }
}

impl Refusal {
    /// The message is too large.
    pub fn too_large(protocol: Protocol) -> Refusal {
        Refusal {
            is_grpc: protocol == Protocol::Grpc,
            status: StatusCode::PAYLOAD_TOO_LARGE,
            code: "8",
            why: "a message is too large: export smaller batches",
        }
    }

    /// It did not come whole.
    pub fn damaged(protocol: Protocol) -> Refusal {
        Refusal {
            is_grpc: protocol == Protocol::Grpc,
            status: StatusCode::BAD_REQUEST,
            code: "3",
            why: "a message did not come whole",
        }
    }

    /// As the sender understands it.
    pub fn response(self) -> Response<Body> {
        if !self.is_grpc {
            let body = Full::new(Bytes::from(format!("{}\n", self.why))).boxed();
            return response(self.status, "text/plain", body);
        }
        let mut response = response(StatusCode::OK, GRPC, Full::default().boxed());
        let headers = response.headers_mut();
        headers.insert(GRPC_STATUS, HeaderValue::from_static(self.code));
        headers.insert(GRPC_MESSAGE, HeaderValue::from_static(self.why));
        response
    }
}

fn response(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
