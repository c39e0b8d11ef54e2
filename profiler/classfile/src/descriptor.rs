//! Descriptors of methods (JVMS 4.3.3).

use crate::error::Error;

/// The type of one parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameter<'a> {
    /// `boolean`, `byte`, `char`, `short` and `int`.
    Int,
    Float,
    Long,
    Double,
    /// A class by its binary name, or an array by its descriptor.
    Reference(&'a [u8]),
}

/// The parameters of a method, without `this`.
pub(crate) fn parameters(descriptor: &[u8]) -> Result<Vec<Parameter<'_>>, Error> {
    let malformed = |at| Error::Malformed {
        what: "method descriptor",
        at,
    };
    if descriptor.first() != Some(&b'(') {
        return Err(malformed(0));
    }
    let mut parameters = Vec::new();
    let mut at = 1;
    while descriptor.get(at) != Some(&b')') {
        let begin = at;
        while descriptor.get(at) == Some(&b'[') {
            at += 1;
        }
        let kind = *descriptor.get(at).ok_or(malformed(at))?;
        let length = match kind {
            b'L' => {
                1 + descriptor[at..]
                    .iter()
                    .position(|&byte| byte == b';')
                    .ok_or(malformed(at))?
            }
            _ => 1,
        };
        let parameter = match kind {
            _ if at > begin && b"ZBCSIFJDL".contains(&kind) => {
                Parameter::Reference(&descriptor[begin..at + length])
            }
            b'L' => Parameter::Reference(&descriptor[at + 1..at + length - 1]),
            b'Z' | b'B' | b'C' | b'S' | b'I' => Parameter::Int,
            b'F' => Parameter::Float,
            b'J' => Parameter::Long,
            b'D' => Parameter::Double,
            _ => return Err(malformed(at)),
        };
        parameters.push(parameter);
        at += length;
    }
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use super::{Parameter, parameters};

    #[test]
    fn every_type_is_known() {
        let parsed = parameters(b"(ZBCSIFJD[[Ljava/lang/String;La/B;[I)V").unwrap();
        let expected = [
            &[Parameter::Int; 5][..],
            &[Parameter::Float, Parameter::Long, Parameter::Double],
            &[
                Parameter::Reference(b"[[Ljava/lang/String;"),
                Parameter::Reference(b"a/B"),
                Parameter::Reference(b"[I"),
            ],
        ]
        .concat();
        assert_eq!(parsed, expected);
        assert_eq!(parameters(b"()V").unwrap(), []);
    }

    #[test]
    fn damaged_descriptors_are_errors() {
        for damaged in [
            &b""[..],
            b"I",
            b"(",
            b"(L",
            b"(La/B",
            b"([",
            b"(Q)V",
            b"([Q)V",
        ] {
            assert!(parameters(damaged).is_err(), "{damaged:?}");
        }
    }
}
