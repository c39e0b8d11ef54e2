//! JSON with the design's field names: the model carries them, so serialising it is all there is, once its messages are in words.

use evenkeel_analysis::profile::Profile;
use serde::Serialize;

use crate::messages::in_words;

/// A profile, as [`render`].
pub fn profile(profile: &Profile) -> String {
    render(&in_words(profile))
}

/// A comparison, or whatever else is in words already, as indented JSON with a newline at its end.
///
/// A number that is not finite becomes `null`, as JSON has no other word for it.
///
/// # Panics
/// If a value refuses to be serialised, which none of this project's models does.
pub fn render(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("plain structures with text keys serialise") + "\n"
}
