//! The known-answer programs under the profiler, end to end: what they print does not change, and their planted answer is
//! found. The answers are worked out in the comment at the head of each program.

mod support;

#[path = "programs/answers.rs"]
mod answers;
#[path = "programs/comparing.rs"]
mod comparing;
#[path = "programs/expect.rs"]
mod expect;
#[path = "programs/flow.rs"]
mod flow;
#[path = "programs/labels.rs"]
mod labels;
#[path = "programs/left.rs"]
mod left;
#[path = "programs/measure.rs"]
mod measure;
#[path = "programs/reached.rs"]
mod reached;
#[path = "programs/unharmed.rs"]
mod unharmed;
