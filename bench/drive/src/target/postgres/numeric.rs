//! Exact decimals in PostgreSQL's binary form of NUMERIC.
//!
//! Four 16-bit numbers, number of digits, weight of the first digit, sign and displayed scale, then the digits to the base
//! 10 000 (`numeric_send` in the server's `src/backend/utils/adt/numeric.c`). Digit `i` counts for
//! `10000^(weight - i)`; leading and trailing zero digits are left out.

use tokio_postgres::types::private::BytesMut;

const BASE: u128 = 10_000;
/// Decimal digits of one digit to the base.
const GROUP: u32 = 4;
const NEGATIVE: u16 = 0x4000;

/// Appends `units * 10^-scale`.
pub fn encode(units: i64, scale: u8, out: &mut BytesMut) {
    let scale = u32::from(scale);
    // The decimal point must lie between two digits to the base.
    let padding = (GROUP - scale % GROUP) % GROUP;
    let mut left = u128::from(units.unsigned_abs()) * 10u128.pow(padding);
    let fraction_digits = (scale + padding) / GROUP;
    let mut digits: Vec<u16> = Vec::with_capacity(8);
    while left > 0 {
        digits.push((left % BASE) as u16);
        left /= BASE;
    }
    let weight = digits.len() as i32 - fraction_digits as i32 - 1;
    let zeros = digits.iter().take_while(|&&digit| digit == 0).count();
    let digits = &digits[zeros..];
    let weight = if digits.is_empty() { 0 } else { weight };
    out.extend_from_slice(&(digits.len() as u16).to_be_bytes());
    out.extend_from_slice(&(weight as i16).to_be_bytes());
    let sign = if units < 0 { NEGATIVE } else { 0 };
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&(scale as u16).to_be_bytes());
    for digit in digits.iter().rev() {
        out.extend_from_slice(&digit.to_be_bytes());
    }
}

/// Reads a number in units of `10^-scale`; none if it is not finite, has more digits after the point, or does not fit.
pub fn decode(bytes: &[u8], scale: u8) -> Option<i64> {
    let word = |at: usize| {
        let pair = bytes.get(2 * at..2 * at + 2)?;
        Some(u16::from_be_bytes([pair[0], pair[1]]))
    };
    let (count, weight, sign) = (word(0)?, word(1)? as i16, word(2)?);
    if sign != 0 && sign != NEGATIVE {
        return None;
    }
    let mut units: i128 = 0;
    for at in 0..usize::from(count) {
        let digit = i128::from(word(4 + at)?);
        let exponent = GROUP as i32 * (i32::from(weight) - at as i32) + i32::from(scale);
        units += if exponent >= 0 {
            digit.checked_mul(10i128.checked_pow(exponent as u32)?)?
        } else {
            let divisor = 10i128.checked_pow(exponent.unsigned_abs())?;
            if digit % divisor != 0 {
                return None;
            }
            digit / divisor
        };
    }
    i64::try_from(if sign == NEGATIVE { -units } else { units }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(units: i64, scale: u8) -> Vec<u16> {
        let mut out = BytesMut::new();
        encode(units, scale, &mut out);
        out.chunks(2)
            .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
            .collect()
    }

    #[test]
    fn numbers_as_the_server_sends_them() {
        // 12345.67 is 1 | 2345 | 6700 to the base 10 000, the first digit counting for 10000^1.
        assert_eq!(encoded(1_234_567, 2), [3, 1, 0, 2, 1, 2345, 6700]);
        assert_eq!(encoded(-1_234_567, 2), [3, 1, 0x4000, 2, 1, 2345, 6700]);
        // 20000: the last digit is zero and left out.
        assert_eq!(encoded(20_000, 0), [1, 1, 0, 0, 2]);
        // 0.0005 is 5 times 10000^-1.
        assert_eq!(encoded(5, 4), [1, 0xffff, 0, 4, 5]);
        assert_eq!(encoded(0, 2), [0, 0, 0, 2]);
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let bytes = |words: &[u16]| {
            words
                .iter()
                .flat_map(|word| word.to_be_bytes())
                .collect::<Vec<u8>>()
        };
        // 0.125 in hundredths; not a number; cut short; 10^20.
        assert_eq!(decode(&bytes(&[1, 0xffff, 0, 3, 1250]), 2), None);
        assert_eq!(decode(&bytes(&[1, 0xffff, 0, 3, 1250]), 3), Some(125));
        assert_eq!(decode(&bytes(&[0, 0, 0xc000, 0]), 2), None);
        assert_eq!(decode(&bytes(&[2, 0, 0, 0, 1]), 2), None);
        assert_eq!(decode(&bytes(&[1, 5, 0, 0, 1]), 0), None);
    }

    proptest! {
        #[test]
        fn numbers_decode_as_encoded(units in any::<i64>(), scale in 0u8..=9) {
            let mut out = BytesMut::new();
            encode(units, scale, &mut out);
            prop_assert_eq!(decode(&out, scale), Some(units));
        }
    }
}
