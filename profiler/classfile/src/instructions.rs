//! Code as instructions: where each begins, and where it leads.

use crate::error::Error;
use crate::opcodes::{self, GOTO, GOTO_W, IINC, JSR, JSR_W, LOOKUPSWITCH, TABLESWITCH, WIDE};
use crate::reader::Reader;

const WHAT: &str = "code";

/// An instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instruction<'a> {
    /// Offset in the code.
    pub(crate) pc: usize,
    /// The opcode and its operands.
    pub(crate) bytes: &'a [u8],
    pub(crate) leads: Leads,
}

/// Targets in an instruction's operands. All are offsets in the code at which an instruction begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Leads {
    /// To the next instruction, or out of the method.
    Nowhere,
    /// A branch, a `goto` or a `jsr`.
    To(usize),
    Switch(Switch),
}

/// A `tableswitch` or `lookupswitch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Switch {
    pub(crate) default: usize,
    /// The lowest key of a table; a lookup has its keys with the targets.
    pub(crate) low: Option<i32>,
    /// Keys, which a table numbers from the lowest one on, and targets.
    pub(crate) cases: Vec<(i32, usize)>,
}

impl Instruction<'_> {
    pub(crate) fn opcode(&self) -> u8 {
        self.bytes[0]
    }

    /// Offset of what follows.
    pub(crate) fn end(&self) -> usize {
        self.pc + self.bytes.len()
    }

    /// The constant that the instruction names: for those that have an index of two bytes.
    pub(crate) fn constant(&self) -> u16 {
        u16::from_be_bytes([self.bytes[1], self.bytes[2]])
    }

    /// The local variable that is stored to, if this is a store: `istore` to `astore_3`, also behind `wide`.
    pub(crate) fn stores_to(&self) -> Option<u16> {
        match *self.bytes {
            [54..=58, index] => Some(index.into()),
            [opcode @ 59..=78] => Some(u16::from((opcode - 59) % 4)),
            [WIDE, 54..=58, high, low] => Some(u16::from_be_bytes([high, low])),
            _ => None,
        }
    }
}

/// Takes code apart.
///
/// # Errors
///
/// # Errors
/// An invalid instruction, one that is cut short, and a target where no instruction begins.
pub(crate) fn decode(code: &[u8]) -> Result<Vec<Instruction<'_>>, Error> {
    let mut instructions = Vec::with_capacity(code.len() / 2);
    let mut reader = Reader::new(code, WHAT);
    while reader.remaining() > 0 {
        let pc = reader.at();
        let opcode = reader.u8()?;
        let leads = match opcode {
            _ if opcodes::is_conditional(opcode) || matches!(opcode, GOTO | JSR) => {
                Leads::To(target(pc, reader.i16()?.into())?)
            }
            GOTO_W | JSR_W => Leads::To(target(pc, reader.i32()?)?),
            TABLESWITCH | LOOKUPSWITCH => Leads::Switch(switch(&mut reader, pc, opcode)?),
            WIDE => {
                let widened = reader.u8()?;
                reader.take(if widened == IINC { 4 } else { 2 })?;
                Leads::Nowhere
            }
            _ => {
                let length = opcodes::length(opcode).ok_or_else(|| reader.malformed())?;
                reader.take(length - 1)?;
                Leads::Nowhere
            }
        };
        instructions.push(Instruction {
            pc,
            bytes: &code[pc..reader.at()],
            leads,
        });
    }
    check_targets(&instructions, code.len())?;
    Ok(instructions)
}

fn target(pc: usize, offset: i32) -> Result<usize, Error> {
    let malformed = Error::Malformed { what: WHAT, at: pc };
    let offset = isize::try_from(offset).map_err(|_| malformed.clone())?;
    pc.checked_add_signed(offset).ok_or(malformed)
}

