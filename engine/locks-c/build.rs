//! The shared library is known to the loader by the name and interface version under which it is installed.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libevenkeel_locks.so.0");
}
