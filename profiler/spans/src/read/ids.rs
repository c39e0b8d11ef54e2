//! Numbers of traces and spans, as each format writes them. No format allows 0, and OTLP requires one length. A wrong
//! number would join unrelated spans, or tear a trace apart.

use crate::counts::Counts;

/// Bytes of a trace's number, and of a span's.
const TRACE_BYTES: usize = 16;
const SPAN_BYTES: usize = 8;

/// Which span it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    /// Its trace.
    pub trace: u128,
    /// Its own.
    pub id: u64,
    /// Its parent's; 0 for none.
    pub parent: u64,
}

/// Why a span has no numbers that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Not as the format writes them, or 0.
    Wrong,
    /// In base64, as OTLP's JSON was first proposed (OTEP 122), and as protobuf's own mapping to JSON still writes bytes.
    Base64,
}

impl Unusable {
    /// Counts a span that is left out.
    pub fn count(self, counts: &mut Counts) {
        counts.spans += 1;
        match self {
            Unusable::Wrong => counts.wrong_ids += 1,
            Unusable::Base64 => counts.base64_ids += 1,
        }
    }
}

impl Ids {
    /// OTLP in protobuf: bytes, the highest first. A missing parent, or one of zeros, means no parent.
    pub fn of_bytes(trace: &[u8], id: &[u8], parent: &[u8]) -> Result<Ids, Unusable> {
        let trace = trace.try_into().map(u128::from_be_bytes);
        let span = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes);
        let parent = match parent {
            [] => Ok(0),
            parent => span(parent),
        };
        match (trace, span(id), parent) {
            (Ok(trace), Ok(id), Ok(parent)) => Ids::new(trace, id, parent),
            _ => Err(Unusable::Wrong),
        }
    }

    /// OTLP in JSON: hexadecimal, of either case, each digit of each byte.
    pub fn of_otlp(trace: &str, id: &str, parent: &str) -> Result<Ids, Unusable> {
        let all = [
            (trace, TRACE_BYTES),
            (id, SPAN_BYTES),
            (parent, if parent.is_empty() { 0 } else { SPAN_BYTES }),
        ];
        if all.iter().all(|(text, bytes)| text.len() == 2 * bytes) {
            return Ids::of_digits(trace, id, parent);
        }
        let is_base64 = all.iter().all(|&(text, bytes)| is_base64(text, bytes));
        Err(match is_base64 {
            true => Unusable::Base64,
            false => Unusable::Wrong,
        })
    }

    /// Jaeger: at most 32 hexadecimal digits for a trace, 16 for a span. Its early versions omit leading zeros, and
    /// traces may have 64 bits.
    pub fn of_jaeger(trace: &str, id: &str, parent: &str) -> Result<Ids, Unusable> {
        match trace.len() <= 2 * TRACE_BYTES && id.len().max(parent.len()) <= 2 * SPAN_BYTES {
            true => Ids::of_digits(trace, id, parent),
            false => Err(Unusable::Wrong),
        }
    }

    /// From texts that are no longer than the numbers.
    fn of_digits(trace: &str, id: &str, parent: &str) -> Result<Ids, Unusable> {
        let number = |text: &str| {
            // A sign, too, is a number's to the standard library.
            let is_digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
            let number = u128::from_str_radix(text, 16).ok();
            number.filter(|_| is_digits).ok_or(Unusable::Wrong)
        };
        let parent = match parent {
            "" => 0,
            parent => number(parent)? as u64,
        };
        Ids::new(number(trace)?, number(id)? as u64, parent)
    }

    fn new(trace: u128, id: u64, parent: u64) -> Result<Ids, Unusable> {
        match trace == 0 || id == 0 {
            true => Err(Unusable::Wrong),
            false => Ok(Ids { trace, id, parent }),
        }
    }
}

