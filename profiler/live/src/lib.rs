//! A profile on the whole screen, followed while it is made.
//!
//! [`View`] is what is shown and where the reader is in it; profiles, messages and keys change it, and [`View::draw`] draws it into a
//! buffer. It knows no terminal and no clock, so that tests draw it, too. [`Screen`] is the terminal: it draws views, and reads keys.
//!
//! ```text
//! view      what is shown; what keys do
//! history   percentiles and shares over the last minutes
//! tree      the variance tree as rows that open and close
//! draw/     a file a pane, and the frame around them
//! screen    the terminal
//! ```

mod draw;
mod history;
mod screen;
mod tree;
mod view;

pub use screen::Screen;
pub use view::{Action, Key, Pane, View};
