//! Requests and their answers in both protocols (opentelemetry-proto, docs/specification.md; gRPC's
//! PROTOCOL-HTTP2.md).

use std::convert::Infallible;
use std::future;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Version};
use prost::Message;

use crate::read::Encoding;

/// The body of an answer.
pub type Body = BoxBody<Bytes, Infallible>;

/// The only method that is answered.
const EXPORT: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const GRPC: &str = "application/grpc";
const GRPC_PROTOBUF: &str = "application/grpc+proto";
const JSON: &str = "application/json";
const PROTOBUF: &str = "application/x-protobuf";
/// gRPC's code of an invalid argument.
const INVALID_ARGUMENT: u8 = 3;
const RESOURCE_EXHAUSTED: u8 = 8;
const UNIMPLEMENTED: u8 = 12;
const UNAVAILABLE: u8 = 14;
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
static GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// Said of spans that are not taken.
const UNUSABLE: &str = "spans without a valid trace id, span id or time are left out";

/// Protocols of sending spans.
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
    /// The protocol of the answer; plain text where the request's is unknown.
    protocol: Option<Protocol>,
    status: StatusCode,
    /// gRPC's.
    code: u8,
    why: &'static str,
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// `ExportTraceServiceResponse`.
#[derive(Clone, PartialEq, Message)]
struct Accepted {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

/// `ExportTracePartialSuccess`.
#[derive(Clone, PartialEq, Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_spans: i64,
    #[prost(string, tag = "2")]
    error_message: String,
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
        let protocol = Protocol::of_content(content);
        let is_grpc = protocol == Some(Protocol::Grpc);
        let refusal = |status, code, why| Refusal {
            protocol: protocol.filter(|_| !is_grpc || request.version() == Version::HTTP_2),
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
                INVALID_ARGUMENT,
                "gRPC is spoken over HTTP/2",
            ));
        }
        let is_export = match is_grpc {
            true => path == EXPORT,
            false => request.method() == Method::POST && path.ends_with("/v1/traces"),
        };
        if !is_export {
            let why = "traces are taken at POST /v1/traces and TraceService/Export; metrics and logs are not";
            return Err(refusal(StatusCode::NOT_FOUND, UNIMPLEMENTED, why));
        }
        if !matches!(packing, "" | "identity" | "gzip") {
            let why =
                "gzip, or no compression, is understood: set OTEL_EXPORTER_OTLP_COMPRESSION=gzip";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(refusal(status, UNIMPLEMENTED, why));
        }
        let why = "the Content-Type has to be application/x-protobuf, application/json or application/grpc";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        protocol.ok_or_else(|| refusal(status, INVALID_ARGUMENT, why))
    }

    /// The protocol of a content type, which may have parameters.
    fn of_content(content: &str) -> Option<Protocol> {
        let kind = content.split(';').next().unwrap_or_default();
        let kind = kind.trim().to_ascii_lowercase();
        match kind.as_str() {
            GRPC | GRPC_PROTOBUF => Some(Protocol::Grpc),
            JSON => Some(Protocol::Json),
            PROTOBUF => Some(Protocol::Protobuf),
            _ => None,
        }
    }

    /// The encoding of its messages.
    pub fn encoding(self) -> Encoding {
        match self {
            Protocol::Json => Encoding::Json,
            Protocol::Grpc | Protocol::Protobuf => Encoding::Protobuf,
        }
    }

    /// An `ExportTraceServiceResponse`, in the language of the request, that says how many spans were not taken.
    pub fn accepted(self, without: u64) -> Response<Body> {
        let rejected = (without > 0).then(|| PartialSuccess {
            rejected_spans: i64::try_from(without).unwrap_or(i64::MAX),
            error_message: UNUSABLE.to_owned(),
        });
        if self == Protocol::Json {
            let body = match rejected {
                // As JSON, protobuf's numbers of 64 bits are texts.
                Some(rejected) => serde_json::json!({ "partialSuccess": {
                    "rejectedSpans": rejected.rejected_spans.to_string(),
                    "errorMessage": rejected.error_message,
                }}),
                None => serde_json::json!({}),
            };
            return response(StatusCode::OK, JSON, whole(body.to_string()));
        }
        let message = Accepted {
            partial_success: rejected,
        };
        let message = message.encode_to_vec();
        if self == Protocol::Protobuf {
            return response(StatusCode::OK, PROTOBUF, whole(message));
        }
        // It is not compressed, and shorter than four bytes can say.
        let length = (message.len() as u32).to_be_bytes();
        let body = Full::new(Bytes::from([&[0], &length[..], &message].concat()));
        let trailers = HeaderMap::from_iter([(GRPC_STATUS, HeaderValue::from_static("0"))]);
        let body = body.with_trailers(future::ready(Some(Ok(trailers))));
        response(StatusCode::OK, GRPC, body.boxed())
    }
}

impl Refusal {
    /// The message is too large.
    pub fn too_large(protocol: Protocol) -> Refusal {
        Refusal {
            protocol: Some(protocol),
            status: StatusCode::PAYLOAD_TOO_LARGE,
            code: RESOURCE_EXHAUSTED,
            why: "a message is too large: export smaller batches",
        }
    }

    /// It did not come whole.
    pub fn cut(protocol: Protocol) -> Refusal {
        Refusal {
            protocol: Some(protocol),
            status: StatusCode::BAD_REQUEST,
            code: INVALID_ARGUMENT,
            why: "a message did not come whole",
        }
    }

    /// It came, and cannot be read.
    pub fn damaged(protocol: Protocol) -> Refusal {
        Refusal {
            protocol: Some(protocol),
            status: StatusCode::BAD_REQUEST,
            code: INVALID_ARGUMENT,
            why: "a message is damaged, or no ExportTraceServiceRequest of OTLP",
        }
    }

    /// Spans are no longer taken; its sender may try again.
    pub fn unread(protocol: Protocol) -> Refusal {
        Refusal {
            protocol: Some(protocol),
            status: StatusCode::SERVICE_UNAVAILABLE,
            code: UNAVAILABLE,
            why: "spans are no longer taken",
        }
    }

    /// As the sender understands it.
    pub fn response(self) -> Response<Body> {
        let said = Status {
            code: i32::from(self.code),
            message: self.why.to_owned(),
        };
        match self.protocol {
            None => response(self.status, "text/plain", whole(format!("{}\n", self.why))),
            Some(Protocol::Json) => {
                let body = serde_json::json!({ "code": said.code, "message": said.message });
                response(self.status, JSON, whole(body.to_string()))
            }
            Some(Protocol::Protobuf) => {
                response(self.status, PROTOBUF, whole(said.encode_to_vec()))
            }
            Some(Protocol::Grpc) => {
                let mut response = response(StatusCode::OK, GRPC, Full::default().boxed());
                let headers = response.headers_mut();
                headers.insert(GRPC_STATUS, HeaderValue::from(u16::from(self.code)));
                headers.insert(GRPC_MESSAGE, HeaderValue::from_static(self.why));
                response
            }
        }
    }
}

/// A complete body.
fn whole(body: impl Into<Bytes>) -> Body {
    Full::new(body.into()).boxed()
}

fn response(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
