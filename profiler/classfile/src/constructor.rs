//! At which instructions of a constructor `this` is initialised (JVMS 4.10.2.4).
//!
//! Only there a handler around the method can verify. No frame fits both the code before the call of `super()` or `this()` and the
//! code after it. HotSpot checks handlers around that call itself against the state after it. An exception thrown earlier
//! reaches the caller at once, and the caller's own `exit` ends the open probes.
//!
//! Stack map frames say what holds where branches meet. In between, an `invokespecial` of `<init>` initialises what the last
//! pending `new` made, or else `this`. A constructor in which that is not clear has no handler around it.

use crate::frames::{StackMapFrame, Type};
use crate::instructions::Instruction;
use crate::opcodes::{DUP, INVOKESPECIAL, NEW, POP, POP2};
use crate::pool::Pool;

/// A place between two instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Before the instruction at this offset, and before what is inserted there.
    Before(usize),
    /// Directly after the instruction at this offset, which is an `invokespecial`.
    AfterCall(usize),
}

/// A constructor, which has a class above its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Constructor<'c, 'a> {
    pub(crate) instructions: &'c [Instruction<'c>],
    pub(crate) frames: &'c [StackMapFrame],
    pub(crate) pool: &'c Pool<'a>,
    /// The classes whose `<init>` may initialise `this`: its own, and the one above.
    pub(crate) classes: [Option<&'c [u8]>; 2],
}

/// It is not clear what is initialised.
struct Unclear;

/// The state of the walk through the code.
struct State {
    initialised: bool,
    /// Offsets of the `new` of objects that are not initialised, in order.
    pending: Vec<usize>,
}

impl Constructor<'_, '_> {
    /// The stretches of code in which `this` is initialised; none where that is not clear.
    pub(crate) fn initialised(&self) -> Vec<(Place, Place)> {
        self.stretches().unwrap_or_else(|Unclear| Vec::new())
    }

    fn stretches(&self) -> Result<Vec<(Place, Place)>, Unclear> {
        let mut state = State {
            initialised: false,
            pending: Vec::new(),
        };
        let mut stretches = Vec::new();
        let mut begin = None;
        let mut frames = self.frames.iter().peekable();
        for (number, instruction) in self.instructions.iter().enumerate() {
            let here = Place::Before(instruction.pc);
            if let Some(frame) = frames.next_if(|frame| frame.pc == instruction.pc) {
                state = State::told_by(frame)?;
                if state.initialised {
                    begin.get_or_insert(here);
                } else if let Some(begin) = begin.take() {
                    stretches.push((begin, here));
                }
            }
            if !state.initialised && self.initialises(number, &mut state.pending)? {
                state.initialised = true;
                begin = Some(Place::AfterCall(instruction.pc));
            }
        }
        let end = self.instructions.last().map_or(0, Instruction::end);
        stretches.extend(begin.map(|begin| (begin, Place::Before(end))));
        Ok(stretches)
    }

    /// Goes over one instruction while `this` is not initialised; true where this one initialises it.
    fn initialises(&self, number: usize, pending: &mut Vec<usize>) -> Result<bool, Unclear> {
        let instruction = &self.instructions[number];
        let opcode_at = |number: usize| self.instructions.get(number).map(Instruction::opcode);
        match instruction.opcode() {
            // What is made is used, and not dropped.
            NEW if opcode_at(number + 1) == Some(DUP) => pending.push(instruction.pc),
            NEW => return Err(Unclear),
            POP if matches!(opcode_at(number.wrapping_sub(1)), Some(NEW | DUP)) => {
                return Err(Unclear);
            }
            POP2 if !pending.is_empty() => return Err(Unclear),
            INVOKESPECIAL => {
                let method = self
                    .pool
                    .method(instruction.constant())
                    .map_err(|_| Unclear)?;
                if method.name == b"<init>" {
                    let Some(made) = pending.pop() else {
                        return if self.classes.contains(&method.class) {
                            Ok(true)
                        } else {
                            Err(Unclear)
                        };
                    };
                    if self.made_at(made) != method.class {
                        return Err(Unclear);
                    }
                }
            }
            _ if instruction.stores_to() == Some(0) => return Err(Unclear),
            _ => {}
        }
        Ok(false)
    }

    /// The class of the `new` at an offset.
    fn made_at(&self, pc: usize) -> Option<&[u8]> {
        let number = self
            .instructions
            .binary_search_by_key(&pc, |instruction| instruction.pc)
            .ok()?;
        let new =
            Some(&self.instructions[number]).filter(|instruction| instruction.opcode() == NEW)?;
        self.pool.class(new.constant()).ok()
    }
}

impl State {
    fn told_by(frame: &StackMapFrame) -> Result<Self, Unclear> {
        let initialised = frame.locals.first() != Some(&Type::UninitializedThis);
        if initialised
            && frame
                .locals
                .iter()
                .chain(&frame.stack)
                .any(|&of| of == Type::UninitializedThis)
        {
            return Err(Unclear);
        }
        let mut pending = Vec::new();
        for &of in frame.locals.iter().chain(&frame.stack) {
            match of {
                Type::Uninitialized(pc) if !pending.contains(&pc.into()) => pending.push(pc.into()),
                _ => {}
            }
        }
        Ok(Self {
            initialised,
            pending,
        })
    }
}
