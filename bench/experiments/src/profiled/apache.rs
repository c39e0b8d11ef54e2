//! Sources of variance in Apache: table 2.3.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use evenkeel_servers::{Apache, RunningLoopbackServer, ServerError, http_get};

use super::{Source, found, length_s, parsed};
use crate::Error;
use crate::command::{line, words, written};
use crate::experiment::{Context, Effort, Experiment, Finding};

/// Command for a running Apache; its process is filled in.
const COMMAND: &str = "evenkeel attach PID --preset apache --json @";
/// Clients in a closed loop, a connection a request.
const CLIENTS: usize = 16;
/// The requested file, one of those that a private Apache serves.
const FILE: &str = "/64k.txt";
/// A client that meets an error does not repeat it at once.
const AFTER_AN_ERROR: Duration = Duration::from_millis(20);

/// Table 2.3.
pub const EXPERIMENT: Experiment = Experiment {
    id: "table-2.3",
    item: "Table 2.3, sources of variance in Apache",
    says: "(ap_pass_brigade, apr_file_open) 22 %, (ap_pass_brigade, basic_http_header) 15.5 %, apr_bucket_alloc 11.8 %.",
    method: "A profile of requests to a private Apache (event, one process, 16 threads). It serves a file of 64 KiB to 16 clients in a closed loop, with a connection for each request. The paper's first two are covariances of two functions; here it is the share of the second. It does not say which load its Apache had. basic_http_header is static, and has no name in a stripped build.",
    command: COMMAND,
    takes: taken,
    run,
};

fn taken(effort: Effort) -> Duration {
    Duration::from_secs(length_s(effort) + 6)
}

fn run(context: &Context) -> Result<Finding, Error> {
    let server = match started() {
        Ok(server) => server,
        Err(error) => {
            let why = format!("There is no Apache to profile: {error}.");
            return Ok(Finding::failed(&why));
        }
    };
    let Some(pid) = server.pid() else {
        return Ok(Finding::failed("The private Apache ended at once."));
    };
    let mut words = words(COMMAND);
    for word in &mut words {
        if word == "PID" {
            *word = pid.to_string();
        }
    }
    words.extend(["--for".to_owned(), format!("{}s", length_s(context.effort))]);
    let served = AtomicU64::new(0);
    let answer = under_load(server.port(), &served, || {
        written(context, &words, taken(context.effort))
    })?;
    let of = |here: &'static [&'static str; 1], share| Source {
        paper: here[0],
        share,
        here,
    };
    let sources = [
        of(&["apr_file_open"], 0.22),
        of(&["basic_http_header"], 0.155),
        of(&["apr_bucket_alloc"], 0.118),
    ];
    let command = line(&words).replace('@', "profile.json");
    Ok(match answer.and_then(parsed) {
        Ok(profile) => Finding {
            commands: vec![command],
            ..found(&profile, &sources)
        },
        Err(why) => Finding::failed(&format!(
            "`{command}` gave no result: {why}. The load had made {} requests.",
            served.into_inner()
        )),
    })
}

/// An Apache with one process and a thread for each client, so that all requests are in the profiled process.
fn started() -> Result<RunningLoopbackServer, ServerError> {
    Apache::in_one_process(16).prepare()?.start(None)
}

/// Has clients ask for the file while `work` is done.
fn under_load<T>(port: u16, served: &AtomicU64, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    let client = || {
        while !done.load(Ordering::Relaxed) {
            match http_get(port, FILE) {
                Ok(_) => drop(served.fetch_add(1, Ordering::Relaxed)),
                Err(_) => thread::sleep(AFTER_AN_ERROR),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(client);
        }
        let result = work();
        done.store(true, Ordering::Relaxed);
        result
    })
}
