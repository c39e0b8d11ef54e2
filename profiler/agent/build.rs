//! How the agent is linked.
//!
//! Its build id distinguishes it from older ones, which not every linker writes unasked.
//!
//! Its own functions are those that it defines (`-Bsymbolic`), whoever else defines functions of these names. It replaces functions of
//! the C library, and where it is loaded after that (`evenkeel attach`) the loader would take its references to them for the C library's:
//! without a version, hence for the oldest ones, whose condition variables have another layout.
//!
//! It registers its trampolines with the unwinder of the target, which is libgcc's. Linkers that bring an unwinder of their own, as
//! zig does, are given that library's file in EVENKEEL_LIBGCC.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=EVENKEEL_LIBGCC");
    println!("cargo::rustc-cdylib-link-arg=-Wl,--build-id=sha1");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    if let Ok(library) = std::env::var("EVENKEEL_LIBGCC") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--allow-shlib-undefined");
        println!("cargo::rustc-cdylib-link-arg={library}");
    }
}
