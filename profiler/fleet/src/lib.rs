//! Questions to the tables of many recordings, answered by an SQL engine that is part of this program.
//!
//! ```text
//! tables     a directory of tables, checked and opened
//! questions  the files of sql/, and how their answers are shown
//! answer     rows of an answer, and those as JSON
//! terminal   rows as a table
//! error      what can be wrong, and what to do
//! ```
//!
//! The engine is DataFusion. Nothing here computes a profile: the questions are plain SQL, which other engines answer with the same
//! numbers.

pub mod answer;
pub mod error;
pub mod questions;
pub mod tables;
pub mod terminal;
