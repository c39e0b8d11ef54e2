//! Ctrl-C and requests to terminate: the program ends at once, whatever the engine does, and leaves no temporary
//! file.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::{fs, io, process, thread};

use futures::future::{self, Either};
use tokio::signal::unix::{SignalKind, signal};

use crate::line::Screen;

/// As shells count them: 128 and the signal.
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;

/// From now on, ends the program when it is asked to; `spilled` is a directory that goes with it.
///
/// # Errors
/// The system does not let a program hear signals.
pub fn heed(screen: Arc<Screen>, spilled: Option<PathBuf>) -> io::Result<()> {
    // A separate thread: those of the engine may compute for seconds before they check anything.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let entered = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    drop(entered);
    thread::spawn(move || {
        let code = runtime.block_on(async {
            match future::select(pin!(interrupt.recv()), pin!(terminate.recv())).await {
                Either::Left(_) => INTERRUPTED,
                Either::Right(_) => TERMINATED,
            }
        });
        // Nothing is drawn from here on.
        let _erased = screen.erased();
        if let Some(spilled) = spilled {
            // The engine's files, which it would have removed; what cannot be removed is in the directory for such.
            let _ = fs::remove_dir_all(spilled);
        }
        process::exit(code);
    });
    Ok(())
}
