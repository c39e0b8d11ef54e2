//! A class with probes: methods are rewritten one by one. A method that cannot be rewritten stays unchanged.

use crate::class::{Attribute, Class, Member};
use crate::code::Code;
use crate::constants::Constants;
use crate::method::{code_of, lines_of};
use crate::method_code;
use crate::probes::{Helper, Limits, MethodProbes, Plan};
use crate::refusal::{Reason, Refusal};
use crate::utf8;

/// Result of rewriting a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// The class file with its probes; none where no method was rewritten.
    pub class: Option<Vec<u8>>,
    /// The methods that were rewritten.
    pub methods: Vec<Grown>,
    /// The methods that were not, and why.
    pub refused: Vec<Refusal>,
}

/// A method that was rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grown {
    /// Number of the method in its class.
    pub index: usize,
    /// Bytes of its code as it was read.
    pub bytes_before: usize,
    /// Bytes of its code with the probes.
    pub bytes_after: usize,
}

impl Class<'_> {
    /// The class with the probes of `plan`. A method that cannot have its probes stays unchanged, and is named.
    #[must_use]
    pub fn instrument(&self, plan: &Plan, helper: &Helper<'_>, limits: &Limits) -> Rewritten {
        let mut constants = Constants::of(&self.pool);
        let mut members = self.methods.clone();
        let mut rewritten = Rewritten {
            class: None,
            methods: Vec::new(),
            refused: Vec::new(),
        };
        for (&index, probes) in &plan.methods {
            let Some(member) = members.get_mut(index).filter(|_| !probes.is_empty()) else {
                continue;
            };
            match self.instrument_method(member, probes, helper, limits, &mut constants) {
                Ok((bytes_before, bytes_after)) => {
                    rewritten.methods.push(Grown {
                        index,
                        bytes_before,
                        bytes_after,
                    });
                }
                Err(reason) => rewritten.refused.push(self.refusal(member, reason)),
            }
        }
        if !rewritten.methods.is_empty() {
            rewritten.class = Some(self.write_with(constants.count(), constants.added(), &members));
        }
        rewritten
    }

    fn instrument_method(
        &self,
        member: &mut Member<'_>,
        probes: &MethodProbes,
        helper: &Helper<'_>,
        limits: &Limits,
        constants: &mut Constants<'_>,
    ) -> Result<(usize, usize), Reason> {
        let (content, before, after) = {
            let code = Code::read(code_of(member, &self.pool)?.ok_or(Reason::NoCode)?)?;
            let (content, after) =
                method_code::instrument(self, member, &code, probes, helper, limits, constants)?;
            (content, code.bytes.len(), after)
        };
        let is_code =
            |attribute: &&mut Attribute<'_>| self.pool.utf8(attribute.name) == Ok(b"Code");
        let attribute = member
            .attributes
            .iter_mut()
            .find(is_code)
            .ok_or(Reason::NoCode)?;
        attribute.content = content.into();
        Ok((before, after))
    }

    fn refusal(&self, member: &Member<'_>, reason: Reason) -> Refusal {
        let text = |index| {
            self.pool
                .utf8(index)
                .map_or_else(|_| "?".into(), utf8::decode)
                .into_owned()
        };
        let code = code_of(member, &self.pool)
            .ok()
            .flatten()
            .and_then(|content| Code::read(content).ok());
        let lines = code
            .and_then(|code| lines_of(&code, &self.pool).ok())
            .unwrap_or_default();
        Refusal {
            class: self.name().into_owned(),
            method: text(member.name),
            descriptor: text(member.descriptor),
            line: lines.first().map(|line| line.line),
            reason,
        }
    }
}
