//! Recordings that say in words what others say in fields.

use evenkeel_analysis::RunFacts;
use evenkeel_analysis::sites::{Function, Site};

/// Fills in fields from words, where a recording has only these.
pub fn complete(facts: &mut RunFacts) {
    for call in &mut facts.unpatched {
        if call.within.is_none() && call.probe.is_none() {
            call.within = caller(&call.site).map(Function::named);
        }
    }
}

/// Completes a call site: in one function, its offset orders the calls as its address does.
pub fn complete_site(site: &mut Site) {
    if site.address.is_none() {
        let digits = site.site.rsplit_once("+0x").map(|(_, digits)| digits);
        site.address = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    }
}

/// The function that a site, `caller+0x1f` or `library.so!caller-0x1f`, lies in; the callee may stand before it, as `callee at ..`. Of a hook
/// at a function's entry, `.. called by caller`.
fn caller(site: &str) -> Option<&str> {
    if let Some((_, function)) = site.rsplit_once(" called by ") {
        return Some(function);
    }
    let site = site.rsplit_once(" at ").map_or(site, |(_, site)| site);
    let end = site.rfind("+0x").or_else(|| site.rfind("-0x"))?;
    Some(&site[..end])
}

#[cfg(test)]
mod tests {
    use evenkeel_analysis::profile::Unpatched;

    use super::*;

    #[test]
    fn the_function_of_a_call_is_found_in_its_name() {
        for (site, function) in [
            ("work+0x10", Some("work")),
            ("libwork.so.1!work-0x10", Some("work")),
            ("memcpy at work+0x10", Some("work")),
            ("entry of memcpy called by work", Some("work")),
            ("operator!=(int)+0x10", Some("operator!=(int)")),
            (
                "0x2572c0 at libruby-3.1.so.3.1!rb_yield+0x73",
                Some("rb_yield"),
            ),
            ("entry of memcpy", None),
        ] {
            let mut facts = RunFacts {
                unpatched: vec![Unpatched {
                    site: site.to_owned(),
                    ..Unpatched::default()
                }],
                ..RunFacts::default()
            };
            complete(&mut facts);
            let within = facts.unpatched.remove(0).within;
            assert_eq!(within, function.map(Function::named), "{site}");
        }
    }
}
