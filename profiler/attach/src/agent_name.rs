//! How processes name the agent among their mappings.

use crate::process;

/// Name of the memory that the agent lies in, as mappings show it.
pub(crate) const NAME: &str = "evenkeel-agent";
/// The agent's file, where it was preloaded.
const PRELOADED: &str = "libevenkeel_agent.so";

/// Whether a mapped file of this path is an agent, preloaded or handed over.
pub fn is_agent(path: &str) -> bool {
    let name = process::file_name(path);
    name == PRELOADED || name.strip_prefix("memfd:") == Some(NAME)
}
