//! Critical paths end to end: what blocks an interval, and who, in programs whose answer is planted. The answers are worked
//! out in the comment at the head of each program.

mod support;

#[path = "edges/answers.rs"]
mod answers;
#[path = "programs/expect.rs"]
#[allow(dead_code)] // only what is asked of a tree
mod expect;
#[path = "edges/moving.rs"]
mod moving;
#[path = "edges/planted.rs"]
mod planted;
#[path = "edges/refined.rs"]
mod refined;
#[path = "edges/running.rs"]
mod running;
