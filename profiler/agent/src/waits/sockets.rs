//! The other end of a socket.
//!
//! A key is of one direction of a connection: for TCP made of both addresses, sender first; for Unix sockets of the
//! receiving end's inode. A listening socket has a key of its address.

use core::ffi::c_int;
use core::mem::{size_of, zeroed};

use evenkeel_patch::kernel;
use evenkeel_wire::ObjectKind;

use super::descriptor::Descriptor;
use super::mix::mix;

/// Distinguish keys of different kinds.
const UNIX: u64 = 0x756e_6978;
const LISTEN: u64 = 0x6c69_7374;
const DATAGRAM: u64 = 0x6467_7261;

/// An address, as much of it as two processes see alike.
#[derive(Clone, Copy)]
struct Address {
    /// 0 for Unix sockets without a name.
    hash: u64,
    port: u16,
}

/// The file of a socket. `None` while it is not connected, and for unknown kinds.
pub fn describe(number: c_int, inode: u64) -> Option<Descriptor> {
    let (family, own) = address(number, libc::SYS_getsockname)?;
    if option(number, libc::SO_ACCEPTCONN) == Some(1) {
        let key = listening(family, own);
        return Some(both(key, key));
    }
    if family == libc::AF_UNIX {
        return Some(unix(inode, peer_inode(inode)?));
    }
    let datagram = option(number, libc::SO_TYPE) == Some(libc::SOCK_DGRAM);
    let peer = address(number, libc::SYS_getpeername).map(|(_, peer)| peer);
    if datagram {
        let port = |address: Address| mix(DATAGRAM, address.port.into());
        return Some(both(port(own), peer.map_or(0, port)));
    }
    let peer = peer?;
    let way = |from: Address, to: Address| {
        mix(
            mix(from.hash, from.port.into()),
            mix(to.hash, to.port.into()),
        )
    };
    Some(both(way(peer, own), way(own, peer)))
}

fn both(input: u64, output: u64) -> Descriptor {
    Descriptor {
        kind: ObjectKind::Socket,
        input,
        output,
    }
}

/// A Unix socket by its inode and its peer's.
pub fn unix(own: u64, peer: u64) -> Descriptor {
    both(mix(UNIX, own), mix(UNIX, peer))
}

/// The key of whoever listens at an address that somebody connects to or sends to.
///
/// # Safety
/// `address` points to `len` bytes.
pub unsafe fn key_of_address(
    address: *const libc::sockaddr,
    len: u32,
    datagram: bool,
) -> Option<u64> {
    // SAFETY: the caller's contract.
    let bytes = unsafe {
        if address.is_null() {
            return None;
        }
        core::slice::from_raw_parts(address.cast::<u8>(), len as usize)
    };
    let (family, address) = parse(bytes)?;
    if datagram && family != libc::AF_UNIX {
        return Some(mix(DATAGRAM, address.port.into()));
    }
    Some(listening(family, address))
}

/// Whoever listens at all addresses is reached at any: only the port counts.
fn listening(family: c_int, own: Address) -> u64 {
    if family == libc::AF_UNIX {
        mix(LISTEN, own.hash)
    } else {
        mix(LISTEN, own.port.into())
    }
}

fn parse(bytes: &[u8]) -> Option<(c_int, Address)> {
    let family = c_int::from(u16::from_ne_bytes([*bytes.first()?, *bytes.get(1)?]));
    let hash = |bytes: &[u8]| bytes.iter().fold(0, |hash, &byte| mix(hash, byte.into()));
    let port = || Some(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]));
    let address = match family {
        libc::AF_INET => Address {
            hash: hash(bytes.get(4..8)?),
            port: port()?,
        },
        libc::AF_INET6 => {
            let ip = bytes.get(8..24)?;
            let mapped = ip.starts_with(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
            Address {
                hash: hash(if mapped { &ip[12..] } else { ip }),
                port: port()?,
            }
        }
        libc::AF_UNIX => {
            // A name in the file system may or may not come with its zero.
            let name = bytes.get(2..)?;
            let len = match name.first() {
                Some(0) => name.len(),
                _ => name
                    .iter()
                    .position(|&byte| byte == 0)
                    .unwrap_or(name.len()),
            };
            Address {
                hash: hash(&name[..len]),
                port: 0,
            }
        }
        _ => return None,
    };
    Some((family, address))
}

