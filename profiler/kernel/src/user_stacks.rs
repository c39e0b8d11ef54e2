//! The stack of a thread that runs: samples with user registers and a copy of the stack, without stopping it (perf_event_open(2)).

use std::io;
use std::os::fd::OwnedFd;

use evenkeel_wire::arch::PERF_REGISTERS;
use perf_event_open_sys::bindings::{self, perf_event_attr};

use crate::events::open_event;
use crate::record::Fields;
use crate::ring::Ring;

/// Processor time between two samples.
pub const PERIOD_NS: u64 = 100_000;
/// Bytes of the stack in a sample, as of a blocked thread: MariaDB's statements that copy tables have 20 KB.
pub const STACK_BYTES: u32 = 32 << 10;
/// Pages of the buffer: it holds a sample.
const PAGES: usize = 16;

/// Samples of one thread, until this is dropped.
#[derive(Debug)]
pub struct UserStacks(Ring);

/// Where a thread was in its program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserStack {
    /// Instruction pointer, stack pointer and frame pointer.
    pub registers: [u64; 3],
    /// The stack, from the stack pointer upwards.
    pub words: Vec<u64>,
}

impl UserStacks {
    /// Begins to sample a thread, by the number that it has for this process.
    ///
    /// # Errors
    /// The system does not allow it, or the thread has ended.
    pub fn of_thread(tid: i32) -> io::Result<UserStacks> {
        // What the thread does in the kernel is sampled, too, where that may be seen.
        let event = open(tid, false).or_else(|_| open(tid, true))?;
        Ok(UserStacks(Ring::map(event, PAGES)?))
    }

    /// The newest sample, if there is one.
    pub fn newest(&mut self) -> Option<UserStack> {
        let mut newest = None;
        self.0.read(|kind, _, body| {
            if kind == bindings::PERF_RECORD_SAMPLE {
                newest = parse(body).or(newest.take());
            }
        });
        newest
    }
}

fn open(tid: i32, excludes_kernel: bool) -> io::Result<OwnedFd> {
    let mut attributes = perf_event_attr::default();
    attributes.size = size_of::<perf_event_attr>() as u32;
    attributes.type_ = bindings::PERF_TYPE_SOFTWARE;
    attributes.config = bindings::PERF_COUNT_SW_CPU_CLOCK as u64;
    attributes.__bindgen_anon_1.sample_period = PERIOD_NS;
    attributes.sample_type =
        bindings::PERF_SAMPLE_REGS_USER as u64 | bindings::PERF_SAMPLE_STACK_USER as u64;
    attributes.sample_regs_user = PERF_REGISTERS.iter().fold(0, |mask, bit| mask | 1 << bit);
    attributes.sample_stack_user = STACK_BYTES;
    attributes.set_exclude_kernel(excludes_kernel.into());
    open_event(&mut attributes, tid, -1)
}

/// A sample has the registers' format (u64; 0: no registers), each register in the order of its number, the stack's
/// length (u64), its bytes, and the number of valid bytes (u64).
fn parse(body: &[u8]) -> Option<UserStack> {
    let mut fields = Fields(body);
    if fields.u64()? == 0 {
        return None; // a thread of the kernel's
    }
    let mut order = PERF_REGISTERS;
    order.sort_unstable();
    let mut registers = [0; 3];
    for number in order {
        let at = PERF_REGISTERS.iter().position(|&other| other == number)?;
        registers[at] = fields.u64()?;
    }
    let len = fields.u64()? as usize;
    let bytes = fields.0.get(..len)?;
    let mut rest = Fields(&fields.0[len..]);
    let good = if len == 0 { 0 } else { rest.u64()? as usize };
    let words = bytes[..good.min(len)].as_chunks::<8>().0.iter();
    Some(UserStack {
        registers,
        words: words.map(|&word| u64::from_le_bytes(word)).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// A thread that runs in a loop is sampled there, on its own stack. If the system does not permit it, an error is
    /// returned.
    #[test]
    fn a_thread_that_runs_is_sampled() {
        use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
        static OVER: AtomicBool = AtomicBool::new(false);
        let (sender, receiver) = std::sync::mpsc::channel();
        let runner = std::thread::spawn(move || {
            let here = 0_u64;
            // SAFETY: no arguments.
            let tid = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
            sender.send((tid, &raw const here as u64)).unwrap();
            while !OVER.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        let (tid, here) = receiver.recv().unwrap();
        if let Ok(mut stacks) = UserStacks::of_thread(tid) {
            let sample = loop {
                match stacks.newest() {
                    Some(sample) => break sample,
                    None => std::thread::yield_now(),
                }
            };
            let [pc, sp, _] = sample.registers;
            assert!(pc != 0 && here.abs_diff(sp) < 1 << 16, "{sp:#x} {here:#x}");
            assert!(!sample.words.is_empty());
        }
        OVER.store(true, Relaxed);
        runner.join().unwrap();
    }

    /// Registers come in the order of their numbers; of a stack of 24 bytes 16 are good.
    #[test]
    fn a_sample_has_registers_and_the_stack() {
        let numbers = PERF_REGISTERS;
        let mut order = numbers;
        order.sort_unstable();
        let [a, b, c] = order.map(u64::from);
        let stack = parse(&sample(&[2, a, b, c, 24, 7, 8, 9, 16])).unwrap();
        assert_eq!(stack.registers, numbers.map(u64::from));
        assert_eq!(stack.words, [7, 8]);
        assert_eq!(parse(&sample(&[0, 0])), None, "no program");
        assert_eq!(parse(&sample(&[2, a, b, c, 24, 7])), None, "cut");
        let without = parse(&sample(&[2, a, b, c, 0])).unwrap();
        assert!(without.words.is_empty());
    }
}
