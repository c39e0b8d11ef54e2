//! The call sites of a function, and finding those that a user means by caller and callee.

use crate::arch::callsites;
use crate::find::FindError;
use crate::flow::TransferKind;
use crate::functions::FunctionKind;
use crate::module::Module;
use crate::sites::{Callee, Site};

impl Module {
    /// The calls and tail calls of the function at `entry`, cold parts included, ascending by address. Empty if no
    /// function begins there, or one of GHC's (Haskell), whose jumps leave no return address.
    pub fn call_sites(&self, entry: u64) -> Vec<Site> {
        self.function(entry)
            .filter(|function| function.kind != FunctionKind::Haskell)
            .map(|function| callsites::call_sites(self, function))
            .unwrap_or_default()
    }

    /// Whether the function at `entry` continues by a jump into the middle of another, as interpreters in assembly
    /// do. Calls that it makes there are not among its call sites.
    pub fn jumps_into_another(&self, entry: u64) -> bool {
        let Some(function) = self.function(entry) else {
            return false;
        };
        self.flow_of(function).transfers.iter().any(|transfer| {
            let target = transfer.target;
            transfer.kind != TransferKind::Call
                && !function.contains(target)
                && self.callee_at(target).is_none()
                && self.function_at(target).is_some()
        })
    }

    /// The call sites at which `caller` calls `callee`, ascending by address.
    ///
    /// `caller` is anything that [`find`](Module::find) takes. With a suffix `+0xOFFSET` (or `-0xOFFSET`, in a cold
    /// part) only the site that far from its entry matches. `callee` is the name of a function of this module or of
    /// an import, or `0xADDRESS`.
    ///
    /// # Errors
    /// The caller is not found, or does not call the callee (there).
    pub fn call_sites_between(&self, caller: &str, callee: &str) -> Result<Vec<Site>, FindError> {
        let (name, offset) = split_offset(caller);
        let entry = self.find(name)?;
        let all = self.call_sites(entry);
        let wanted: Vec<Site> = all
            .iter()
            .filter(|site| self.is_callee(site, callee))
            .cloned()
            .collect();
        if wanted.is_empty() {
            let mut called: Vec<String> = all
                .iter()
                .map(|site| self.callee_name(&site.callee))
                .collect();
            called.sort_unstable();
            called.dedup();
            let (caller, callee) = (self.name(entry), callee.to_owned());
            return Err(FindError::NoSuchCall {
                caller,
                callee,
                called,
            });
        }
        let Some(offset) = offset else {
            return Ok(wanted);
        };
        let address = parse_offset(offset).map(|offset| entry.wrapping_add_signed(offset));
        let address = address.ok_or_else(|| FindError::BadAddress {
            text: offset.to_owned(),
        })?;
        let (chosen, others): (Vec<Site>, Vec<Site>) =
            wanted.into_iter().partition(|site| site.address == address);
        if !chosen.is_empty() {
            return Ok(chosen);
        }
        Err(FindError::NoSuchOffset {
            caller: self.name(entry),
            callee: callee.to_owned(),
            offset: offset.to_owned(),
            offsets: others
                .iter()
                .map(|site| format_offset(site.address, entry))
                .collect(),
        })
    }

    fn is_callee(&self, site: &Site, wanted: &str) -> bool {
        let address = wanted
            .strip_prefix("0x")
            .and_then(|digits| u64::from_str_radix(digits, 16).ok());
        match &site.callee {
            Callee::Function(entry) => {
                Some(*entry) == address || self.names().meant(wanted).contains(entry)
            }
            Callee::Import(name) => {
                address == Some(site.target)
                    || **name == *wanted
                    || crate::demangle::demangle(name) == wanted
                    || crate::demangle::demangle_without_parameters(name) == wanted
            }
            Callee::Pointer => false,
        }
    }
}

/// `caller` and `callee` of `caller>callee`, `None` without an arrow. A `>` that closes a template's arguments or
/// belongs to an operator's name is no arrow.
pub fn split_call(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        let operator = text[..at]
            .trim_end_matches(['<', '>', '-', '='])
            .ends_with("operator");
        match byte {
            _ if operator => {}
            b'<' => depth += 1,
            b'>' if depth > 0 => depth -= 1,
            b'>' => return Some((text[..at].trim(), text[at + 1..].trim())),
            _ => {}
        }
    }
    None
}

/// Splits the suffix `+0x..` or `-0x..` from a function.
fn split_offset(text: &str) -> (&str, Option<&str>) {
    match text.rfind("+0x").or_else(|| text.rfind("-0x")) {
        Some(at) => (&text[..at], Some(&text[at..])),
        None => (text, None),
    }
}

fn parse_offset(text: &str) -> Option<i64> {
    let (sign, digits) = text.split_at_checked(3)?;
    let magnitude = i64::from_str_radix(digits, 16).ok()?;
    Some(if sign == "-0x" { -magnitude } else { magnitude })
}

fn format_offset(address: u64, entry: u64) -> String {
    if address >= entry {
        format!("+{:#x}", address - entry)
    } else {
        format!("-{:#x}", entry - address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_names_with_angle_brackets() {
        assert_eq!(split_call("f>g"), Some(("f", "g")));
        assert_eq!(
            split_call("a::f<int>(b<c>) > g<d>"),
            Some(("a::f<int>(b<c>)", "g<d>"))
        );
        assert_eq!(split_call("p::operator->>g"), None);
        assert_eq!(
            split_call("p::operator->() > g"),
            Some(("p::operator->()", "g"))
        );
        assert_eq!(split_call("f"), None);
    }

    #[test]
    fn offsets_count_from_the_entry() {
        assert_eq!(split_offset("f+0x1f"), ("f", Some("+0x1f")));
        assert_eq!(parse_offset("+0x1f"), Some(31));
        assert_eq!(parse_offset("-0x10"), Some(-16));
        assert_eq!(format_offset(0x10, 0x20), "-0x10");
    }
}