/// Family and address that `getsockname` or `getpeername` return.
fn address(number: c_int, call: libc::c_long) -> Option<(c_int, Address)> {
    let mut bytes = [0u8; size_of::<libc::sockaddr_storage>()];
    let mut len = bytes.len() as u32;
    // SAFETY: room for the largest address.
    let answer = unsafe {
        kernel::system_call(
            call,
            [
                number as u64,
                bytes.as_mut_ptr() as u64,
                &raw mut len as u64,
                0,
                0,
                0,
            ],
        )
    };
    if answer != 0 {
        return None;
    }
    parse(bytes.get(..len as usize)?)
}

fn option(number: c_int, name: c_int) -> Option<c_int> {
    let mut value: c_int = 0;
    let mut len = size_of::<c_int>() as u32;
    // SAFETY: room for a number.
    let answer = unsafe {
        kernel::system_call(
            libc::SYS_getsockopt,
            [
                number as u64,
                libc::SOL_SOCKET as u64,
                name as u64,
                &raw mut value as u64,
                &raw mut len as u64,
                0,
            ],
        )
    };
    (answer == 0).then_some(value)
}

/// A question to the kernel about one Unix socket (linux/unix_diag.h).
#[repr(C)]
struct Question {
    header: libc::nlmsghdr,
    family: u8,
    protocol: u8,
    pad: u16,
    states: u32,
    inode: u32,
    show: u32,
    cookie: [u32; 2],
}

/// `SOCK_DIAG_BY_FAMILY`, `UDIAG_SHOW_PEER` and the attribute `UNIX_DIAG_PEER`.
const BY_FAMILY: u16 = 20;
const SHOW_PEER: u32 = 4;
const PEER: u16 = 2;
/// Bytes of the answer before its attributes: a netlink header and `struct unix_diag_msg`.
const ATTRIBUTES_AT: usize = 16 + 16;

/// The inode of the socket that a Unix socket is connected to.
fn peer_inode(inode: u64) -> Option<u64> {
    // SAFETY: local structures; zero is valid for them.
    unsafe {
        let netlink = kernel::system_call(
            libc::SYS_socket,
            [
                libc::AF_NETLINK as u64,
                (libc::SOCK_RAW | libc::SOCK_CLOEXEC) as u64,
                libc::NETLINK_SOCK_DIAG as u64,
                0,
                0,
                0,
            ],
        );
        if netlink < 0 {
            return None;
        }
        let mut question: Question = zeroed();
        question.header.nlmsg_len = size_of::<Question>() as u32;
        question.header.nlmsg_type = BY_FAMILY;
        question.header.nlmsg_flags = libc::NLM_F_REQUEST as u16;
        question.family = libc::AF_UNIX as u8;
        question.states = u32::MAX;
        question.inode = inode as u32; // sockets have 32 bits of it
        question.show = SHOW_PEER;
        question.cookie = [u32::MAX; 2];
        let mut answer = [0u8; 512];
        let sent = kernel::system_call(
            libc::SYS_sendto,
            [
                netlink as u64,
                &raw const question as u64,
                size_of::<Question>() as u64,
                libc::MSG_DONTWAIT as u64,
                0,
                0,
            ],
        );
        let received = if sent > 0 {
            kernel::system_call(
                libc::SYS_recvfrom,
                [
                    netlink as u64,
                    answer.as_mut_ptr() as u64,
                    answer.len() as u64,
                    libc::MSG_DONTWAIT as u64,
                    0,
                    0,
                ],
            )
        } else {
            0
        };
        kernel::close(netlink as c_int);
        find_peer(answer.get(..usize::try_from(received).ok()?)?)
    }
}

fn find_peer(answer: &[u8]) -> Option<u64> {
    let half = |at: usize| Some(u16::from_ne_bytes([*answer.get(at)?, *answer.get(at + 1)?]));
    if half(4)? != BY_FAMILY {
        return None;
    }
    let mut at = ATTRIBUTES_AT;
    loop {
        let (len, kind) = (half(at)? as usize, half(at + 2)?);
        if kind == PEER {
            let value = answer.get(at + 4..at + 8)?;
            return Some(u32::from_ne_bytes([value[0], value[1], value[2], value[3]]).into());
        }
        at += len.max(4).next_multiple_of(4);
    }
}
