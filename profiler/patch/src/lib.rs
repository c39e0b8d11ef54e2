//! Redirecting calls of running code through trampolines, and back.
//!
//! A **call-site hook** replaces the target of one `call` by a trampoline. It pops the return address, *calls* the
//! original target, records the duration, restores the return address and returns. The return predictor stays
//! balanced, stack arguments keep their place, and every general and vector register keeps the value of the caller
//! and the callee. An **entry hook** does the same from a jump at a function's first instruction.
//!
//! ```text
//! plan (wire)  >  Patcher        which probes to change, where trampolines lie; `changing` one site, `answering` who meets it
//!                   site         the states of a site, and what leads from one to another
//!                   region       memory within two gigabytes of a module
//!                   hook         the code of one probe
//!                   index        which probe a breakpoint belongs to
//!                   discovery    whom calls through pointers call
//!                   trap_budget  how often they are trapped for that
//!                   old_trampolines  trampolines of sessions that are over, for the next
//!                   trampoline   code of one hook                          (arch)
//!                   flip         changing instructions under running threads (arch)
//!                   trap         a thread met an instruction in change     (arch)
//!                   fault        an instruction of ours has failed         (arch)
//!                   unwind       exceptions through trampolines            (arch)
//!                 thread         state of one thread
//!                 shadow         its calls in flight, and the return addresses of those that were left
//!                 leaving        calls that do not return, and when they ended
//!                 code           who else executes it, and whether it can be written
//!                 writing        how it is written
//!                 kernel         system calls made inside hooked calls
//! ```
//!
//! The processor's part is in [`arch`]: a directory each, with the same files and the same interface.
//!
//! Nothing here allocates, takes a lock of the C library, or panics once it runs inside a target.

// Where no code is redirected, much of what trampolines need is unused.
#![cfg_attr(target_arch = "aarch64", allow(dead_code))]

#[cfg_attr(target_arch = "x86_64", path = "x86_64/mod.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64/mod.rs")]
pub mod arch;
mod code;
pub mod discovery;
mod frame;
mod hook;
mod index;
pub mod kernel;
mod leaving;
mod old_trampolines;
mod patcher;
mod plan;
pub mod region;
pub mod shadow;
mod site;
mod table;
pub mod thread;
pub mod trap_budget;
pub mod writing;

pub use frame::Frame;
pub use hook::LoadedModule;
pub use patcher::Patcher;
pub use plan::Plan;
pub use thread::Thread;

/// Whether an address lies in the trampoline of a hook.
pub fn is_in_hook(address: u64) -> bool {
    arch::unwind::find(address).is_some()
}
