//! Variable-length integers: seven bits a byte, the lowest first (LEB128), and zigzag for signed ones.

/// Appends `value`.
pub fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes a value off the front. `None` when the bytes end or are no number.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Small for small magnitudes of either sign.
pub fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The inverse of [`zigzag`].
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_come_back(values: Vec<u64>, signed: i64) {
            let mut bytes = Vec::new();
            values.iter().for_each(|&value| put(&mut bytes, value));
            let mut rest = &bytes[..];
            let read: Vec<u64> = values.iter().map_while(|_| take(&mut rest)).collect();
            prop_assert_eq!(read, values);
            prop_assert!(rest.is_empty());
            prop_assert_eq!(unzigzag(zigzag(signed)), signed);
        }
    }
}
