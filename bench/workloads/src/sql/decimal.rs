//! Exact decimals as text: the integer in the smallest unit, and the digits with a point.

/// Writes `unscaled * 10^-scale`, with exactly `scale` digits after the point: `(-1205, 2)` is `-12.05`.
pub fn format(unscaled: i64, scale: u8) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = unscaled.unsigned_abs();
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let unit = 10u64.pow(scale.into());
    format!(
        "{sign}{}.{:0width$}",
        digits / unit,
        digits % unit,
        width = usize::from(scale)
    )
}

/// Reads a decimal into units of `10^-scale`. None if it is not a decimal number, has a digit other than 0
/// behind that scale, or is too large.
pub fn parse(text: &str, scale: u8) -> Option<i64> {
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
    let mut value: i64 = 0;
    if whole.is_empty() {
        return None;
    }
    let kept = fraction.len().min(scale.into());
    if fraction[kept..].bytes().any(|digit| digit != b'0') {
        return None;
    }
    let padding = std::iter::repeat_n(b'0', usize::from(scale) - kept);
    for digit in whole.bytes().chain(fraction[..kept].bytes()).chain(padding) {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        value = value.checked_mul(10)?.checked_add(digit)?;
    }
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts() {
        for (unscaled, scale, text) in [
            (1234, 2, "12.34"),
            (-5, 2, "-0.05"),
            (0, 4, "0.0000"),
            (7, 0, "7"),
            (100, 2, "1.00"),
            (-1205, 2, "-12.05"),
        ] {
            assert_eq!(format(unscaled, scale), text);
            assert_eq!(parse(text, scale), Some(unscaled));
        }
    }

    #[test]
    fn other_spellings_and_refusals() {
        assert_eq!(parse("12", 2), Some(1200));
        assert_eq!(parse("12.5", 2), Some(1250));
        assert_eq!(parse("12.5000", 2), Some(1250));
        for wrong in [
            "12.345",
            "",
            "-",
            "x",
            "1.2.3",
            "1e5",
            "99999999999999999999",
            "é.1",
        ] {
            assert_eq!(parse(wrong, 2), None, "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn decimals_parse_as_they_print(unscaled in -999_999_999_999_999_999i64..=999_999_999_999_999_999, scale in 0u8..=8) {
            proptest::prop_assert_eq!(parse(&format(unscaled, scale), scale), Some(unscaled));
        }
    }
}
