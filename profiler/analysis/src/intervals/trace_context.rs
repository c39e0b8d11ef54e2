//! The span of a distributed trace that an interval belongs to. A label holds it as in W3C's Trace Context
//! (<https://www.w3.org/TR/trace-context/>, 3.2, `traceparent`):
//!
//! ```text
//! 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//! version trace, 32 hexadecimal       span, 16         flags
//! ```
//! It is read wherever in a label it stands: alone, as `evenkeel_trace` and an argument of a function have it, or in
//! the comment of an SQL statement (sqlcommenter's `/*traceparent='00-..'*/`).

use std::ops::Range;

/// Bytes of a `traceparent`.
const BYTES: usize = 55;
/// Where its parts begin.
const TRACE: Range<usize> = 3..35;
const SPAN: Range<usize> = 36..52;
const FLAGS: Range<usize> = 53..55;

/// A span of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    /// The trace; not 0.
    pub trace: u128,
    /// The span; not 0.
    pub span: u64,
}

impl TraceContext {
    /// The first `traceparent` in a text, and where it stands.
    pub fn find(text: &[u8]) -> Option<(TraceContext, Range<usize>)> {
        let last = text.len().checked_sub(BYTES)?;
        // Most labels have none, and few dashes.
        let mut places = (0..=last).filter(|&at| text[at + TRACE.start - 1] == b'-');
        places.find_map(|at| {
            let place = at..at + BYTES;
            Some((TraceContext::parse(&text[place.clone()])?, place))
        })
    }

    fn parse(text: &[u8]) -> Option<TraceContext> {
        let dashes = [TRACE.start - 1, SPAN.start - 1, FLAGS.start - 1];
        if dashes.iter().any(|&at| text[at] != b'-') {
            return None;
        }
        let version = hexadecimal(&text[..2])?;
        hexadecimal(&text[FLAGS])?;
        let trace = hexadecimal(&text[TRACE])?;
        let span = hexadecimal(&text[SPAN])? as u64;
        // Version ff is invalid, and zeros mean that there is no trace.
        (version != 0xff && trace != 0 && span != 0).then_some(TraceContext { trace, span })
    }
}

fn hexadecimal(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |number, &digit| {
        let value = (digit as char).to_digit(16)?;
        Some(number << 4 | u128::from(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const W3C: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn found_wherever_it_stands() {
        let expected = TraceContext {
            trace: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736,
            span: 0x00f0_67aa_0ba9_02b7,
        };
        for (before, after) in [
            ("", ""),
            ("SELECT 1 /*traceparent='", "'*/"),
            ("00-00-", ""),
        ] {
            let text = format!("{before}{W3C}{after}");
            let found = TraceContext::find(text.as_bytes());
            assert_eq!(
                found,
                Some((expected, before.len()..before.len() + BYTES)),
                "{text}"
            );
        }
        let upper = W3C.to_uppercase();
        assert_eq!(TraceContext::find(upper.as_bytes()).unwrap().0, expected);
    }

    #[test]
    fn invalid_contexts_give_nothing() {
        for text in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
            "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
        ] {
            assert_eq!(TraceContext::find(text.as_bytes()), None, "{text}");
        }
    }
}
