//! A call of one of the agent's replacements of C library functions: the data for leaving it where an instruction of
//! the agent fails.
//!
//! | the instruction fails | the thread continues |
//! |---|---|
//! | before the C library's function is called | in that function, with the caller's arguments |
//! | after that function has returned | behind the call, with that function's result |
//! | while that function runs | nowhere: whether it has had its effect is unknown |
//!
//! The kept words lie on the stack of the call ([`crate::arch::replacement`]), and the thread's state leads to the innermost
//! ([`evenkeel_patch::Thread::replacement`]).

use core::cell::Cell;

use crate::next::Next;

/// Arguments that are kept: no function has more.
pub const ARGUMENTS_MAX: usize = 7;

/// Progress of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Progress {
    /// The C library's function is still to be called.
    Before = 0,
    /// It runs.
    Calling = 1,
    /// It has returned.
    Returned = 2,
}

/// A call in progress. The assembler of [`crate::arch::replacement`] pushes the words in this order, from the last.
#[repr(C)]
pub struct Call {
    /// The function's arguments; the unused ones have any value.
    pub arguments: [u64; ARGUMENTS_MAX],
    /// Its progress.
    pub progress: Cell<Progress>,
    /// The result of the C library's function.
    pub result: Cell<u64>,
    /// The call that the thread was in before.
    pub outer: u64,
    /// The C library's function.
    pub next: &'static Next,
}

impl Call {
    /// The argument at `index`.
    ///
    /// # Safety
    /// It is an integer, a pointer or a union of such, of this type.
    #[inline(always)]
    pub unsafe fn argument<T: Copy>(&self, index: usize) -> T {
        const { assert!(size_of::<T>() <= size_of::<u64>()) };
        // SAFETY: the caller's contract; the low bytes come first.
        unsafe { (&raw const self.arguments[index]).cast::<T>().read() }
    }

    /// Runs the C library's function.
    #[inline(always)]
    pub fn run<R: Copy>(&self, function: impl FnOnce() -> R) -> R {
        self.attempt(function, |_| true)
    }

    /// Runs a function of the C library that does the same without waiting, unless it cannot. If it `is_done`, its result is that of the call.
    #[inline(always)]
    pub fn attempt<R: Copy>(
        &self,
        function: impl FnOnce() -> R,
        is_done: impl FnOnce(R) -> bool,
    ) -> R {
        self.progress.set(Progress::Calling);
        let result = function();
        if is_done(result) {
            self.result.set(bits(result));
            self.progress.set(Progress::Returned);
        } else {
            self.progress.set(Progress::Before);
        }
        result
    }
}

/// The register that holds this result.
#[inline(always)]
fn bits<R: Copy>(result: R) -> u64 {
    const { assert!(size_of::<R>() <= size_of::<u64>()) };
    let mut word = 0;
    // SAFETY: room enough; results are integers and addresses.
    unsafe { (&raw mut word).cast::<R>().write(result) };
    word
}

/// Leaves the calls whose frames lie below `sp`: the thread jumps there.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
pub fn left_for(sp: u64) {
    let thread = evenkeel_patch::thread::current();
    while thread.replacement != 0 && thread.replacement < sp {
        // SAFETY: a call in progress, whose frame is still there.
        thread.replacement = unsafe { (*(thread.replacement as *const Call)).outer };
    }
}
