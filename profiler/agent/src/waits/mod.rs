//! Waits between threads: who waited for what, and who let it go on (`evenkeel_wire::waits` is the vocabulary).
//!
//! ```text
//! switch      on or off; the table of waiters                 one load where waits are off
//! waiting     announce a wait, record it when it is over
//! releasing   look whether somebody waits, record before releasing
//! groups      markers and what belongs to them, into the thread's ring
//! objects     keys: what is the same object, also in another process
//!   memory      which file an address belongs to
//!   descriptors   what a file descriptor leads to (`descriptor`, `fdinfo`); `sockets` the other end of a connection
//!   registered    which descriptor an event of epoll_wait is of
//! mutexes rwlocks conditions c11 semaphores barriers spins futexes     what waits: one file a kind,
//! creation children signalling descriptor_io polls queues          each with the C library's functions it stands before
//! sleeps files
//! annotations   include/evenkeel.h
//! named         functions that the user named
//! ```
//!
//! **Not seen** are: the C library's calls of its own functions (standard I/O, C11 threads, resolvers), system calls
//! that bypass it, writers that wait for room by `epoll`, and signals to process groups. Such waits are recorded
//! where they block in a function above, with an unknown waker; the kernel's wake-ups show it where the session may
//! read those. Two kinds of waits may lack their wake. One is a wait on a spin lock that begins in the nanoseconds of
//! its release. The other is a wait that is in progress when recording begins ([`evenkeel_wire::Mode::Count`]).
//!
//! A wrapper first tries to do without waiting, and writes nothing if that succeeds. Nothing here allocates or takes a
//! lock of the C library, and `errno` is as the C library left it.

pub mod annotations;
mod barriers;
mod c11;
mod children;
mod conditions;
pub mod creation;
mod descriptor;
mod descriptor_io;
mod descriptors;
mod fdinfo;
mod files;
pub mod futexes;
pub mod groups;
mod memory;
mod mix;
mod mutexes;
pub mod named;
pub mod objects;
mod polls;
mod queues;
mod registered;
mod releasing;
mod rwlocks;
mod semaphores;
mod signalling;
mod sleeps;
mod sockets;
mod spins;
pub mod switch;
pub mod waiting;

pub use switch::recording;

/// Records waits from now on, if the session wants them.
pub fn follow(arena: crate::arena::Arena) {
    objects::renew_salt();
    descriptors::forget_all();
    registered::forget_all();
    switch::follow(arena);
}
