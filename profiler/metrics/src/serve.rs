//! Metrics over HTTP, at `/metrics`.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::{Semaphore, oneshot};

use crate::prometheus;
use crate::totals::Totals;

/// Connections at a time; further ones wait.
const CONNECTIONS_MAX: usize = 16;
/// How long a client may take to ask.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait where no connection can be taken: no descriptor may be left.
const REST: Duration = Duration::from_millis(10);

/// Answers scrapes on a separate thread until it is dropped.
pub struct Server {
    address: SocketAddr,
    /// Ends the thread by being dropped.
    ending: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at this address.
    ///
    /// # Errors
    /// It cannot be listened on.
    pub fn listen(address: &str, totals: Arc<Mutex<Totals>>) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let (ending, ended) = oneshot::channel::<()>();
        let serve = move || {
            runtime.block_on(async {
                tokio::spawn(accept(listener, totals));
                let _ = ended.await;
            });
        };
        let thread = std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(serve)?;
        Ok(Server {
            address,
            ending: Some(ending),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.ending.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, totals: Arc<Mutex<Totals>>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(room) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(REST).await;
            continue;
        };
        let totals = Arc::clone(&totals);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let answer = answer(&request, &totals);
                async move { Ok::<_, Infallible>(answer) }
            });
            // What ends badly is the client's to repeat. A client that has asked may ask again, but not hold its place for longer.
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .serve_connection(TokioIo::new(stream), service);
            let _ = connection.await;
            drop(room);
        });
    }
}

fn answer(request: &Request<Incoming>, totals: &Arc<Mutex<Totals>>) -> Response<Full<Bytes>> {
    let plain = |status: StatusCode, text: &'static str| {
        let mut response = Response::new(Full::from(text));
        *response.status_mut() = status;
        response
    };
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut refusal = plain(StatusCode::METHOD_NOT_ALLOWED, "GET /metrics\n");
        let allowed = hyper::header::HeaderValue::from_static("GET, HEAD");
        refusal.headers_mut().insert(ALLOW, allowed);
        return refusal;
    }
    if request.uri().path() != "/metrics" {
        return plain(StatusCode::NOT_FOUND, "metrics are at /metrics\n");
    }
    let mut response = Response::new(Full::from(prometheus::text(totals)));
    let kind = hyper::header::HeaderValue::from_static(prometheus::CONTENT_TYPE);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
