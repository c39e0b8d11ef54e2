//! Where instructions lie once pieces were inserted between them.
//!
//! Code that grows pushes targets of branches out of reach. A `goto` becomes a `goto_w`. A conditional branch has no wide form;
//! it leads to an *island* instead: a `goto_w` that follows an instruction which never falls through. The island needs only the
//! frame of its target. The usual inversion of the branch would need a frame at the next instruction, which has none.

use std::collections::BTreeMap;

use crate::instructions::{Instruction, Leads, padding};
use crate::opcodes::{self, GOTO, GOTO_W};
use crate::reader::Put as _;

/// The most bytes of code that a method can have (JVMS 4.7.3).
pub(crate) const CODE_MAX: usize = 65_535;

/// Bytes of a `goto_w`.
const WIDE_LENGTH: usize = 5;

/// Insertions into a method's code, by the offset of its original instructions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Insertions {
    /// Runs once, at the beginning of the method; branches to the method's first instruction enter after it.
    pub(crate) head: Vec<u8>,
    /// Whoever reaches the instruction runs this first.
    pub(crate) before: BTreeMap<usize, Vec<u8>>,
    /// Runs when the instruction is over. Never behind one that leads elsewhere.
    pub(crate) after: BTreeMap<usize, Vec<u8>>,
}

/// No island lies in reach of the branch at this offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooFar(pub(crate) usize);

/// The written form of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    AsItWas,
    /// A `goto` as a `goto_w`.
    Wide,
    /// A conditional branch to the island of this number.
    ToIsland(usize),
}

/// A jump that carries on a branch which does not reach its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Island {
    /// Offset of the target, as it was read.
    pub(crate) target: usize,
    /// Where the island lies.
    pub(crate) at: usize,
    /// Number of the instruction it lies behind.
    host: usize,
}

/// Where everything lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    /// By offset: where what is inserted before the instruction begins. Inside of an instruction, that of the instruction.
    begins: Vec<usize>,
    /// By offset: where the instruction itself lies.
    own: Vec<usize>,
    forms: Vec<Form>,
    islands: Vec<Island>,
    /// Numbers of islands by the number of the instruction that they lie behind.
    hosted: BTreeMap<usize, Vec<usize>>,
}

