//! Receives spans: OTLP over gRPC and over HTTP (protobuf or JSON), compressed by gzip or not, all at the same port.
//! The first bytes of a connection tell HTTP/1.1 from HTTP/2.
//!
//! The network has a separate thread. The caller of [`Receiver::take`] reads the messages, and only then their sender
//! gets an answer: a sender that is faster than the reader waits.

mod answers;
mod message;

use std::fmt::Display;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::sync::{Semaphore, oneshot};

use crate::convert::Converter;
use crate::span::Span;
use answers::{Body, Protocol, Refusal};
use message::{Message, Read};

/// Largest message taken, as it comes.
const BODY_MAX: usize = 1 << 26;
/// Messages held at a time.
const MESSAGES_MAX: usize = 16;
/// Pause where no connection can be taken: no descriptor may be left.
const REST: Duration = Duration::from_millis(10);
/// Bytes before a message of gRPC: whether it is compressed, and its length in four bytes, the highest first.
const GRPC_PREFIX: usize = 5;

/// State shared by all connections.
struct Shared {
    messages: mpsc::Sender<Message>,
    room: Semaphore,
}

/// Listens for spans.
pub struct Receiver {
    messages: Mutex<mpsc::Receiver<Message>>,
    addresses: Vec<SocketAddr>,
    /// Ends the thread by being dropped.
    ending: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    /// Listens on all of these addresses.
    ///
    /// # Errors
    /// One cannot be listened on.
    pub fn listen<A: ToSocketAddrs + Display>(addresses: &[A]) -> io::Result<Receiver> {
        let bind = |address: &A| {
            let named =
                |error: io::Error| io::Error::new(error.kind(), format!("{address}: {error}"));
            let listener = TcpListener::bind(address).map_err(named)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listeners = addresses.iter().map(bind);
        let listeners = listeners.collect::<io::Result<Vec<TcpListener>>>()?;
        let addresses = listeners.iter().map(TcpListener::local_addr);
        let addresses = addresses.collect::<io::Result<Vec<SocketAddr>>>()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let (messages, taken) = mpsc::channel();
        let shared = Arc::new(Shared {
            messages,
            room: Semaphore::new(MESSAGES_MAX),
        });
        let (ending, ended) = oneshot::channel::<()>();
        let serve = move || {
            runtime.block_on(async {
                for listener in listeners {
                    tokio::spawn(accept(listener, Arc::clone(&shared)));
                }
                let _ = ended.await;
            });
        };
        let thread = std::thread::Builder::new()
            .name("otlp".to_owned())
            .spawn(serve)?;
        Ok(Receiver {
            messages: Mutex::new(taken),
            addresses,
            ending: Some(ending),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Takes what comes within some time; returns when a message was taken or the time is up.
    pub fn take(
        &self,
        within: Duration,
        into: &mut Converter,
        take: &mut dyn FnMut(Span, &mut Converter),
    ) {
        let messages = self.messages.lock().expect("nobody panicked with it");
        let message = match messages.recv_timeout(within) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        };
        message.read(into, take);
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        drop(self.ending.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    loop {
        // One that went away at once, or no descriptor left: others may come.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(REST).await;
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(|request| respond(request, Arc::clone(&shared)));
            let connections = auto::Builder::new(TokioExecutor::new());
            // What ends badly is the sender's to repeat.
            let _ = connections
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// Answers a request when what it brought was read.
async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
) -> Result<Response<Body>, std::convert::Infallible> {
    let protocol = match Protocol::of(&request) {
        Ok(protocol) => protocol,
        Err(refusal) => return Ok(refusal.response()),
    };
    // It is never closed.
    let _room = shared.room.acquire().await;
    let body = Limited::new(request.into_body(), BODY_MAX).collect().await;
    let body = match body {
        Ok(body) => whole(protocol, body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            hand_on(protocol, None, &shared).await;
            return Ok(Refusal::too_large(protocol).response());
        }
        Err(_) => None,
    };
    let is_whole = body.is_some();
    let read = hand_on(protocol, body, &shared).await;
    Ok(match read {
        _ if !is_whole => Refusal::cut(protocol).response(),
        Read::Damaged => Refusal::damaged(protocol).response(),
        Read::Taken { without } => protocol.accepted(without),
        Read::Unread => Refusal::unread(protocol).response(),
    })
}

/// The body to read, decompressed if necessary.
fn whole(protocol: Protocol, body: Bytes) -> Option<Bytes> {
    if protocol != Protocol::Grpc {
        return Some(body);
    }
    let length: [u8; 4] = body.get(1..GRPC_PREFIX)?.try_into().ok()?;
    let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
    (body.len() == GRPC_PREFIX + length).then(|| body.slice(GRPC_PREFIX..))
}

/// Waits until a message was read, or nobody is there any more who would.
fn hand_on(
    protocol: Protocol,
    body: Option<Bytes>,
    shared: &Shared,
) -> impl Future<Output = Read> + use<> {
    let (message, read) = Message::new(protocol.encoding(), body);
    let _ = shared.messages.send(message);
    async { read.await.unwrap_or(Read::Unread) }
}
