//! Sends requests to a Collector over HTTP, from a separate thread.

use std::error::Error;
use std::io;
use std::str::FromStr;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use prost::Message;
use tokio::net::TcpStream;

use super::messages::ExportMetricsServiceResponse;

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Largest answer that is read.
const ANSWER_MAX: usize = 1 << 16;
/// Path of the service, where the endpoint names none.
const PATH: &str = "/v1/metrics";

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    authority: String,
    path: String,
}

impl FromStr for Endpoint {
    type Err = String;

    /// `http://HOST:PORT`, with a path or without.
    fn from_str(text: &str) -> Result<Endpoint, String> {
        let wrong = |why: &str| format!("{text:?} {why}; for example http://127.0.0.1:4318");
        let uri: Uri = text.parse().map_err(|_| wrong("is no address"))?;
        if uri.scheme_str() == Some("https") {
            return Err(wrong(
                "is encrypted, which is left to a Collector on this machine: send to that",
            ));
        }
        match (uri.scheme_str(), uri.authority()) {
            (Some("http"), Some(authority)) => Ok(Endpoint {
                authority: match authority.port() {
                    Some(_) => authority.to_string(),
                    None => format!("{authority}:4318"),
                },
                path: match uri.path() {
                    "" | "/" => PATH.to_owned(),
                    path => path.to_owned(),
                },
            }),
            _ => Err(wrong("is no address of HTTP")),
        }
    }
}

/// Sends, one request after the other.
pub struct Sender {
    requests: Option<SyncSender<Vec<u8>>>,
    /// What became of the last request, until somebody asks.
    outcome: Arc<Mutex<Option<Result<(), String>>>>,
    thread: Option<JoinHandle<()>>,
}

impl Sender {
    /// Sends to this endpoint.
    ///
    /// # Errors
    /// There can be no thread, or it cannot have a network.
    pub fn to(endpoint: Endpoint) -> io::Result<Sender> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let (requests, coming) = sync_channel::<Vec<u8>>(1);
        let outcome = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&outcome);
        let send = move || {
            while let Ok(request) = coming.recv() {
                let sent = runtime.block_on(async {
                    match tokio::time::timeout(PATIENCE, post(&endpoint, request)).await {
                        Ok(sent) => sent.map_err(|error| error.to_string()),
                        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
                    }
                });
                *noted.lock().expect("nobody panicked with it") = Some(sent);
            }
        };
        let thread = std::thread::Builder::new()
            .name("otlp".to_owned())
            .spawn(send)?;
        Ok(Sender {
            requests: Some(requests),
            outcome,
            thread: Some(thread),
        })
    }

    /// Sends a request when those before have been sent. Where the Collector is so slow that one waits already, this one is left out: the
    /// next has everything that it had.
    pub fn send(&self, request: Vec<u8>) {
        if let Some(requests) = &self.requests {
            let _ = requests.try_send(request);
        }
    }

    /// What became of the last request that has ended since this was last asked.
    pub fn outcome(&self) -> Option<Result<(), String>> {
        self.outcome.lock().expect("nobody panicked with it").take()
    }
}

impl Drop for Sender {
    /// Waits until everything has been sent.
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn post(endpoint: &Endpoint, body: Vec<u8>) -> Result<(), Box<dyn Error + Send + Sync>> {
    let stream = TcpStream::connect(&endpoint.authority).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::builder()
        .method(Method::POST)
        .uri(&endpoint.path)
        .header(HOST, &endpoint.authority)
        .header(CONTENT_TYPE, "application/x-protobuf")
        .body(Full::new(Bytes::from(body)))?;
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request).await?;
    let status = response.status();
    let answer = Limited::new(response.into_body(), ANSWER_MAX)
        .collect()
        .await?;
    connection.abort();
    if !status.is_success() {
        return Err(format!("it answered {status}").into());
    }
    let answer = ExportMetricsServiceResponse::decode(answer.to_bytes()).unwrap_or_default();
    match answer.partial_success {
        Some(part) if part.rejected_data_points > 0 => Err(format!(
            "it refused {} values: {}",
            part.rejected_data_points, part.error_message
        )
        .into()),
        _ => Ok(()),
    }
}