fn switch(reader: &mut Reader<'_>, pc: usize, opcode: u8) -> Result<Switch, Error> {
    reader.take(padding(pc))?;
    let default = target(pc, reader.i32()?)?;
    let (low, count) = if opcode == TABLESWITCH {
        let (low, high) = (reader.i32()?, reader.i32()?);
        (Some(low), i64::from(high) - i64::from(low) + 1)
    } else {
        (None, i64::from(reader.i32()?))
    };
    let bytes_a_case = if low.is_some() { 4 } else { 8 };
    let count = usize::try_from(count).map_err(|_| reader.malformed())?;
    if count > reader.remaining() / bytes_a_case {
        return Err(reader.malformed());
    }
    let mut cases = Vec::with_capacity(count);
    for nth in 0..count {
        let key = match low {
            // In range: the highest key is a number of 32 bits, too.
            Some(low) => low.wrapping_add(i32::try_from(nth).map_err(|_| reader.malformed())?),
            None => reader.i32()?,
        };
        cases.push((key, target(pc, reader.i32()?)?));
    }
    Ok(Switch {
        default,
        low,
        cases,
    })
}

/// Zeros between a switch's opcode and its operands, which begin at a multiple of four.
pub(crate) fn padding(pc: usize) -> usize {
    3 - pc % 4
}

fn check_targets(instructions: &[Instruction<'_>], length: usize) -> Result<(), Error> {
    let mut begins = vec![false; length];
    for instruction in instructions {
        begins[instruction.pc] = true;
    }
    for instruction in instructions {
        let fine = |target: usize| begins.get(target) == Some(&true);
        let all_fine = match &instruction.leads {
            Leads::Nowhere => true,
            Leads::To(target) => fine(*target),
            Leads::Switch(switch) => {
                fine(switch.default) && switch.cases.iter().all(|&(_, target)| fine(target))
            }
        };
        if !all_fine {
            return Err(Error::Malformed {
                what: WHAT,
                at: instruction.pc,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Instruction, Leads, Switch, decode};
    use crate::error::Error;

    #[test]
    fn switches_are_padded_to_a_multiple_of_four() {
        // nop; tableswitch 5..=6 with default 25, 5 to 25, 6 to 24; nop; return
        let table = [
            0, 170, 0, 0, 0, 0, 0, 24, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 24, 0, 0, 0, 23, 0, 177,
        ];
        let decoded = decode(&table).unwrap();
        let switch = Switch {
            default: 25,
            low: Some(5),
            cases: vec![(5, 25), (6, 24)],
        };
        assert_eq!(
            decoded[1],
            Instruction {
                pc: 1,
                bytes: &table[1..24],
                leads: Leads::Switch(switch)
            }
        );
        // lookupswitch with one key, -1
        let lookup = [
            171, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 1, 255, 255, 255, 255, 0, 0, 0, 20, 177,
        ];
        let switch = Switch {
            default: 20,
            low: None,
            cases: vec![(-1, 20)],
        };
        assert_eq!(decode(&lookup).unwrap()[0].leads, Leads::Switch(switch));
    }

    #[test]
    fn a_branch_into_an_instruction_is_an_error() {
        // sipush 0; goto 1
        let code = [17, 0, 0, 167, 0xff, 0xfe];
        assert_eq!(
            decode(&code),
            Err(Error::Malformed {
                what: "code",
                at: 3
            })
        );
        // goto -3
        assert_eq!(
            decode(&[167, 0xff, 0xfd]),
            Err(Error::Malformed {
                what: "code",
                at: 0
            })
        );
    }

    #[test]
    fn cut_short_instructions_and_unknown_opcodes_are_errors() {
        assert_eq!(
            decode(&[17, 0]),
            Err(Error::CutShort {
                what: "code",
                at: 2
            })
        );
        assert_eq!(
            decode(&[0, 203]),
            Err(Error::Malformed {
                what: "code",
                at: 1
            })
        );
        // a table of 2^31 cases
        let table = [170, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 255, 255, 255];
        assert!(decode(&table).is_err());
    }

    #[test]
    fn stores_are_known_by_their_local() {
        let code = [54, 9, 59, 75, 78, 196, 58, 1, 2, 21, 3];
        let stores: Vec<_> = decode(&code)
            .unwrap()
            .iter()
            .map(Instruction::stores_to)
            .collect();
        assert_eq!(
            stores,
            [Some(9), Some(0), Some(0), Some(3), Some(258), None]
        );
    }
}
