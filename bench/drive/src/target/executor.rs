//! What runs the futures of the transaction interface, on the client's own thread.
//!
//! Each client of a server has a separate runtime, so no answer passes from one thread to another. The embedded store
//! and SQLite complete every future at once and need none.

use std::future::Future;

use evenkeel_workloads::interface::complete;
use tokio::runtime::{Builder, Runtime};

use crate::Error;

/// A runtime for one thread.
///
/// # Errors
/// The system has no more descriptors.
pub fn runtime() -> Result<Runtime, Error> {
    let built = Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build();
    built.map_err(|source| Error::System {
        action: "make an event loop".to_owned(),
        source,
    })
}

/// Runs futures to their end.
pub enum Executor {
    /// For futures that are complete at the first look, because all waiting is done inside of the call.
    Direct,
    /// For connections whose answers are waited for.
    Runtime(Runtime),
}

impl Executor {
    /// Runs a future.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match self {
            Executor::Direct => complete(future),
            Executor::Runtime(runtime) => runtime.block_on(future),
        }
    }
}
