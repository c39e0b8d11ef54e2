//! A conversation with the agent in the JVM (`evenkeel_wire::jvm`). Rings are drained while an answer is awaited.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use evenkeel_attach::jvm::send_descriptor;
use evenkeel_wire::jvm::{Answer, Fields, JavaWait, MESSAGE_MAX, Message, PROTOCOL, Request};

use super::problem::Problem;
use super::waits::Named;
use crate::profile::records::Records;

/// Time for the agent to answer: the JVM may wait for safepoints, and its machine be busy.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
/// How often rings are drained during a request.
const LOOK: Duration = Duration::from_millis(2);

/// A helper class for JVMs without virtual threads, and one for those that have them.
const HELPERS: [&[u8]; 2] = [
    include_bytes!("helper/platform.class"),
    include_bytes!("helper/virtual.class"),
];

/// A class that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loaded {
    /// Its number with the agent.
    pub(super) number: u32,
    /// Which of the names that were asked for it has.
    pub(super) name: usize,
    /// It may be rewritten.
    pub(super) is_modifiable: bool,
}

/// Result of joining.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joined {
    /// The number in Java code of probe 0.
    pub(super) base: u32,
    /// Probes that there can be.
    pub(super) probes_max: u32,
    /// Classes that a session left behind with its probes: their numbers are those from 0 on.
    pub(super) left_behind: u32,
}

/// Time that loading classes again took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pause {
    /// In the JVM: it stood still for some of this time, and at most for all.
    pub(super) at_most: Duration,
}

/// The conversation.
pub(super) struct Talk<'a> {
    socket: UnixStream,
    records: &'a mut Records,
}

