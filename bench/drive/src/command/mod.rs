//! `evenkeel bench`: arguments and output. The command line only calls it.

mod args;
mod comparing;
mod output;
mod single;
mod values;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{Args as ClapArgs, Subcommand};

use crate::Error;

/// Exit code when the data is not as the workload allows.
const INCONSISTENT: u8 = 1;

/// Put a workload's load on the embedded store, PostgreSQL, MariaDB or SQLite and measure its latency
///
/// Without --rate and --load the loop is closed: each client starts its next transaction after its last one. With them it
/// is open: transactions arrive on schedule whatever the target does, and latency counts from the schedule. Ctrl-C ends
/// the run with what was measured until then.
///
/// What a commit waits for: the embedded store is durable when it is acknowledged (--set flush=eager-flush); with lazy-flush
/// it is written but not synced, with lazy-write not even written. SQLite keeps a write-ahead log that each commit syncs
/// (journal_mode=WAL, synchronous=FULL), as eager-flush does; --set synchronous=NORMAL writes without a sync, as lazy-flush
/// does; OFF never syncs. For PostgreSQL that is synchronous_commit, for MariaDB innodb_flush_log_at_trx_commit.
#[derive(ClapArgs, Debug)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    compare: Option<Command>,
    #[command(flatten)]
    single: single::Single,
}

const EXAMPLES: &str = "\
Examples:
  evenkeel bench tpcc --target postgres --clients 16 --for 30s
  evenkeel bench tpcc --target embedded --schedule ldsf --load 85% --html tpcc.html
  evenkeel bench tpcc --target sqlite --clients 2 --set synchronous=NORMAL
  evenkeel bench ycsb-a --target mysql://root@127.0.0.1:3306/bench --rate 2000 --arrivals bursty:4:200ms
  evenkeel bench compare --with '--schedule fifo' --with '--schedule ldsf' tpcc --load 85% --for 20s

Exit codes: 0 all went well; 1 the data violates the workload's consistency conditions; 2 the benchmark could not be
made.";

#[derive(Subcommand, Debug)]
enum Command {
    Compare(comparing::Comparison),
}

/// Runs the command: results on standard output, progress on standard error if that is a terminal.
///
/// # Errors
/// Arguments make no sense, the target cannot be used or is lost, or a file cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    raise_descriptor_limit();
    match args.compare {
        Some(Command::Compare(args)) => comparing::run(args),
        None => single::run(args.single),
    }
}

/// A client of a server has an event loop and a connection, which are four descriptors; the usual limit of 1024 is meant for
/// programs that use `select`. Where it cannot be raised, connecting says so.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );
}

/// A flag that Ctrl-C (and a request to end) sets; when it is set already, the signal ends the process as usual.
fn interrupts() -> Result<Arc<AtomicBool>, Error> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let registered =
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&interrupted))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&interrupted)));
        registered.map_err(|source| Error::System {
            action: "listen for Ctrl-C".to_owned(),
            source,
        })?;
    }
    Ok(interrupted)
}
