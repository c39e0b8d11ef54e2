//! Descriptors through a pair of connected sockets (unix(7), `SCM_RIGHTS`).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Descriptors sent at once, at most: an even number, as control data are aligned.
pub(crate) const DESCRIPTORS_MAX: usize = 4;
const CONTROL_BYTES: usize = 16 + 4 * DESCRIPTORS_MAX;

/// Sends descriptors by a socket.
pub(crate) fn send(socket: &impl AsRawFd, descriptors: &[RawFd]) -> io::Result<()> {
    let mut control = [0_u64; CONTROL_BYTES.div_ceil(8)];
    let mut byte = [0_u8];
    let mut vector = libc::iovec {
        iov_base: byte.as_mut_ptr().cast(),
        iov_len: 1,
    };
    let bytes = size_of_val(descriptors) as u32;
    // SAFETY: one message of one byte, with control data of the stated length; all of it outlives the call.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut vector;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(bytes) as usize;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(bytes) as usize;
        descriptors
            .as_ptr()
            .copy_to_nonoverlapping(libc::CMSG_DATA(header).cast(), descriptors.len());
        if libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The descriptor that was sent by the other end of a socket.
pub(crate) fn receive_one(socket: &OwnedFd) -> io::Result<OwnedFd> {
    let mut control = [0_u64; CONTROL_BYTES.div_ceil(8)];
    let mut byte = [0_u8];
    let mut vector = libc::iovec {
        iov_base: byte.as_mut_ptr().cast(),
        iov_len: 1,
    };
    // SAFETY: one message of one byte, with room for control data of the stated length; all of it outlives the call.
    // The received descriptor is fresh.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut vector;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT;
        if libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) < 0 {
            return Err(io::Error::last_os_error());
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let descriptor = libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned();
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}
