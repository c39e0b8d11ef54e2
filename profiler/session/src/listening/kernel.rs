//! The listening sockets of this network namespace, asked of the kernel (sock_diag(7)). The list in `/proc/net/tcp`
//! goes through the table of all connections, which takes 20 ms on a machine with much memory, however few there are.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::Listener;

/// linux/sock_diag.h, linux/inet_diag.h, net/tcp_states.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const LISTENING: u32 = 1 << 10;
/// Bytes of a message's header, of a request behind it, and of an answer behind it.
const HEADER: usize = 16;
const REQUEST: usize = 56;
const ANSWER: usize = 72;

/// All that listen.
///
/// # Errors
/// The kernel does not answer such questions.
pub(super) fn listeners() -> io::Result<Vec<Listener>> {
    // SAFETY: a fresh descriptor, or an error.
    let socket = unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let descriptor = libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_SOCK_DIAG);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(descriptor)
    };
    let mut found = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        send(&socket, &request(family as u8))?;
        while receive(&socket, &mut found)? {}
    }
    Ok(found)
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2`.
fn request(family: u8) -> [u8; HEADER + REQUEST] {
    let mut request = [0; HEADER + REQUEST];
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16;
    request[..4].copy_from_slice(&((HEADER + REQUEST) as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&flags.to_ne_bytes());
    request[HEADER] = family;
    request[HEADER + 1] = libc::IPPROTO_TCP as u8;
    request[HEADER + 4..HEADER + 8].copy_from_slice(&LISTENING.to_ne_bytes());
    request
}

fn send(socket: &OwnedFd, request: &[u8]) -> io::Result<()> {
    // SAFETY: a buffer of this length. Without an address it goes to the kernel.
    let sent = unsafe {
        libc::send(
            socket.as_raw_fd(),
            request.as_ptr().cast(),
            request.len(),
            0,
        )
    };
    if sent < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Takes in the messages that have arrived. Whether more follow.
fn receive(socket: &OwnedFd, found: &mut Vec<Listener>) -> io::Result<bool> {
    let mut buffer = [0_u8; 1 << 15];
    // SAFETY: a buffer of this length.
    let read = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            0,
        )
    };
    let read = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
    let mut messages = &buffer[..read];
    while messages.len() >= HEADER {
        let word = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| messages[at + byte]));
        let kind = i32::from(u16::from_ne_bytes([messages[4], messages[5]]));
        let length = word(0) as usize;
        if kind == libc::NLMSG_DONE {
            return Ok(false);
        }
        if kind == libc::NLMSG_ERROR || length < HEADER || length > messages.len() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        found.extend(listener(&messages[HEADER..length]));
        messages = &messages[length.next_multiple_of(4).min(messages.len())..];
    }
    Ok(true)
}

/// `struct inet_diag_msg`: four bytes, then ports and addresses (`struct inet_diag_sockid`, in the network's order),
/// then words.
fn listener(message: &[u8]) -> Option<Listener> {
    let message: &[u8; ANSWER] = message.get(..ANSWER)?.try_into().ok()?;
    let word = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| message[at + byte]));
    let port = u16::from_be_bytes([message[4], message[5]]);
    let address = &message[8..24];
    let address = match i32::from(message[0]) {
        libc::AF_INET => IpAddr::V4(Ipv4Addr::from([0, 1, 2, 3].map(|byte| address[byte]))),
        _ => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(address).ok()?)),
    };
    Some(Listener {
        address: SocketAddr::new(address, port),
        connections: word(56).into(),
        socket: word(68).into(),
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn sockets_of_both_families_with_what_waits_there() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(socket) = TcpListener::bind(address) else {
                continue; // no IPv6
            };
            let address = socket.local_addr().expect("an address");
            let _waiting = [(); 3].map(|()| TcpStream::connect(address).expect("a connection"));
            let all = listeners().expect("the kernel has it");
            let found = all.iter().find(|one| one.address == address);
            assert_eq!(found.expect("it listens").connections, 3);
            assert!(all.iter().all(|one| one.socket != 0));
        }
    }
}
