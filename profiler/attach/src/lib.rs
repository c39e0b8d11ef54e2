//! Brings the agent into a running process, and calls it there.
//!
//! One thread of the process is stopped with ptrace(2) where it holds no lock of the C library. Its state is written
//! onto its stack as the kernel does for a signal handler. Then it calls functions of the C library that the process
//! has: `mmap` for a new stack, `recvmsg` for descriptors, `dlopen` for the agent. Afterwards it continues as if
//! nothing had happened. The other threads run all the time, so a lock that one of them holds is released.
//!
//! ```text
//! process     what /proc says: mappings, threads, masks, children      permission  why a process may not be attached to
//! namespace   numbers of processes in another pid namespace             mounting  its /proc
//! seccomp     what its filters of system calls let through
//! files       the ELF files that are mapped: symbols, unwind tables
//! tracer      one stopped thread
//! urgency     whoever stops a thread runs before all others
//! safe_point  is it safe to call functions here?                       (unwinds its stack)
//! loader_lock would the loader wait for ever?
//! shared_thread  does a thread use another one's thread-local memory?
//! standing    where a thread is blocked                               (without stopping it)
//! stacks      the functions that are active on a stack
//! visit       a stopped thread that calls functions, and goes on
//! handover    descriptors into the process
//! agent       the agent there: found, or loaded
//! jvm         a library in a Java virtual machine, loaded at its socket: without ptrace
//! arch        registers, frames of signals                             one directory an architecture
//! ```
//!
//! **If this process dies in the middle**, the thread finishes the called function and returns into the frame on its
//! stack. From there the kernel restores everything: registers, vector registers, signal mask. An interrupted system
//! call is made again; a time limit starts from the beginning. Only a call that the kernel had ended already
//! (`epoll_wait`) ends with EINTR.

mod agent;
#[cfg_attr(target_arch = "x86_64", path = "x86_64/mod.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64/mod.rs")]
mod arch;
mod descriptors;
mod error;
mod files;
mod handover;
pub mod jvm;
mod loader_lock;
mod mounting;
pub mod namespace;
mod opened;
mod permission;
pub mod process;
mod safe_point;
mod seccomp;
mod shared_thread;
mod stacks;
mod standing;
mod tracer;
mod urgency;
mod visit;

#[cfg(test)]
mod damaged;

pub use agent::{AgentFile, Injected, SEARCH_LIMIT, State, inject, poll, state};
pub use error::Refused;
pub use files::{Loaded, loaded};
pub use permission::check;
pub use process::is_agent;
pub use seccomp::system_calls;
pub use stacks::{Calls, CodeAddress, CodeFile, KeptReturn, Programs, StackWords, Stacks};
pub use standing::{Standing, standing};
pub use tracer::let_go;
