//! The functions that are active on a thread: on a copy of its stack, or on the stack of one that is blocked.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;

use framehop::{
    CacheNative, FrameAddress, MayAllocateDuringUnwind, UnwindRegsNative, Unwinder, UnwinderNative,
};

use crate::arch::registers;
use crate::files::{Loaded, Mapped, Part};
use crate::process::{self, Mapping, is_agent};
use crate::tracer::Memory;

/// Frames that are looked at; what lies further out is left alone.
const FRAMES_MAX: usize = 128;
/// Distance from the return address into a trampoline of an agent to the address that it returns to itself.
pub(crate) const TRAMPOLINE_RETURN_AT: u64 = 256;
/// Number of programs whose code is cached.
const PROGRAMS_MAX: usize = 16;
/// Words of the stack that are looked through for the frame of a function that keeps a frame pointer.
const SEARCHED_WORDS: usize = 512;
/// Places on the stack that are tried as that frame.
const FRAMES_TRIED: usize = 64;
/// Exported symbols that are looked at for one that contains an address.
const NESTED_MAX: usize = 16;
/// Largest plausible distance of the next frame, in bytes.
const FRAME_BYTES_MAX: u64 = 1 << 20;

/// The code of the programs that processes run. Processes that have mapped the same files at the same addresses, as those that
/// were forked from one, share theirs.
#[derive(Default)]
pub struct Programs {
    programs: HashMap<Vec<Mapping>, Rc<RefCell<Code>>>,
}

/// Knowledge about the code of a process, without stopping it.
pub struct Stacks {
    code: Rc<RefCell<Code>>,
    memory: Memory,
}

/// The code of a program.
pub(crate) struct Code {
    unwinder: UnwinderNative<Part, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    files: Vec<Rc<CodeFile>>,
}

/// A file that a process has mapped.
pub struct CodeFile {
    /// Which it is.
    pub loaded: Loaded,
    mapped: Mapped,
    text: Option<(Range<u64>, Part)>,
}

/// An address in a file.
#[derive(Clone)]
pub struct CodeAddress {
    /// The file.
    pub file: Rc<CodeFile>,
    /// The address as the file has it.
    pub address: u64,
}

/// A return address that a hook keeps for a call in flight: on the stack stands the trampoline's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptReturn {
    /// The stack's slot.
    pub slot: u64,
    /// The word there: the trampoline's own return address.
    pub after: u64,
    /// Where the call returns to.
    pub returns_to: u64,
}

/// Where a thread stood, with a copy of its stack.
#[derive(Clone, Debug, Default)]
pub struct StackWords<'a> {
    /// Instruction pointer, stack pointer (the address of the first word) and frame pointer; 0 for one that is not known.
    pub registers: [u64; 3],
    /// From the stack pointer upwards.
    pub words: &'a [u64],
    /// Return addresses that hooks keep, newest last.
    pub kept: &'a [KeptReturn],
    /// The stack's slots of other hooked calls in flight: their trampolines know where they return to.
    pub slots: &'a [u64],
}

/// The calls that are active on a stack.
#[derive(Clone, Default)]
pub struct Calls {
    /// Where they were made, innermost first, as far as they can be followed.
    pub calls: Vec<CodeAddress>,
    /// Indices of calls that have led into code of no file that is known, as a program generates it. The hook around it
    /// shows the way on.
    pub into_unknown: Vec<usize>,
    /// Index of the call that made the outermost call whose hook keeps the return address.
    pub into_hook: Option<usize>,
    /// They end in code of no file that is known: the process may have loaded more since.
    pub ends_in_unknown: bool,
}

/// What code of no file means on a way.
#[derive(Clone, Copy)]
enum Unknown {
    /// A program may have generated it: the way continues where the innermost hook around it returns to.
    IsPassed,
    /// The way is wrong, or not known further.
    IsEnd,
}

/// A way from a frame outwards.
#[derive(Default)]
struct Way {
    calls: Calls,
    /// Return addresses of hooks that it has passed.
    kept: usize,
    /// It has come to the end of the stack.
    is_whole: bool,
    /// The frame whose caller was not found.
    last: Option<(FrameAddress, UnwindRegsNative)>,
}

impl Way {
    /// The larger, the more likely it is right.
    fn rank(&self) -> (usize, bool, usize) {
        (self.kept, self.is_whole, self.calls.calls.len())
    }
}

