//! Linking of the agent.
//!
//! Its build id distinguishes it from older ones, which not every linker writes unasked.
//!
//! Binds the agent's references to its own definitions (`-Bsymbolic`), whatever else defines functions of these
//! names. The agent replaces functions of the C library. Where it is loaded after the C library (`evenkeel attach`),
//! the loader would otherwise bind its references to that one. Without a version they would be the oldest functions,
//! whose condition variables have another layout.
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
