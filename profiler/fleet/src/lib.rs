//! Questions to the tables of many recordings, answered by an SQL engine that is part of this program.
//!
//! ```text
//! place      where tables lie: a directory, or a bucket
//! s3         buckets, and what the environment says of them
//! refused    what a store says when it refuses, and what to do about it
//! files      the files of a table, checked
//! tables     tables, opened for questions
//! shared     what a query needs several times, computed once
//! held_rows  rows that are kept, and the memory that they take
//! questions  the files of sql/, and how their answers are shown
//! answer     rows of an answer, and those as JSON
//! overview   how many hosts, builds and intervals there are
//! reply      an answer with what it answers: as text, JSON and a page
//! progress   how far an answer is, in words
//! line       the line on a terminal that says it
//! memory     how much memory the engine may take
//! interrupt  Ctrl-C
//! terminal   rows as a table
//! error      what can be wrong, and what to do
//! ```
//!
//! The engine is DataFusion. Nothing here computes a profile: the questions are plain SQL, which other engines answer with the same
//! numbers.

pub mod answer;
pub mod error;
mod files;
pub mod interrupt;
mod held_rows;
pub mod line;
pub mod memory;
pub mod overview;
pub mod place;
pub mod progress;
pub mod questions;
mod refused;
pub mod reply;
mod s3;
mod shared;
pub mod tables;
pub mod terminal;
