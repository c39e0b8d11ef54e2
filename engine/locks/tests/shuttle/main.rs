//! Model checks of the lock manager under randomised thread schedules: no two incompatible grants, no lost wake-up,
//! every cycle resolved, no grant leaked. Run with `cargo test -p evenkeel-locks --features shuttle --test shuttle`.
//!
//! A lost wake-up or an unresolved cycle leaves every thread blocked, which shuttle reports as a deadlock. A deadline
//! may pass at any moment (`src/sync/modelled.rs`).

mod races;
mod scripts;
#[path = "../validation/shadow.rs"]
mod shadow;
