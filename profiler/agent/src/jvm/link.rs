//! The connection to the session, for as long as the JVM's `load` command takes.

use core::ptr;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use evenkeel_wire::jvm::{Answer, Fields, MESSAGE_MAX, Message, Request};

/// A session that says nothing for so long is gone: its lease is out.
const SILENCE: Duration = Duration::from_secs(10);

/// The connection.
#[derive(Debug)]
pub struct Link(UnixStream);

impl Link {
    /// Connects to the session's socket.
    pub fn to(path: &str) -> io::Result<Link> {
        let socket = UnixStream::connect(path)?;
        socket.set_read_timeout(Some(SILENCE))?;
        socket.set_write_timeout(Some(SILENCE))?;
        Ok(Link(socket))
    }

    /// The next request: its message. Nothing where the session is gone, or talks of something else.
    pub fn next(&mut self) -> Option<Vec<u8>> {
        let mut len = [0; 4];
        self.0.read_exact(&mut len).ok()?;
        let len = u32::from_le_bytes(len) as usize;
        if len == 0 || len > MESSAGE_MAX {
            return None;
        }
        let mut message = vec![0; len];
        self.0.read_exact(&mut message).ok()?;
        Some(message)
    }

    /// Answers. False where the session is gone.
    pub fn say(&mut self, message: Message) -> bool {
        self.0.write_all(&message.finished()).is_ok()
    }

    /// Answers that it is done.
    pub fn say_ok(&mut self) -> bool {
        self.say(Message::new(Answer::Ok as u8))
    }

    /// Answers why it is not.
    pub fn say_failed(&mut self, why: &str) -> bool {
        let mut message = Message::new(Answer::Failed as u8);
        message.bytes(why.as_bytes());
        self.say(message)
    }

    /// Has a class rewritten by the session. `None` where it stays unchanged.
    pub fn rewritten(&mut self, number: u32, class: &[u8]) -> Option<Vec<u8>> {
        let mut message = Message::new(Answer::Class as u8);
        message.number(number).bytes(class);
        if !self.say(message) {
            return None;
        }
        let message = self.next()?;
        let (kind, mut fields) = Fields::of(&message)?;
        if Request::of(kind) != Some(Request::Rewritten) {
            return None;
        }
        let bytes = fields.bytes()?;
        (!bytes.is_empty()).then(|| bytes.to_vec())
    }

    /// A descriptor that the session sends with a separate byte, before the rest of the request that needs it.
    pub fn descriptor(&mut self) -> Option<i32> {
        let mut byte = 0_u8;
        let mut space = [0_u64; 4];
        let mut part = libc::iovec {
            iov_base: (&raw mut byte).cast(),
            iov_len: 1,
        };
        // SAFETY: zero is a valid header; the buffers live as long as the call.
        unsafe {
            let mut header: libc::msghdr = core::mem::zeroed();
            header.msg_iov = &raw mut part;
            header.msg_iovlen = 1;
            header.msg_control = space.as_mut_ptr().cast();
            header.msg_controllen = size_of_val(&space) as _;
            let flags = libc::MSG_CMSG_CLOEXEC;
            if libc::recvmsg(self.0.as_raw_fd(), &raw mut header, flags) != 1 {
                return None;
            }
            let first = libc::CMSG_FIRSTHDR(&raw const header).as_ref()?;
            let is_rights = first.cmsg_level == libc::SOL_SOCKET
                && first.cmsg_type == libc::SCM_RIGHTS
                && first.cmsg_len as usize >= libc::CMSG_LEN(4) as usize;
            is_rights.then(|| ptr::read_unaligned(libc::CMSG_DATA(first).cast::<i32>()))
        }
    }
}