/// Whether the text is this many bytes in base64 of either alphabet, with or without padding to a multiple of four
/// characters.
fn is_base64(text: &str, bytes: usize) -> bool {
    let digits = text.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
    let is_filled = text.len() == digits.len() || text.len() == bytes.div_ceil(3) * 4;
    is_filled && digits.len() == (bytes * 8).div_ceil(6) && digits.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "5b8efff798038103d269b633813fc60c";
    const SPAN: &str = "eee19b7ec3c1b174";
    const ZEROS: &str = "00000000000000000000000000000000";

    #[test]
    fn numbers_of_otlp() {
        let ids = Ids {
            trace: 0x5b8e_fff7_9803_8103_d269_b633_813f_c60c,
            id: 0xeee1_9b7e_c3c1_b174,
            parent: 0,
        };
        assert_eq!(Ids::of_otlp(TRACE, SPAN, ""), Ok(ids));
        assert_eq!(Ids::of_otlp(&TRACE.to_uppercase(), SPAN, ""), Ok(ids));
        assert_eq!(Ids::of_otlp(TRACE, SPAN, &ZEROS[16..]), Ok(ids));
        let called = Ids { parent: 7, ..ids };
        assert_eq!(Ids::of_otlp(TRACE, SPAN, "0000000000000007"), Ok(called));
        let (trace, id) = (ids.trace.to_be_bytes(), ids.id.to_be_bytes());
        assert_eq!(Ids::of_bytes(&trace, &id, &[]), Ok(ids));
        assert_eq!(Ids::of_bytes(&trace, &id, &[0; 8]), Ok(ids));
        for (trace, id, parent) in [
            ("", SPAN, ""),
            (&TRACE[1..], SPAN, ""),
            (ZEROS, SPAN, ""),
            ("5b8efff798038103d269b633813fc60g", SPAN, ""),
            ("+b8efff798038103d269b633813fc60c", SPAN, ""),
            (TRACE, "", ""),
            (TRACE, "7", ""),
            (TRACE, &ZEROS[16..], ""),
            (TRACE, "eee19b7ec3c1b1 4", ""),
            (TRACE, SPAN, "7"),
            (TRACE, SPAN, "no parent, none "),
        ] {
            let found = Ids::of_otlp(trace, id, parent);
            assert_eq!(found, Err(Unusable::Wrong), "{trace} {id} {parent}");
        }
        let long = [&trace[..], &[1]].concat();
        for (trace, id, parent) in [
            (&[][..], &id[..], &[][..]),
            (&trace[1..], &id, &[]),
            (&long, &id, &[]),
            (&[0; 16], &id, &[]),
            (&trace, &id[1..], &[]),
            (&trace, &[0; 8], &[]),
            (&trace, &id, &[7]),
        ] {
            assert_eq!(Ids::of_bytes(trace, id, parent), Err(Unusable::Wrong));
        }
    }

    #[test]
    fn base64_is_known() {
        let (trace, id, parent) = ("W47/95gDgQPSabYzgT/GDA==", "7uGbfsPBsXQ=", "X7AQWZx+P2o=");
        let bare = |text: &'static str| text.trim_end_matches('=');
        for (trace, id, parent) in [
            (trace, id, parent),
            (trace, id, ""),
            (bare(trace), bare(id), bare(parent)),
            ("W47_95gDgQPSabYzgT_GDA", bare(id), ""),
        ] {
            let found = Ids::of_otlp(trace, id, parent);
            assert_eq!(found, Err(Unusable::Base64), "{trace} {id} {parent}");
        }
        for (trace, id) in [
            (TRACE, id),
            (trace, "7uGbfsPBsXQ=="),
            (trace, "7uGbfsPBsX?"),
        ] {
            assert_eq!(
                Ids::of_otlp(trace, id, ""),
                Err(Unusable::Wrong),
                "{trace} {id}"
            );
        }
    }

    #[test]
    fn numbers_of_jaeger_may_be_short() {
        let ids = |trace, id, parent| Ok(Ids { trace, id, parent });
        assert_eq!(Ids::of_jaeger("1f", "a", ""), ids(0x1f, 10, 0));
        assert_eq!(Ids::of_jaeger(SPAN, SPAN, "3").map(|ids| ids.parent), Ok(3));
        assert_eq!(
            Ids::of_jaeger(TRACE, SPAN, ""),
            Ids::of_otlp(TRACE, SPAN, "")
        );
        let long = format!("0{TRACE}");
        for (trace, id) in [
            ("", SPAN),
            ("0", SPAN),
            (TRACE, "0"),
            (TRACE, TRACE),
            (&long, SPAN),
            ("1f", "-a"),
        ] {
            assert_eq!(
                Ids::of_jaeger(trace, id, ""),
                Err(Unusable::Wrong),
                "{trace} {id}"
            );
        }
    }
}
