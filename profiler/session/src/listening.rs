//! Looks at the queues of the target's listening sockets: connections that wait there are in no interval yet.

mod kernel;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use evenkeel_analysis::profile::ListenQueue;
use evenkeel_attach::process;

// Numbers without an origin are bounds of memory; `crate::refine::policy` has the words for an origin.

/// Pauses between two searches for sockets, until a listening one is found and afterwards: a server opens them when it
/// starts. Guess.
const SEARCH: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// Processes whose sockets are looked at; workers share those of the first.
const PROCESSES_MAX: usize = 64;
/// Sockets that are watched.
const SOCKETS_MAX: usize = 16;
/// A look takes at most one part in this many of the time. In another network all connections are listed to find those
/// that listen. Guess: `a_look_is_not_repeated_at_once`.
const COST_MAX: u32 = 200;
/// State of a listening socket in the kernel's list (`TCP_LISTEN`).
const LISTEN: &str = "0A";

/// What was seen of the target's listening sockets.
#[derive(Debug, Default)]
pub struct ListenQueues {
    searched: Option<Instant>,
    /// When to look again.
    next: Option<Instant>,
    /// Numbers of the target's sockets.
    sockets: BTreeSet<u64>,
    queues: BTreeMap<u64, ListenQueue>,
}

impl ListenQueues {
    /// Looks once, if it is time: at the sockets of this process and those that descend from it.
    pub fn look(&mut self, pid: i32) {
        let began = Instant::now();
        if self.next.is_some_and(|next| began < next) {
            return;
        }
        let pause = SEARCH[usize::from(!self.queues.is_empty())];
        if self.searched.is_none_or(|at| at.elapsed() >= pause) {
            self.searched = Some(began);
            let family = process::family(pid).into_iter().take(PROCESSES_MAX);
            self.sockets = family.flat_map(sockets).collect();
        }
        for listener in listeners(pid, &self.sockets) {
            let is_known = self.queues.contains_key(&listener.socket);
            if is_known || self.queues.len() < SOCKETS_MAX {
                let queue = self.queues.entry(listener.socket).or_default();
                queue.address = listener.address.to_string();
                queue.add(listener.connections);
            }
        }
        self.next = Some(Instant::now() + began.elapsed() * COST_MAX);
    }

    /// What was seen, by address; of several sockets at one address (`SO_REUSEPORT`) all together.
    pub fn seen(&self) -> Vec<ListenQueue> {
        let mut seen = Vec::new();
        for queue in self.queues.values() {
            evenkeel_analysis::profile::join_queues(&mut seen, std::slice::from_ref(queue));
        }
        seen
    }
}

/// A listening socket at one moment.
#[derive(Debug, PartialEq)]
struct Listener {
    socket: u64,
    address: SocketAddr,
    /// Connections that wait to be accepted.
    connections: u64,
}

/// Numbers of a process' sockets.
fn sockets(pid: i32) -> Vec<u64> {
    let open = fs::read_dir(format!("/proc/{pid}/fd"));
    let links = open.into_iter().flatten().flatten();
    let links = links.filter_map(|file| fs::read_link(file.path()).ok());
    let number = |link: std::path::PathBuf| {
        let text = link.to_str()?.strip_prefix("socket:[")?;
        text.strip_suffix(']')?.parse().ok()
    };
    links.filter_map(number).collect()
}

/// Those of these sockets that listen, in the network of the process.
fn listeners(pid: i32, sockets: &BTreeSet<u64>) -> Vec<Listener> {
    if sockets.is_empty() {
        return Vec::new();
    }
    let all = match is_in_this_network(pid) {
        true => kernel::listeners().unwrap_or_else(|_| listed(pid)),
        false => listed(pid),
    };
    let own = all.into_iter();
    own.filter(|one| sockets.contains(&one.socket)).collect()
}

fn is_in_this_network(pid: i32) -> bool {
    let own = fs::read_link("/proc/self/ns/net");
    own.is_ok_and(|own| fs::read_link(format!("/proc/{pid}/ns/net")).is_ok_and(|its| its == own))
}

/// Those that the kernel lists among all connections of the process' network.
fn listed(pid: i32) -> Vec<Listener> {
    let lists = ["tcp", "tcp6"].map(|list| {
        // A machine may have no IPv6.
        fs::read_to_string(format!("/proc/{pid}/net/{list}")).unwrap_or_default()
    });
    let lines = lists.iter().flat_map(|list| list.lines());
    lines.filter_map(listener).collect()
}

/// A line of the kernel's list (`proc_net_tcp`): local and remote address, state, queues, timer, retransmissions, user,
/// timeout, socket.
fn listener(line: &str) -> Option<Listener> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let address = words.next()?;
    if words.nth(1)? != LISTEN {
        return None;
    }
    let (_, received) = words.next()?.split_once(':')?;
    Some(Listener {
        address: parsed(address)?,
        connections: u64::from_str_radix(received, 16).ok()?,
        socket: words.nth(4)?.parse().ok()?,
    })
}

/// An address: words of 32 bits in the processor's order, and the port, all in hexadecimal digits.
fn parsed(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| {
        let digits = address.get(8 * at..8 * at + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let address = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let bytes: [u8; 16] = words.as_flattened().try_into().ok()?;
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(
        address,
        u16::from_str_radix(port, 16).ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_line_of_a_listening_socket() {
        let line = "  2: 0100007F:1F90 00000000:0000 0A 00000000:00000021 00:00000000 00000000  33 0 48213 1 0000 100 0 0 10 0";
        let listener = listener(line).expect("one that listens");
        assert_eq!(listener.address.to_string(), "127.0.0.1:8080");
        assert_eq!((listener.connections, listener.socket), (33, 48213));
    }

    #[test]
    fn of_the_sixth_version() {
        let address = "00000000000000000000000001000000:0050";
        assert_eq!(parsed(address).expect("an address").to_string(), "[::1]:80");
    }

    #[test]
    fn other_lines_are_none() {
        for line in [
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
            "  3: 0100007F:1F90 0100007F:A1B2 01 00000000:00000000 00:00000000 00000000  0 0 48214 1 0 20 4 30 10 -1",
            "  4: 0100:1F90 00000000:0000 0A 0:0 0:0 0 0 0 1",
            "",
        ] {
            assert_eq!(listener(line), None, "{line}");
        }
    }

    /// Of a process that accepts nothing.
    #[test]
    fn connections_that_nobody_accepts_are_seen() {
        let listening = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listening.local_addr().expect("an address");
        let _waiting = [(); 3].map(|()| TcpStream::connect(address).expect("a connection"));
        let mut queues = ListenQueues::default();
        queues.look(std::process::id() as i32);
        let seen = queues.seen();
        let queue = seen
            .iter()
            .find(|queue| queue.address == address.to_string());
        let queue = queue.expect("its queue");
        assert_eq!((queue.looks, queue.mean, queue.max), (1, 3.0, 3));
    }

    #[test]
    fn a_look_is_not_repeated_at_once() {
        let mut queues = ListenQueues::default();
        queues.look(std::process::id() as i32);
        assert!(queues.next.is_some());
        queues.next = Some(Instant::now() + Duration::from_secs(600));
        let (next, searched) = (queues.next, queues.searched);
        queues.look(std::process::id() as i32);
        assert_eq!((queues.next, queues.searched), (next, searched));
    }
}
