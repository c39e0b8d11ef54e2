//! The agent: what runs inside the target, preloaded by the session.
//!
//! ```text
//! loader   >  join       find the arena, announce this process' modules, wait to be wanted, register handlers
//! attach   >  attached   the same in a process that has long been running, called there from outside
//!             bound      whether the process belongs to a session, and was bound to ours by hand
//!             bindings   functions of the C library replaced by ours in loaded modules, which preloading did not do
//!             verdict    what the session says: wanted or not, over or not
//! a call   >  boundaries the call is one at which an interval begins or ends: the short way or the long one
//!             intervals  write markers, switch recording on and off
//!             labels     what the interval's class is made of
//!             sampling   whether it is one of those that are recorded
//!             waits      threads wait for and wake each other; annotations
//!             rings      the thread's ring
//!             plan       bring the code in line with the plan (evenkeel-patch does the work)
//!             modules    which files are mapped (loader: their list, and its lock)
//!             code_state which plan the code follows, whether it may still change, whether the session is over
//! confinement            the program gives up system calls, or may not be changed: the code stays as it is
//! next, interpose, replacement   the C library's functions, and ours in their place: how these are entered and left
//! signals, threads       breakpoints of ours, masks that would hide them; fork and the end of threads
//! unwinders              exceptions in programs that bring an unwinder of their own
//! calibrate              what a probe costs here
//! jvm                    the same for methods of Java, whose class files are rewritten
//! ```
//!
//! The agent adds no thread and no signal to the target: it polls the plan where intervals begin and before `fork`. A
//! process that the session does not want stays unchanged, with this library mapped and idle.

#[cfg_attr(target_arch = "x86_64", path = "x86_64/mod.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64/mod.rs")]
mod arch;
mod arena;
mod attached;
mod bindings;
mod bound;
mod boundaries;
mod calibrate;
mod code_state;
mod confinement;
mod dlsym;
mod errno;
mod interpose;
mod intervals;
mod join;
mod jvm;
mod labels;
mod libraries;
mod limits;
mod lines;
mod loader;
mod locked_memory;
mod locking;
mod maps;
mod masks;
mod modules;
mod next;
mod plan;
mod replacement;
mod rings;
mod sampling;
mod shared_thread;
mod signals;
mod stack_copies;
mod threads;
mod unwinders;
mod verdict;
mod waits;

/// Run by the loader before the target's own initialisers.
#[used]
#[unsafe(link_section = ".init_array")]
static INITIALISE: extern "C" fn() = {
    extern "C" fn initialise() {
        next::look_up_all();
        arch::longjmp::learn();
        join::join();
    }
    initialise
};
