//! Critical paths end to end: what blocks an interval, and who, in programs whose answer is planted. The answers are worked
//! out in the comment at the head of each program.

mod support;

#[path = "waits/answers.rs"]
mod answers;
#[path = "programs/expect.rs"]
#[allow(dead_code)] // only what is asked of a tree
mod expect;
#[path = "waits/moving.rs"]
mod moving;
#[path = "waits/planted.rs"]
mod planted;
#[path = "waits/refined.rs"]
mod refined;
#[path = "waits/running.rs"]
mod running;