impl Programs {
    /// Reads what is needed of the files that the process has mapped now.
    ///
    /// # Errors
    /// It has ended, or may not be looked at.
    pub fn stacks_of(&mut self, pid: i32) -> io::Result<Stacks> {
        let mappings = process::mappings(pid)?;
        let is_code = |mapping: &&Mapping| mapping.executable && mapping.path.starts_with('/');
        let code: Vec<Mapping> = mappings.iter().filter(is_code).cloned().collect();
        let memory = Memory::to_read(pid)?;
        if self.programs.len() >= PROGRAMS_MAX && !self.programs.contains_key(&code) {
            self.programs.clear();
        }
        let code = self.programs.entry(code);
        let read = || {
            let mut files = Mapped::all(pid, &mappings);
            files.extend(Mapped::of_kernel(&mappings, &memory));
            Code::over(files)
        };
        let code = code.or_insert_with(|| Rc::new(RefCell::new(read())));
        Ok(Stacks {
            code: code.clone(),
            memory,
        })
    }
}

impl Stacks {
    /// Copies words of the process' memory, as many as there are from `address` on, up to the length of `into`; how many.
    pub fn copy_words(&self, address: u64, into: &mut [u64]) -> usize {
        const PAGE: u64 = 4096;
        // A page at a time: beyond the stack's end nothing is mapped.
        let mut copied = 0;
        while copied < into.len() {
            let Some(from) = address.checked_add(8 * copied as u64) else {
                break; // the target may say anything
            };
            let to_page_end = (PAGE - from % PAGE) / 8;
            let words = (into.len() - copied).min(to_page_end.max(1) as usize);
            let mut bytes = vec![0; 8 * words];
            if self.memory.read(from, &mut bytes).is_err() {
                break;
            }
            for (word, bytes) in into[copied..].iter_mut().zip(bytes.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            copied += words;
        }
        copied
    }

    /// The calls that are active on a stack.
    pub fn calls(&self, stack: &StackWords<'_>) -> Calls {
        self.code.borrow_mut().calls(stack, &self.memory)
    }
}

impl Code {
    /// Over these files.
    pub(crate) fn over(files: Vec<Mapped>) -> Code {
        let mut unwinder = UnwinderNative::new();
        for module in files.iter().filter_map(Mapped::unwind_module) {
            unwinder.add_module(module);
        }
        let files = files.into_iter().map(|mapped| {
            Rc::new(CodeFile {
                loaded: Loaded {
                    path: PathBuf::from(&mapped.path),
                    build_id: mapped.build_id(),
                },
                text: mapped.text(),
                mapped,
            })
        });
        Code {
            unwinder,
            cache: CacheNative::new(),
            files: files.collect(),
        }
    }

    /// The calls that are active on a stack of a process with this memory.
    pub(crate) fn calls(&mut self, stack: &StackWords<'_>, memory: &Memory) -> Calls {
        let [pc, sp, fp] = stack.registers;
        let from = registers::unwind_from(pc, sp, fp);
        let begin = FrameAddress::InstructionPointer(pc);
        let mut way = self.follow(begin, from, stack, memory, Unknown::IsPassed);
        if let Some((at, state)) = way.last
            && (fp == 0 || !way.calls.into_unknown.is_empty())
            && registers::frame_pointer(&state) == 0
            && let Some(rest) = self.guess(at, &state, stack, memory)
        {
            way.calls.calls.pop();
            let into_hook = rest.calls.into_hook.map(|at| way.calls.calls.len() + at);
            way.calls.into_hook = into_hook.or(way.calls.into_hook);
            way.calls.calls.extend(rest.calls.calls);
            way.calls.ends_in_unknown = rest.calls.ends_in_unknown;
        }
        way.calls
    }

