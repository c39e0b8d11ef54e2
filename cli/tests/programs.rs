//! The known-answer programs under the profiler, end to end: what they print does not change, and their planted answer is
//! found. The answers are worked out in the comment at the head of each program.

mod support;

#[path = "programs/answers.rs"]
mod answers;
#[path = "programs/expect.rs"]
mod expect;
#[path = "programs/unharmed.rs"]
mod unharmed;
