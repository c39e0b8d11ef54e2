//! `null` in JSON, which protobuf and Go write where there is nothing.

use serde::{Deserialize, Deserializer};

/// A field's value, or its default where it is null, as in protobuf's mapping to JSON. Go writes empty lists as null,
/// too.
pub(super) fn or_default<'de, D, T>(value: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(value).map(Option::unwrap_or_default)
}
