//! A message on its way from the network to its reader, and the result on the way back.

use hyper::body::Bytes;
use tokio::sync::oneshot;

use crate::convert::Converter;
use crate::read::{self, Encoding};
use crate::span::Span;

/// A message that came whole, or that one did not.
pub struct Message {
    encoding: Encoding,
    /// The body to read; `None` where it was damaged on the way.
    body: Option<Bytes>,
    /// To be told what became of it.
    read: oneshot::Sender<Read>,
}

/// Result of reading a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Its spans were taken, except for this many unusable ones.
    Taken { without: u64 },
    /// It is damaged; what came before the damage was taken.
    Damaged,
    /// Nobody is there any more who would read it.
    Unread,
}

impl Message {
    /// A message, and where it is heard what became of it.
    pub fn new(encoding: Encoding, body: Option<Bytes>) -> (Message, oneshot::Receiver<Read>) {
        let (read, heard) = oneshot::channel();
        let message = Message {
            encoding,
            body,
            read,
        };
        (message, heard)
    }

    /// Reads it, and reports the result.
    pub fn read(self, into: &mut Converter, take: &mut dyn FnMut(Span, &mut Converter)) {
        let before = into.counts;
        match self.body {
            Some(body) => read::message(&body, self.encoding, into, take),
            None => into.counts.damaged += 1,
        }
        let read = match into.counts.damaged > before.damaged {
            true => Read::Damaged,
            false => Read::Taken {
                without: into.counts.unusable() - before.unusable(),
            },
        };
        // The sender may have gone away.
        let _ = self.read.send(read);
    }
}
