//! Running futures that never wait.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Completes a future on this thread with a single poll: for targets that do their work, and their waiting,
/// inside the call. Costs no more than the call itself.
///
/// # Panics
/// If the future is pending: then the target belongs on an asynchronous runtime.
pub fn complete<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a future that should complete at once is pending"),
    }
}
