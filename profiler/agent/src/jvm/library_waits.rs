//! Waits in the C library, as the libraries of a Java program call it: below the native method that waits.
//!
//! Java's own libraries import `fdatasync`, `poll`, `read` and their like, and so do those of the program. The JVM's own code is left
//! alone: what it waits for, the JVM reports itself.

use crate::arena::Arena;
use crate::bindings::{self, Which};
use crate::{next, waits};

/// Records such waits from now on.
pub fn follow(arena: Arena) {
    next::look_up_first();
    waits::follow(arena);
    bind();
}

/// Binds functions that wait to ours, in what was loaded since, too.
pub fn bind() {
    bindings::bind(Which::JavaWaits);
}

/// Waits are not recorded any more. The C library's own functions are called again.
pub fn leave() {
    waits::switch::off();
    bindings::unbind();
}