    /// Follows a stack from a frame outwards.
    fn follow(
        &mut self,
        mut address: FrameAddress,
        mut state: UnwindRegsNative,
        stack: &StackWords<'_>,
        memory: &Memory,
        unknown: Unknown,
    ) -> Way {
        let mut way = Way::default();
        while way.calls.calls.len() < FRAMES_MAX {
            let kept = way.kept;
            let located = self.locate(address, &state, stack, memory, &mut way.kept);
            if way.kept > kept {
                way.calls.into_hook = Some(way.calls.calls.len());
            }
            let Some((file, at)) = located else {
                let passed = match unknown {
                    Unknown::IsPassed => self.hook_around(state.sp(), stack, memory),
                    Unknown::IsEnd => None,
                };
                let next = passed.and_then(|(slot, returns_to)| {
                    Some((slot, FrameAddress::from_return_address(returns_to)?))
                });
                if let Some((slot, next)) = next {
                    way.calls.into_unknown.push(way.calls.calls.len());
                    address = next;
                    state = registers::unwind_from(next.address(), slot + 8, 0);
                    continue;
                }
                way.calls.ends_in_unknown = true;
                break;
            };
            way.calls.calls.push(CodeAddress {
                file: self.files[file].clone(),
                address: at
                    .address_for_lookup()
                    .wrapping_sub(self.files[file].mapped.bias),
            });
            let before = state;
            let mut read = |at: u64| stack.word(at).ok_or(());
            let next = self
                .unwinder
                .unwind_frame(at, &mut state, &mut self.cache, &mut read);
            match next.map(|next| next.and_then(FrameAddress::from_return_address)) {
                Ok(Some(next)) => address = next,
                last => {
                    // A frame pointer of 0 is the end, too, for the unwinder.
                    way.is_whole = last.is_ok();
                    way.last = Some((at, before));
                    break;
                }
            }
        }
        way
    }

    /// The way out of a function that keeps a frame pointer, which the kernel does not show. What looks like its frame may
    /// be left from earlier calls. The first way is taken that passes all hooks and comes to the end. Otherwise it is the
    /// best way that passes some.
    fn guess(
        &mut self,
        at: FrameAddress,
        state: &UnwindRegsNative,
        stack: &StackWords<'_>,
        memory: &Memory,
    ) -> Option<Way> {
        let sp = state.sp();
        let is_ahead = |kept: &&KeptReturn| kept.slot >= sp && stack.word(kept.slot).is_some();
        let hooks = stack.kept.iter().filter(is_ahead).count();
        let mut best: Option<Way> = None;
        for fp in self.frame_pointers(sp, stack, memory) {
            let from = registers::unwind_from(at.address(), sp, fp);
            let way = self.follow(at, from, stack, memory, Unknown::IsEnd);
            if way.is_whole && way.kept == hooks {
                return Some(way);
            }
            if best.as_ref().is_none_or(|best| best.rank() < way.rank()) {
                best = Some(way);
            }
        }
        // A way that misses all hooks on this stack is certainly wrong.
        best.filter(|way| way.kept > 0 || hooks == 0)
    }

    /// The file of a frame; the caller's file if an agent's trampoline replaces the caller.
    fn locate(
        &self,
        mut address: FrameAddress,
        state: &UnwindRegsNative,
        stack: &StackWords<'_>,
        memory: &Memory,
        kept_returns: &mut usize,
    ) -> Option<(usize, FrameAddress)> {
        for _ in 0..=4 {
            let at = address.address_for_lookup();
            if let Some(file) = self.file_at(at) {
                return Some((file, address));
            }
            let after = address.address();
            // The slot of the call that returns here lies just below the stack pointer of the caller.
            let slot = state.sp().wrapping_sub(8);
            let mut kept = stack.kept.iter().rev();
            let kept = kept.find(|kept| kept.slot == slot && kept.after == after);
            let next = match kept {
                Some(kept) => {
                    *kept_returns += 1;
                    kept.returns_to
                }
                None => memory.word(after.wrapping_add(TRAMPOLINE_RETURN_AT)).ok()?,
            };
            address = FrameAddress::from_return_address(next)?;
        }
        None
    }

    /// The innermost hooked call further out than this stack pointer, on this stack: its slot, and where it returns to.
    fn hook_around(&self, sp: u64, stack: &StackWords<'_>, memory: &Memory) -> Option<(u64, u64)> {
        let kept = stack.kept.iter();
        let kept = kept.filter(|kept| kept.slot >= sp && stack.word(kept.slot) == Some(kept.after));
        let by_trampoline = |&slot: &u64| {
            let after = stack.word(slot).filter(|_| slot >= sp)?;
            let returns_to = memory.word(after.wrapping_add(TRAMPOLINE_RETURN_AT)).ok()?;
            let is_call = self.follows_call(returns_to, memory);
            is_call.then_some((slot, returns_to))
        };
        let hooks = kept.map(|kept| (kept.slot, kept.returns_to));
        let hooks = hooks.chain(stack.slots.iter().filter_map(by_trampoline));
        hooks.min_by_key(|&(slot, _)| slot)
    }

