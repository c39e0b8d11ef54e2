//! Redirecting calls of running code through trampolines, and back.
//!
//! A **call-site hook** replaces the target of one `call` by a trampoline that pops the return address, *calls* the
//! original target, records how long that took, puts the return address back and returns. The return predictor stays
//! balanced, stack arguments keep their place, and every general and vector register is as the caller and the callee
//! left it. An **entry hook** does the same from a jump at a function's first instruction.
//!
//! ```text
//! plan (wire)  >  Patcher        which probes to change, where trampolines lie
//!                   region       memory within two gigabytes of a module
//!                   trampoline   code of one hook                          (x86_64/)
//!                   flip         changing instructions under running threads (x86_64/)
//!                   trap         a thread met an instruction in change     (x86_64/)
//!                   unwind       exceptions through trampolines            (x86_64/)
//!                 thread         shadow stack and state of one thread
//! ```
//!
//! Nothing here allocates, takes a lock of the C library, or panics once it runs inside a target.

pub mod patcher;
pub mod region;
pub mod thread;
pub mod x86_64;

pub use patcher::{LoadedModule, Patcher, Plan};
pub use thread::{Frame, Thread};
