//! The functions that were active on a copy of a stack.

use std::io;
use std::path::PathBuf;

use framehop::{CacheNative, FrameAddress, MayAllocateDuringUnwind, Unwinder, UnwinderNative};

use crate::arch::registers;
use crate::files::{Loaded, Mapped, Part};
use crate::process;
use crate::tracer::Memory;

/// Frames that are looked at; what lies further out is left alone.
const FRAMES_MAX: usize = 64;
/// Distance from the return address into a trampoline of an agent to the address that it returns to itself.
pub(crate) const TRAMPOLINE_RETURN_AT: u64 = 256;

/// What is known of the code of a process, without stopping it.
pub struct Stacks {
    unwinder: UnwinderNative<Part, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    files: Vec<Mapped>,
    memory: Memory,
}

/// An address in a file.
#[derive(Clone, Debug)]
pub struct CodeAddress {
    /// The file.
    pub file: Loaded,
    /// The address as the file has it.
    pub address: u64,
}

impl Stacks {
    /// Reads what is needed of the files that the process has mapped now.
    ///
    /// # Errors
    /// It has ended, or may not be looked at.
    pub fn of(pid: i32) -> io::Result<Stacks> {
        let files = Mapped::all(pid, &process::mappings(pid)?);
        Ok(Stacks::over(files, Memory::to_read(pid)?))
    }

    /// Over these files, of a process with this memory.
    pub(crate) fn over(files: Vec<Mapped>, memory: Memory) -> Stacks {
        let mut unwinder = UnwinderNative::new();
        for module in files.iter().filter_map(Mapped::unwind_module) {
            unwinder.add_module(module);
        }
        Stacks {
            unwinder,
            cache: CacheNative::new(),
            files,
            memory,
        }
    }

    /// Where the calls were made that are active on a stack of which `words` are a copy, innermost first, as far as they can be
    /// followed. `registers`: instruction pointer, stack pointer (the address of the first word) and frame pointer.
    pub fn calls(&mut self, [pc, sp, fp]: [u64; 3], words: &[u64]) -> Vec<CodeAddress> {
        let mut state = registers::unwind_from(pc, sp, fp);
        let mut address = FrameAddress::InstructionPointer(pc);
        let mut calls = Vec::new();
        let mut read = |at: u64| {
            let index = at.checked_sub(sp).ok_or(())? / 8;
            words.get(index as usize).copied().ok_or(())
        };
        while calls.len() < FRAMES_MAX {
            let Some((file, at)) = self.locate(address) else {
                break;
            };
            calls.push(CodeAddress {
                file: Loaded {
                    path: PathBuf::from(&file.path),
                    build_id: file.build_id(),
                },
                address: at.address_for_lookup().wrapping_sub(file.bias),
            });
            let next = self
                .unwinder
                .unwind_frame(at, &mut state, &mut self.cache, &mut read);
            let next = next.ok().flatten();
            match next.and_then(FrameAddress::from_return_address) {
                Some(next) => address = next,
                None => break,
            }
        }
        calls
    }

    /// The file of a frame; where a trampoline of an agent stands in for the caller, the caller's.
    fn locate(&self, mut address: FrameAddress) -> Option<(&Mapped, FrameAddress)> {
        for _ in 0..=4 {
            let at = address.address_for_lookup();
            if let Some(file) = self.files.iter().find(|file| file.range.contains(&at)) {
                return Some((file, address));
            }
            let next = self.memory.word(address.address() + TRAMPOLINE_RETURN_AT);
            address = FrameAddress::from_return_address(next.ok()?)?;
        }
        None
    }
}
