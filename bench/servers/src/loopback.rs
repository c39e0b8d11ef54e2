//! Servers that are known by a port of 127.0.0.1 alone: Apache, nginx, Redis and memcached.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use crate::error::{During, ServerError};
use crate::options::Limits;
use crate::server::{PreparedServer, RunningServer, ServerSpec, Site};

/// Properties in which such servers differ.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Software {
    /// Properties in which all kinds of servers differ.
    pub kind: ServerSpec,
    /// Names of the program, the first that exists.
    pub programs: &'static [&'static str],
    /// Whether the server answers at this port.
    pub answers: fn(u16) -> bool,
}

/// A port, and how to ask there.
#[derive(Debug)]
pub struct Loopback {
    port: u16,
    answers: fn(u16) -> bool,
}

/// A server in a private folder, on a free port of 127.0.0.1, not started yet. Dropping it removes the folder.
pub type LoopbackServer = PreparedServer<Loopback>;

/// A server that answers at its port. Dropping it stops the server and removes its folder.
pub type RunningLoopbackServer = RunningServer<Loopback>;

impl Site for Loopback {
    fn answers(&self) -> bool {
        (self.answers)(self.port)
    }
}

impl PreparedServer<Loopback> {
    /// Finds the program, a folder and a port. What the server needs in the folder, and its arguments, come after.
    pub(crate) fn create(
        software: Software,
        parent: Option<&Path>,
        limits: Limits,
    ) -> Result<Self, ServerError> {
        let program = software.kind.program(software.programs)?;
        let folder = software.kind.folder(parent)?;
        let site = Loopback {
            port: free_loopback_port()?,
            answers: software.answers,
        };
        Ok(Self::new(software.kind, folder, site, program, limits))
    }

    /// TCP port of 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.site().port
    }
}

impl RunningServer<Loopback> {
    /// TCP port of 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.site().port
    }
}

/// A TCP port of 127.0.0.1 that nobody uses at the moment. Another process may take it before the server does; the
/// server then reports that.
pub(crate) fn free_loopback_port() -> Result<u16, ServerError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .during(|| "find a free port of 127.0.0.1".into())
}
