//! Keys as bytes that compare as the values do, and ranges of them.
//!
//! Each value begins with a tag, 0 for null and 1 otherwise, so that null sorts first. Then
//!
//! ```text
//! Int     8 bytes big endian, the sign bit flipped
//! Float   8 bytes big endian; negative: all bits flipped, otherwise the sign bit
//! Text    the bytes with 00 written as 00 FF, then 00 00
//! Bytes   as Text
//! ```
//! No encoding is a prefix of another of its type, so concatenations compare column by column.

use std::ops::Bound;

use crate::codec::Reader;
use crate::value::{ColumnType, Value};

const NULL_TAG: u8 = 0;
const VALUE_TAG: u8 = 1;
const SIGN_BIT: u64 = 1 << 63;

/// Appends `value` to `key`.
pub(crate) fn encode_value(value: &Value, key: &mut Vec<u8>) {
    if *value == Value::Null {
        key.push(NULL_TAG);
        return;
    }
    key.push(VALUE_TAG);
    match value {
        Value::Null => {}
        Value::Int(value) => key.extend_from_slice(&(*value as u64 ^ SIGN_BIT).to_be_bytes()),
        Value::Float(value) => key.extend_from_slice(&ordered_bits(*value).to_be_bytes()),
        Value::Text(value) => encode_bytes(value.as_bytes(), key),
        Value::Bytes(value) => encode_bytes(value, key),
    }
}

/// Bits that compare as unsigned integers in the order of [`f64::total_cmp`].
fn ordered_bits(value: f64) -> u64 {
    // -0.0 + 0.0 is 0.0: equal numbers must have equal keys.
    let bits = (value + 0.0).to_bits();
    if bits & SIGN_BIT != 0 {
        !bits
    } else {
        bits ^ SIGN_BIT
    }
}

fn encode_bytes(bytes: &[u8], key: &mut Vec<u8>) {
    for &byte in bytes {
        key.push(byte);
        if byte == 0 {
            key.push(0xFF);
        }
    }
    key.extend_from_slice(&[0, 0]);
}

/// Takes a value of type `kind` off the front of a key; `None` if it is malformed.
pub(crate) fn decode_value(key: &mut Reader<'_>, kind: ColumnType) -> Option<Value> {
    match key.u8()? {
        NULL_TAG => return Some(Value::Null),
        VALUE_TAG => {}
        _ => return None,
    }
    match kind {
        ColumnType::Int => Some(Value::Int((word(key)? ^ SIGN_BIT) as i64)),
        ColumnType::Float => {
            let ordered = word(key)?;
            let bits = if ordered & SIGN_BIT != 0 {
                ordered ^ SIGN_BIT
            } else {
                !ordered
            };
            Some(Value::Float(f64::from_bits(bits)))
        }
        ColumnType::Text => String::from_utf8(decode_bytes(key)?).ok().map(Value::Text),
        ColumnType::Bytes => decode_bytes(key).map(Value::Bytes),
    }
}

fn word(key: &mut Reader<'_>) -> Option<u64> {
    let bytes = key.take(8)?;
    bytes.try_into().ok().map(u64::from_be_bytes)
}

fn decode_bytes(key: &mut Reader<'_>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let zero = key.0.iter().position(|&byte| byte == 0)?;
        bytes.extend_from_slice(key.take(zero)?);
        match key.take(2)? {
            [0, 0] => return Some(bytes),
            [0, 0xFF] => bytes.push(0),
            _ => return None,
        }
    }
}

/// Keys from `low` (included) up to `high` (excluded; `None`: to the end).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeyRange {
    pub(crate) low: Vec<u8>,
    pub(crate) high: Option<Vec<u8>>,
}

impl KeyRange {
    /// The range between two bounds, each the first columns of a key. An included upper bound includes every key that
    /// begins with it, an excluded lower bound excludes all of them.
    pub(crate) fn between(low: Bound<&[Value]>, high: Bound<&[Value]>) -> KeyRange {
        let low = match low {
            Bound::Unbounded => Some(Vec::new()),
            Bound::Included(values) => Some(encode_all(values)),
            Bound::Excluded(values) => after_prefix(encode_all(values)),
        };
        let high = match high {
            Bound::Unbounded => None,
            Bound::Included(values) => after_prefix(encode_all(values)),
            Bound::Excluded(values) => Some(encode_all(values)),
        };
        match low {
            Some(low) => KeyRange { low, high },
            // After the prefix of every key there is nothing.
            None => KeyRange {
                low: Vec::new(),
                high: Some(Vec::new()),
            },
        }
    }

