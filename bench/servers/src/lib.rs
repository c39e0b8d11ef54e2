//! Private servers for demonstrations, tests and benchmarks: PostgreSQL, MariaDB, Apache, nginx, Redis and memcached
//! from the machine's packages. Each runs in a private temporary folder and is reachable only from this machine.
//!
//! ```no_run
//! use evenkeel_servers::{Options, Pgbench, PostgreSql};
//!
//! let server = PostgreSql::prepare(&Options::default())?;
//! let server = server.start(None)?; // or behind a command: Some(&["evenkeel".into(), "profile".into(), "--".into()])
//! assert_eq!(server.psql("SELECT 6 * 7")?, "42\n");
//! Pgbench::default().initialize(&server)?;
//! println!("{}", Pgbench::default().run(&server)?.transactions_per_s);
//! server.stop()?;
//! # Ok::<(), evenkeel_servers::ServerError>(())
//! ```
//!
//! *Preparing* makes the folder, the configuration and the data; *starting* runs the server, and dropping what
//! `start` returned stops it and removes the folder. A caller that starts the server itself (a profiler that preloads
//! its agent) takes the [`Launch`] of a prepared server and says when it waits with [`PreparedServer::adopt`].
//!
//! If the caller is killed, the server keeps running and the folder stays, and a later process finds both
//! ([`Search`]).
//!
//! Most servers refuse to run as root. Run by root, everything that touches their data is done as the server's
//! own system account ([`Account`]); run by anybody else, it is done as that user.

mod abandoned;
mod account;
mod apache;
mod binaries;
mod documents;
mod error;
mod folder;
mod launch;
mod loopback;
mod mariadb;
mod memcached;
mod nginx;
mod options;
mod owner;
mod pgbench;
mod postgresql;
mod process;
mod redis;
mod release;
mod requests;
mod running;
mod server;

pub use abandoned::{Abandoned, Search};
pub use account::Account;
pub use apache::{Apache, Mpm};
pub use error::ServerError;
pub use launch::Launch;
pub use loopback::{LoopbackServer, RunningLoopbackServer};
pub use mariadb::{MariaDb, RunningMariaDb};
pub use memcached::Memcached;
pub use nginx::Nginx;
pub use options::{Limits, Options};
pub use pgbench::{Length, Pgbench, PgbenchResult, Script};
pub use postgresql::{PostgreSql, RunningPostgreSql};
pub use process::Process;
pub use redis::Redis;
pub use release::Release;
pub use requests::http_get;
pub use running::Stopped;
pub use server::{PreparedServer, RunningServer, Site};
