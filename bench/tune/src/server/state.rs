//! A setting as the server has it.

use crate::knobs::Needs;

/// What a server says of one of its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Its value.
    pub value: String,
    /// What the server's own configuration, which is changed, says of it.
    pub kept: Option<String>,
    /// What a change needs.
    pub needs: Needs,
    /// Why it cannot be changed, where it cannot.
    pub fixed: Option<String>,
}