    fn file_at(&self, address: u64) -> Option<usize> {
        self.files
            .iter()
            .position(|file| file.mapped.range.contains(&address))
    }

    /// What may be the frame pointer of a function that has one: places above `sp` that look like its frame, innermost first.
    /// Such a frame has the frame pointer of its caller, further out, followed by a return address (System V ABI 3.2.2).
    fn frame_pointers(&self, sp: u64, stack: &StackWords<'_>, memory: &Memory) -> Vec<u64> {
        let [_, bottom, _] = stack.registers;
        let first = sp.checked_sub(bottom).map(|bytes| bytes as usize / 8);
        let words = first.and_then(|first| stack.words.get(first..));
        let words = words.unwrap_or_default();
        let pairs = words.windows(2).take(SEARCHED_WORDS).enumerate();
        let is_frame = |&(at, pair): &(usize, &[u64])| {
            let here = sp + 8 * at as u64;
            let is_above = pair[0] > here && pair[0] - here <= FRAME_BYTES_MAX && pair[0] % 8 == 0;
            is_above && self.is_return_address(pair[1], here + 8, stack, memory)
        };
        let frames = pairs.filter(is_frame).take(FRAMES_TRIED);
        frames.map(|(at, _)| sp + 8 * at as u64).collect()
    }

    /// Whether the word in a slot of the stack is the address after a call, or after the call of a trampoline that
    /// replaces one. Two leftovers of earlier calls are recognised. The return address of a trampoline may be kept for
    /// another slot, and the agent has returned before the target's code runs.
    fn is_return_address(
        &self,
        word: u64,
        slot: u64,
        stack: &StackWords<'_>,
        memory: &Memory,
    ) -> bool {
        let mut kept = stack
            .kept
            .iter()
            .filter(|kept| kept.after == word)
            .peekable();
        if kept.peek().is_some() {
            return !registers::RETURNS_BY_SLOT || kept.any(|kept| kept.slot == slot);
        }
        if self.file_at(word).is_some() {
            return self.follows_call(word, memory);
        }
        let returns_to = memory.word(word.wrapping_add(TRAMPOLINE_RETURN_AT));
        // Where the return address is kept, the word there is the rest of the hooked function.
        returns_to.is_ok_and(|returns_to| self.follows_call(returns_to, memory))
    }

    /// Whether code of the target before an address ends with a call, or did before a hook was written there.
    fn follows_call(&self, address: u64, memory: &Memory) -> bool {
        let Some(file) = self.file_at(address) else {
            return false;
        };
        let file = &self.files[file];
        let mut code = [0; registers::CALL_BYTES_MAX];
        let before = address - code.len() as u64;
        !is_agent(&file.loaded.path.to_string_lossy())
            && (file.code(before, &mut code) || memory.read(before, &mut code).is_ok())
            && registers::ends_with_call(&code)
    }
}

impl CodeFile {
    /// Copies code of the file from an address of the process on. False if it is not there.
    fn code(&self, address: u64, into: &mut [u8]) -> bool {
        let Some((range, text)) = &self.text else {
            return false;
        };
        let at = address
            .wrapping_sub(self.mapped.bias)
            .checked_sub(range.start);
        let code = at.and_then(|at| text.get(at as usize..)?.get(..into.len()));
        code.map(|code| into.copy_from_slice(code)).is_some()
    }
}

impl CodeAddress {
    /// The function there that the file exports: cheaper than to read all of its symbols.
    pub fn exported(&self) -> Option<&str> {
        let (exports, at) = (self.file.mapped.exports(), self.address);
        // Ranges may lie inside of each other; those that begin nearest come first.
        let end = exports.partition_point(|export| export.range.start <= at);
        let mut before = exports[..end].iter().rev().take(NESTED_MAX);
        let found = before.find(|export| export.range.contains(&at))?;
        Some(&found.name)
    }
}

impl StackWords<'_> {
    fn word(&self, at: u64) -> Option<u64> {
        let index = at.checked_sub(self.registers[1])? / 8;
        self.words.get(index as usize).copied()
    }
}
