//! The frame descriptions of `.eh_frame`: function bounds that even a stripped file has.

use std::ops::Range;

use gimli::{BaseAddresses, CallFrameInstruction, CfaRule, EhFrame, LittleEndian, UnwindSection};
use object::{Object, ObjectSection};

use crate::arch::frame::{CALLED_OFFSET, STACK_POINTER};
use crate::load::Elf;

/// A frame description entry.
#[derive(Clone, Debug)]
pub(crate) struct FrameEntry {
    pub(crate) range: Range<u64>,
    /// The stack at its first instruction is that of a function just called. Otherwise it is a part of another
    /// function, to which that function jumps.
    pub(crate) begins_called: bool,
    /// Where the entry is in the section.
    offset: usize,
}

/// A parsed `.eh_frame` section.
pub(crate) struct Frames<'data> {
    section: EhFrame<gimli::EndianSlice<'data, LittleEndian>>,
    bases: BaseAddresses,
}

impl<'data> Frames<'data> {
    pub(crate) fn of(elf: &Elf<'data>) -> Option<Frames<'data>> {
        let section = elf.section_by_name(".eh_frame")?;
        let mut bases = BaseAddresses::default().set_eh_frame(section.address());
        if let Some(text) = elf.section_by_name(".text") {
            bases = bases.set_text(text.address());
        }
        if let Some(got) = elf.section_by_name(".got") {
            bases = bases.set_got(got.address());
        }
        let mut section = EhFrame::new(section.data().ok()?, LittleEndian);
        section.set_address_size(8);
        Some(Frames { section, bases })
    }

    /// All readable entries, ascending by address. Entries after a damaged one are lost, which is no error: symbols
    /// remain.
    pub(crate) fn all(&self) -> Vec<FrameEntry> {
        let mut frames = Vec::new();
        let mut entries = self.section.entries(&self.bases);
        while let Ok(Some(entry)) = entries.next() {
            let gimli::CieOrFde::Fde(partial) = entry else {
                continue;
            };
            let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else {
                continue;
            };
            let range = fde.initial_address()..fde.end_address();
            if !range.is_empty() {
                frames.push(FrameEntry {
                    range,
                    begins_called: self.begins_called(&fde),
                    offset: fde.offset(),
                });
            }
        }
        frames.sort_by_key(|frame| frame.range.start);
        frames
    }

    /// Whether nothing changes the rule of the canonical frame address (the stack pointer and [`CALLED_OFFSET`]) before the first
    /// instruction ends.
    fn begins_called<R: gimli::Reader<Offset = usize>>(
        &self,
        fde: &gimli::FrameDescriptionEntry<R>,
    ) -> bool
    where
        EhFrame<gimli::EndianSlice<'data, LittleEndian>>: UnwindSection<R>,
    {
        let mut instructions = fde.instructions(&self.section, &self.bases);
        while let Ok(Some(instruction)) = instructions.next() {
            match instruction {
                CallFrameInstruction::AdvanceLoc { .. } | CallFrameInstruction::SetLoc { .. } => {
                    return true;
                }
                CallFrameInstruction::DefCfa { register, offset } => {
                    return register == STACK_POINTER && offset == CALLED_OFFSET;
                }
                CallFrameInstruction::DefCfaOffset { offset } => return offset == CALLED_OFFSET,
                CallFrameInstruction::DefCfaRegister { register } => {
                    return register == STACK_POINTER;
                }
                CallFrameInstruction::DefCfaExpression { .. } => return false,
                _ => {}
            }
        }
        true
    }

    /// Whether the stack at `address`, inside `frame`, is that at the function's entry: a jump there can leave for
    /// another function.
    pub(crate) fn stack_is_as_called(&self, frame: &FrameEntry, address: u64) -> bool {
        let offset = gimli::EhFrameOffset(frame.offset);
        let fde = self
            .section
            .fde_from_offset(&self.bases, offset, EhFrame::cie_from_offset);
        let mut context = gimli::UnwindContext::new();
        let row = fde.and_then(|fde| {
            fde.unwind_info_for_address(&self.section, &self.bases, &mut context, address)
                .cloned()
        });
        let as_called = CfaRule::RegisterAndOffset {
            register: STACK_POINTER,
            offset: CALLED_OFFSET as i64,
        };
        row.is_ok_and(|row| *row.cfa() == as_called)
    }
}
