//! Critical paths with answers worked out by hand, one situation a file, and properties of random streams of several
//! threads.

mod attributes;
mod chains;
mod holders;
mod locks;
mod moving;
mod random;
mod states;
pub mod streams;
mod views;
