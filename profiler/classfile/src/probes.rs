//! Probes to insert, and their places.

use std::collections::BTreeMap;

use crate::method::Argument;

/// Number of a probe: what its `enter` is called with. At most [`i32::MAX`] makes sense to Java.
pub type ProbeId = u32;

/// The probes of one method.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MethodProbes {
    /// The probe that is entered where the method begins, and left where it returns or throws.
    pub body: Option<ProbeId>,
    /// The argument that the probe of the body is entered with.
    pub label: Option<Argument>,
    /// The probes around calls, by the offset of the calling instruction ([`crate::CallSite::pc`]).
    pub calls: BTreeMap<u16, ProbeId>,
}

impl MethodProbes {
    /// Whether there is nothing to insert.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.body.is_none() && self.calls.is_empty()
    }
}

/// The probes of a class, by the index of the method ([`crate::Method::index`]).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// Methods without probes may be absent.
    pub methods: BTreeMap<usize, MethodProbes>,
}

/// The class that has the probes' methods.
///
/// It has `static int enter(int probe)`, which gives a token, and `static void exit(int token)`. A token of -1 means that
/// nothing was entered, and `exit` ignores it. Every loader must find this class, and it must not be rewritten. For labels it
/// also has `static int enter(int probe, long label)` and `static int enter(int probe, Object label)`.
///
/// Where an exception leaves the method, the probe of its body ends by `static void fail(int token)`, otherwise like `exit`.
///
/// `exit` ends whatever was entered since the token's `enter`, and is ignored when the token's own probe has ended:
/// it is called twice where a call throws.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper<'a> {
    /// Binary name, with slashes.
    pub class: &'a str,
}

/// Name and descriptor of the helper's methods.
pub(crate) const ENTER: (&[u8], &[u8]) = (b"enter", b"(I)I");
pub(crate) const ENTER_WITH_NUMBER: &[u8] = b"(IJ)I";
pub(crate) const ENTER_WITH_OBJECT: &[u8] = b"(ILjava/lang/Object;)I";
pub(crate) const EXIT: (&[u8], &[u8]) = (b"exit", b"(I)V");
pub(crate) const FAIL: (&[u8], &[u8]) = (b"fail", b"(I)V");

/// Size limits of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// HotSpot compiles no method of more bytes of code. A method that is larger as it was read is interpreted
    /// anyway, and may grow.
    pub compiled_bytes: usize,
}

impl Default for Limits {
    /// HotSpot's own `HugeMethodLimit`.
    fn default() -> Self {
        Self {
            compiled_bytes: 8_000,
        }
    }
}