    /// Whether `key` lies below the upper end.
    pub(crate) fn is_below_high(&self, key: &[u8]) -> bool {
        self.high.as_deref().is_none_or(|high| key < high)
    }

    /// Whether nothing can lie in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.high.as_ref().is_some_and(|high| *high <= self.low)
    }
}

/// The encodings of `values` one after another.
pub(crate) fn encode_all(values: &[Value]) -> Vec<u8> {
    let mut key = Vec::with_capacity(values.len() * 9);
    for value in values {
        encode_value(value, &mut key);
    }
    key
}

/// The smallest byte string greater than all that begin with `prefix`; `None` if no string is.
fn after_prefix(mut prefix: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = prefix.pop() {
        if last < 0xFF {
            prefix.push(last + 1);
            return Some(prefix);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    fn value(kind: ColumnType) -> BoxedStrategy<Value> {
        let some = match kind {
            ColumnType::Int => any::<i64>().prop_map(Value::Int).boxed(),
            ColumnType::Float => any::<f64>().prop_map(Value::Float).boxed(),
            ColumnType::Text => {
                proptest::collection::vec(prop_oneof![Just('\0'), Just('a'), any::<char>()], 0..4)
                    .prop_map(|chars| Value::Text(chars.into_iter().collect()))
                    .boxed()
            }
            ColumnType::Bytes => {
                proptest::collection::vec(prop_oneof![Just(0u8), Just(0xFF), any::<u8>()], 0..4)
                    .prop_map(Value::Bytes)
                    .boxed()
            }
        };
        prop_oneof![1 => Just(Value::Null), 9 => some].boxed()
    }

    fn compare(a: &Value, b: &Value) -> Ordering {
        match (a, b) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => Ordering::Less,
            (_, Value::Null) => Ordering::Greater,
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => (a + 0.0).total_cmp(&(b + 0.0)),
            (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
            _ => unreachable!("values of one type"),
        }
    }

    const KINDS: [ColumnType; 4] = [
        ColumnType::Bytes,
        ColumnType::Int,
        ColumnType::Text,
        ColumnType::Float,
    ];

    fn tuple() -> impl Strategy<Value = Vec<Value>> {
        KINDS.map(value).to_vec()
    }

    fn compare_all(a: &[Value], b: &[Value]) -> Ordering {
        let unequal = a
            .iter()
            .zip(b)
            .map(|(a, b)| compare(a, b))
            .find(|order| order.is_ne());
        unequal.unwrap_or(Ordering::Equal)
    }

    proptest! {
        #[test]
        fn bytes_compare_as_values_do(a in tuple(), b in tuple()) {
            prop_assert_eq!(encode_all(&a).cmp(&encode_all(&b)), compare_all(&a, &b));
        }

        #[test]
        fn decoding_gives_the_values_back(values in tuple()) {
            let key = encode_all(&values);
            let mut reader = Reader(&key);
            for (value, kind) in values.iter().zip(KINDS) {
                let decoded = decode_value(&mut reader, kind).unwrap();
                prop_assert_eq!(compare(&decoded, value), Ordering::Equal);
            }
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn decoding_garbage_fails_without_panic(bytes: Vec<u8>) {
            for kind in KINDS {
                let _ = decode_value(&mut Reader(&bytes), kind);
            }
        }

        #[test]
        fn a_range_holds_what_lies_between_its_bounds(
            key in tuple(), low in tuple(), high in tuple(), lows in 0..=4usize, highs in 0..=4usize, kinds in 0..9u8,
        ) {
            let bound = |kind: u8, values: &'static [Value]| match kind {
                0 => Bound::Unbounded,
                1 => Bound::Included(values),
                _ => Bound::Excluded(values),
            };
            // Leaked on purpose: a bound borrows, and a test is short.
            let low: &'static [Value] = Vec::leak(low[..lows].to_vec());
            let high: &'static [Value] = Vec::leak(high[..highs].to_vec());
            let range = KeyRange::between(bound(kinds % 3, low), bound(kinds / 3, high));
            let above = match kinds % 3 {
                0 => true,
                1 => compare_all(&key, low).is_ge(),
                _ => compare_all(&key, low).is_gt(),
            };
            let below = match kinds / 3 {
                0 => true,
                1 => compare_all(&key, high).is_le(),
                _ => compare_all(&key, high).is_lt(),
            };
            let key = encode_all(&key);
            prop_assert_eq!(key >= range.low && range.is_below_high(&key), above && below);
        }
    }
}
