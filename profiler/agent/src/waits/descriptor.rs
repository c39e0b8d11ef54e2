//! The file of a descriptor, as an object that threads wait for and wake each other by.

use evenkeel_wire::ObjectKind;

use super::mix::mix;
use super::objects::Object;

/// Mixed into the key of bytes: the key of room for them.
const ROOM: u64 = 1;

/// The file of a descriptor.
#[derive(Clone, Copy)]
pub struct Descriptor {
    /// The kind of file.
    pub kind: ObjectKind,
    /// Key of what can be read from it: bytes, connections, a counter, signals.
    pub input: u64,
    /// Key of what is written to it, as its readers have it.
    pub output: u64,
}

impl Descriptor {
    /// Whether a writer may have to wait for a reader. Pipes and sockets have a capacity. An event descriptor's
    /// counter has 64 bits, which programs do not fill (eventfd(2)), so that a write only wakes.
    pub fn fills_up(self) -> bool {
        matches!(self.kind, ObjectKind::Pipe | ObjectKind::Socket)
    }

    /// The object that a reader waits for.
    pub fn incoming(self) -> Object {
        Object::of(self.kind, self.input)
    }

    /// The object that a writer supplies.
    pub fn outgoing(self) -> Object {
        Object::of(self.kind, self.output)
    }

    /// The object that a reader supplies.
    pub fn room_made(self) -> Object {
        Object::of(self.kind, mix(self.input, ROOM))
    }

    /// The object that a writer waits for.
    pub fn room_wanted(self) -> Object {
        Object::of(self.kind, mix(self.output, ROOM))
    }
}