impl Layout {
    /// Lays out `instructions`, which are all of the code. More than 65,535 bytes are placed, but nothing can be written of them.
    pub(crate) fn of(
        instructions: &[Instruction<'_>],
        inserted: &Insertions,
    ) -> Result<Self, TooFar> {
        let length = instructions.last().map_or(0, Instruction::end);
        let mut layout = Self {
            begins: vec![0; length + 1],
            own: vec![0; length + 1],
            forms: vec![Form::AsItWas; instructions.len()],
            islands: Vec::new(),
            hosted: BTreeMap::new(),
        };
        loop {
            layout.place(instructions, inserted);
            if layout.end() > CODE_MAX || !layout.lengthen(instructions)? {
                return Ok(layout);
            }
        }
    }

    fn place(&mut self, instructions: &[Instruction<'_>], inserted: &Insertions) {
        let length_of = |pieces: &BTreeMap<usize, Vec<u8>>, pc| pieces.get(&pc).map_or(0, Vec::len);
        let mut at = inserted.head.len();
        for (number, instruction) in instructions.iter().enumerate() {
            let pc = instruction.pc;
            self.begins[pc..instruction.end()].fill(at);
            at += length_of(&inserted.before, pc);
            self.own[pc..instruction.end()].fill(at);
            at += match (&instruction.leads, self.forms[number]) {
                (_, Form::Wide) => WIDE_LENGTH,
                (Leads::Switch(_), _) => instruction.bytes.len() - padding(pc) + padding(at),
                _ => instruction.bytes.len(),
            };
            at += length_of(&inserted.after, pc);
            for &island in self.hosted.get(&number).into_iter().flatten() {
                self.islands[island].at = at;
                at += WIDE_LENGTH;
            }
        }
        if let (Some(begins), Some(own)) = (self.begins.last_mut(), self.own.last_mut()) {
            (*begins, *own) = (at, at);
        }
    }

    /// Gives branches that do not reach their targets a longer form; false where all do.
    fn lengthen(&mut self, instructions: &[Instruction<'_>]) -> Result<bool, TooFar> {
        let mut changed = false;
        for (number, instruction) in instructions.iter().enumerate() {
            let Leads::To(target) = instruction.leads else {
                continue;
            };
            if instruction.opcode() == GOTO_W || self.forms[number] == Form::Wide {
                continue;
            }
            let to = match self.forms[number] {
                Form::ToIsland(island) => self.islands[island].at,
                _ => self.begins[target],
            };
            if in_reach(self.own[instruction.pc], to) {
                continue;
            }
            self.forms[number] = match self.forms[number] {
                Form::AsItWas if instruction.opcode() == GOTO => Form::Wide,
                Form::AsItWas => Form::ToIsland(self.island(instructions, number, target)?),
                _ => return Err(TooFar(instruction.pc)),
            };
            changed = true;
        }
        Ok(changed)
    }

    /// The island for a branch: an existing one that leads there, or a new one after the nearest instruction that
    /// never falls through.
    fn island(
        &mut self,
        instructions: &[Instruction<'_>],
        branch: usize,
        target: usize,
    ) -> Result<usize, TooFar> {
        let pc = instructions[branch].pc;
        // What is still to grow between the two has half of the reach.
        let near = |at: usize| at.abs_diff(self.own[pc]) < 0x4000;
        let shared = |island: &Island| {
            island.target == target && near(self.begins[instructions[island.host].end()])
        };
        if let Some(number) = self.islands.iter().position(shared) {
            return Ok(number);
        }
        let ends = |number: usize| self.begins[instructions[number].end()];
        let host = (0..instructions.len())
            .filter(|&number| {
                opcodes::ends_flow(instructions[number].opcode()) && near(ends(number))
            })
            .min_by_key(|&number| ends(number).abs_diff(self.own[pc]))
            .ok_or(TooFar(pc))?;
        let at = ends(host);
        self.hosted
            .entry(host)
            .or_default()
            .push(self.islands.len());
        self.islands.push(Island { target, at, host });
        Ok(self.islands.len() - 1)
    }

    /// Where what is inserted before the instruction at this offset begins. The length of the code gives its end.
    pub(crate) fn begins(&self, pc: usize) -> Option<usize> {
        self.begins.get(pc).copied()
    }

    /// Where the instruction at this offset lies itself.
    pub(crate) fn own(&self, pc: usize) -> Option<usize> {
        self.own.get(pc).copied()
    }

    /// Bytes of all code.
    pub(crate) fn end(&self) -> usize {
        self.begins.last().copied().unwrap_or(0)
    }

    pub(crate) fn islands(&self) -> &[Island] {
        &self.islands
    }

    /// The code.
    pub(crate) fn write(&self, instructions: &[Instruction<'_>], inserted: &Insertions) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.end());
        out.extend_from_slice(&inserted.head);
        for (number, instruction) in instructions.iter().enumerate() {
            let pc = instruction.pc;
            out.extend(inserted.before.get(&pc).into_iter().flatten());
            self.write_instruction(instruction, self.forms[number], &mut out);
            out.extend(inserted.after.get(&pc).into_iter().flatten());
            for &island in self.hosted.get(&number).into_iter().flatten() {
                let island = self.islands[island];
                out.push(GOTO_W);
                out.extend_from_slice(&offset(island.at, self.begins[island.target]).to_be_bytes());
            }
        }
        out
    }

    fn write_instruction(&self, instruction: &Instruction<'_>, form: Form, out: &mut Vec<u8>) {
        let here = self.own[instruction.pc];
        let to = |target: usize| offset(here, self.begins[target]);
        match &instruction.leads {
            Leads::Nowhere => out.extend_from_slice(instruction.bytes),
            Leads::To(target) => {
                let wide = form == Form::Wide || instruction.opcode() == GOTO_W;
                out.push(if wide { GOTO_W } else { instruction.opcode() });
                let offset = match form {
                    Form::ToIsland(island) => offset(here, self.islands[island].at),
                    _ => to(*target),
                };
                if wide {
                    out.extend_from_slice(&offset.to_be_bytes());
                } else {
                    out.extend_from_slice(&i16::try_from(offset).expect("in reach").to_be_bytes());
                }
            }
            Leads::Switch(switch) => {
                out.push(instruction.opcode());
                out.resize(out.len() + padding(here), 0);
                out.extend_from_slice(&to(switch.default).to_be_bytes());
                let count = i32::try_from(switch.cases.len()).expect("bounded by its reader");
                match switch.low {
                    Some(low) => {
                        out.extend_from_slice(&low.to_be_bytes());
                        out.extend_from_slice(&low.wrapping_add(count - 1).to_be_bytes());
                    }
                    None => out.put_u32(count.cast_unsigned()),
                }
                for &(key, target) in &switch.cases {
                    if switch.low.is_none() {
                        out.extend_from_slice(&key.to_be_bytes());
                    }
                    out.extend_from_slice(&to(target).to_be_bytes());
                }
            }
        }
    }
}

fn in_reach(from: usize, to: usize) -> bool {
    i16::try_from(offset(from, to)).is_ok()
}

/// A method's code has less than 2^31 bytes whatever is inserted.
fn offset(from: usize, to: usize) -> i32 {
    let of = |at: usize| i32::try_from(at).expect("code is short");
    of(to) - of(from)
}