impl<'a> Talk<'a> {
    /// Begins it.
    pub(super) fn over(socket: UnixStream, records: &'a mut Records) -> Result<Talk<'a>, Problem> {
        socket.set_read_timeout(Some(LOOK)).map_err(broken)?;
        socket
            .set_write_timeout(Some(ANSWERS_WITHIN))
            .map_err(broken)?;
        Ok(Talk { socket, records })
    }

    /// Joins the JVM to the session.
    pub(super) fn join(&mut self) -> Result<Joined, Problem> {
        let mut message = Message::new(Request::Join as u8);
        message.number(PROTOCOL);
        for helper in HELPERS {
            message.bytes(helper);
        }
        self.send(message)?;
        send_descriptor(&self.socket, self.records.arena.descriptor()).map_err(broken)?;
        let answer = self.answer(Answer::Joined)?;
        let mut fields = fields(&answer);
        let joined = (fields.number(), fields.number(), fields.number());
        let (Some(base), Some(probes_max), Some(left_behind)) = joined else {
            return Err(malformed());
        };
        Ok(Joined {
            base,
            probes_max,
            left_behind,
        })
    }

    /// The loaded classes of these names (with slashes).
    pub(super) fn find(&mut self, names: &[&str]) -> Result<Vec<Loaded>, Problem> {
        let mut message = Message::new(Request::Find as u8);
        for name in names {
            message.bytes(format!("L{name};").as_bytes());
        }
        self.send(message)?;
        let answer = self.answer(Answer::Classes)?;
        let mut fields = fields(&answer);
        let mut loaded = Vec::new();
        while let (Some(number), Some(name), Some(modifiable)) =
            (fields.number(), fields.number(), fields.byte())
        {
            loaded.push(Loaded {
                number,
                name: name as usize,
                is_modifiable: modifiable != 0,
            });
        }
        Ok(loaded)
    }

    /// Has these classes loaded again, each as `rewrite` makes it from what the JVM has.
    pub(super) fn rewrite(
        &mut self,
        numbers: &[u32],
        mut rewrite: impl FnMut(u32, &[u8], &mut Records) -> Option<Vec<u8>>,
    ) -> Result<Pause, Problem> {
        let mut message = Message::new(Request::Rewrite as u8);
        for &number in numbers {
            message.number(number);
        }
        self.send(message)?;
        loop {
            let answer = self.receive()?;
            let (kind, mut fields) = Fields::of(&answer).ok_or_else(malformed)?;
            match Answer::of(kind) {
                Some(Answer::Class) => {
                    let class = (fields.number(), fields.bytes());
                    let (Some(number), Some(bytes)) = class else {
                        return Err(malformed());
                    };
                    let rewritten = rewrite(number, bytes, self.records);
                    let mut message = Message::new(Request::Rewritten as u8);
                    message.bytes(&rewritten.unwrap_or_default());
                    self.send(message)?;
                }
                Some(Answer::Changed) => {
                    let times = (fields.long(), fields.long());
                    let (Some(took), Some(ours)) = times else {
                        return Err(malformed());
                    };
                    return Ok(Pause {
                        at_most: Duration::from_nanos(took.saturating_sub(ours)),
                    });
                }
                _ => return Err(failed(kind, fields)),
            }
        }
    }

    /// Probes are on or off, from the first on, and intervals recorded under the plan of this generation.
    pub(super) fn switch(&mut self, generation: u32, states: &[u8]) -> Result<(), Problem> {
        let mut message = Message::new(Request::Switch as u8);
        message.number(generation).number(0).bytes(states);
        self.send(message)?;
        self.answer(Answer::Ok).map(drop)
    }

    /// Intervals are counted only.
    pub(super) fn suspend(&mut self) -> Result<(), Problem> {
        self.send(Message::new(Request::Suspend as u8))?;
        self.answer(Answer::Ok).map(drop)
    }

    /// Waits are recorded as calls of so many probes from `first` on.
    pub(super) fn begin_waits(&mut self, first: u32, count: u32) -> Result<(), Problem> {
        let mut message = Message::new(Request::Waits as u8);
        message.number(first).number(count);
        self.send(message)?;
        self.answer(Answer::Ok).map(drop)
    }

    /// What probes of waits stand for by now.
    pub(super) fn wait_names(&mut self) -> Result<Vec<Named>, Problem> {
        self.send(Message::new(Request::WaitNames as u8))?;
        let answer = self.answer(Answer::WaitNames)?;
        let mut fields = fields(&answer);
        let mut names = Vec::new();
        while let (Some(number), Some(wait), Some(signature)) =
            (fields.number(), fields.byte(), fields.bytes())
        {
            names.push(Named {
                number,
                wait: JavaWait::of(wait).ok_or_else(malformed)?,
                signature: String::from_utf8_lossy(signature).into_owned(),
            });
        }
        Ok(names)
    }

    /// Takes stacks of threads in intervals, or, if there are such, in methods of these classes: the message as it came.
    pub(super) fn sample(
        &mut self,
        times: u32,
        period: Duration,
        frames: u32,
        classes: &[u32],
    ) -> Result<Vec<u8>, Problem> {
        let mut message = Message::new(Request::Sample as u8);
        message.number(times).number(period.as_micros() as u32);
        message.number(frames);
        for &class in classes {
            message.number(class);
        }
        self.send(message)?;
        self.answer(Answer::Samples)
    }

    /// The session is over.
    pub(super) fn leave(&mut self) -> Result<(), Problem> {
        self.send(Message::new(Request::Leave as u8))?;
        self.answer(Answer::Ok).map(drop)
    }

    /// Lets the agent return to the JVM.
    pub(super) fn end(mut self) {
        // If it is gone there is nobody to be told.
        let _ = self.send(Message::new(Request::Done as u8));
    }

    fn send(&mut self, message: Message) -> Result<(), Problem> {
        self.socket.write_all(&message.finished()).map_err(broken)
    }

    /// The next message, which must be this answer.
    fn answer(&mut self, expected: Answer) -> Result<Vec<u8>, Problem> {
        let message = self.receive()?;
        let (kind, fields) = Fields::of(&message).ok_or_else(malformed)?;
        if Answer::of(kind) == Some(expected) {
            return Ok(message);
        }
        Err(failed(kind, fields))
    }

    fn receive(&mut self) -> Result<Vec<u8>, Problem> {
        let mut len = [0; 4];
        self.read(&mut len)?;
        let len = u32::from_le_bytes(len) as usize;
        if len == 0 || len > MESSAGE_MAX {
            return Err(malformed());
        }
        let mut message = vec![0; len];
        self.read(&mut message)?;
        Ok(message)
    }

    /// Fills the buffer, and drains rings as long as nothing comes.
    fn read(&mut self, buffer: &mut [u8]) -> Result<(), Problem> {
        let began = Instant::now();
        let mut filled = 0;
        while filled < buffer.len() {
            match self.socket.read(&mut buffer[filled..]) {
                Ok(0) => return Err(broken(io::ErrorKind::UnexpectedEof.into())),
                Ok(len) => filled += len,
                Err(error) if is_late(&error) && began.elapsed() < ANSWERS_WITHIN => {
                    self.records.pass(false);
                }
                Err(error) => return Err(broken(error)),
            }
        }
        Ok(())
    }
}

fn is_late(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

/// The fields of a message that has a kind.
fn fields(message: &[u8]) -> Fields<'_> {
    Fields::of(message).map_or_else(
        || unreachable!("its kind was looked at"),
        |(_, fields)| fields,
    )
}

#[allow(clippy::needless_pass_by_value)] // as errors are mapped
fn broken(error: io::Error) -> Problem {
    Problem::Broken(error.to_string())
}

fn malformed() -> Problem {
    Problem::Broken("what it says has no meaning".to_owned())
}

/// The problem that an unexpected answer means.
fn failed(kind: u8, mut fields: Fields<'_>) -> Problem {
    match (Answer::of(kind), fields.bytes()) {
        (Some(Answer::Failed), Some(why)) => {
            Problem::Refused(String::from_utf8_lossy(why).into_owned())
        }
        _ => malformed(),
    }
}
