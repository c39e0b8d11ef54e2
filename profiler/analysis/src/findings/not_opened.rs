//! Distinguishes own code from time that is not known to be own code (`variance.md`, section 3).
//!
//! A function's time outside of its timed calls is its own code only if all calls in it that run are timed. Some may
//! not be: they cost too much, had to make room for others, or cannot be redirected. The time is then *not opened*. The
//! variance tree ([`crate::sums::parts::VarianceTree`]) knows these functions, and names their own time for every part
//! of a profile.

use rustc_hash::FxHashMap;

use crate::profile::Unpatched;
use crate::sites::{Function, INDIRECT, SiteTable};

/// Functions with calls that are not timed, by the probe of the call that leads to them.
#[derive(Clone, Debug, Default)]
pub struct NotOpened {
    root: bool,
    /// By probe.
    callees: Vec<bool>,
}

impl NotOpened {
    /// Derives them from the calls that could not be timed. A call through a pointer has no own code: time outside of
    /// its known callees belongs to unknown ones.
    pub fn of(sites: &SiteTable, unpatched: &[Unpatched]) -> NotOpened {
        let mut holders: FxHashMap<&str, Vec<&Function>> = FxHashMap::default();
        let hidden = unpatched.iter().filter(|call| call.hides_time);
        for holder in hidden.filter_map(|call| call.within.as_ref()) {
            holders.entry(&holder.name).or_default().push(holder);
        }
        let hides = |function: &Function| {
            let named = holders.get(function.name.as_str());
            named.is_some_and(|all| all.iter().any(|holder| holder.may_be(function)))
        };
        let callees = sites.sites.iter();
        let callees = callees.map(|site| site.callee == INDIRECT || hides(&site.called()));
        NotOpened {
            root: hides(&sites.root_function()),
            callees: callees.collect(),
        }
    }

    /// Whether the own time of a probe's callee is not known to be own code; without a probe, that of the interval's
    /// function.
    pub fn is(&self, probe: Option<u32>) -> bool {
        match probe {
            Some(probe) => self.callees.get(probe as usize).is_some_and(|&is| is),
            None => self.root,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sites::Site;

    fn function(name: &str, file: Option<&str>) -> Function {
        Function {
            name: name.to_owned(),
            file: file.map(str::to_owned),
        }
    }

    fn sites(callees: &[(&str, Option<&str>)], root: &str) -> SiteTable {
        let site = |&(callee, file): &(&str, Option<&str>)| Site {
            callee: callee.to_owned(),
            callee_file: file.map(str::to_owned),
            ..Site::default()
        };
        SiteTable {
            root: root.to_owned(),
            sites: callees.iter().map(site).collect(),
            ..SiteTable::default()
        }
    }

    fn hidden_in(within: Function, hides_time: bool) -> Vec<Unpatched> {
        vec![Unpatched {
            within: Some(within),
            hides_time,
            ..Unpatched::default()
        }]
    }

    fn probes(sites: &SiteTable, unpatched: &[Unpatched]) -> Vec<bool> {
        let not_opened = NotOpened::of(sites, unpatched);
        let ids = 0..sites.sites.len() as u32;
        ids.map(|id| not_opened.is(Some(id))).collect()
    }

    #[test]
    fn calls_that_are_not_timed_make_the_time_not_opened() {
        let sites = sites(&[("work", None), ("operator!=(int)", None)], "root");
        let work = || function("work", None);
        assert_eq!(probes(&sites, &hidden_in(work(), true)), [true, false]);
        assert_eq!(probes(&sites, &hidden_in(work(), false)), [false, false]);
        let other = function("operator!=(int)", Some("libwork.so.1"));
        assert_eq!(probes(&sites, &hidden_in(other, true)), [false, true]);
    }

    /// As in stripped libraries, whose functions are named by address.
    #[test]
    fn functions_of_one_name_are_told_apart_by_their_files() {
        let sites = sites(
            &[
                ("0x1a30", Some("liba.so")),
                ("0x1a30", Some("libb.so")),
                ("0x1a30", None),
            ],
            "root",
        );
        let hidden = hidden_in(function("0x1a30", Some("libb.so")), true);
        assert_eq!(probes(&sites, &hidden), [false, true, true]);
    }

    #[test]
    fn a_call_through_a_pointer_has_no_code_of_its_own() {
        assert_eq!(probes(&sites(&[(INDIRECT, None)], "root"), &[]), [true]);
    }

    #[test]
    fn the_interval_may_be_named_with_its_library() {
        let sites = sites(&[], "libruby-3.1.so.3.1!rb_yield");
        let hidden = hidden_in(function("rb_yield", Some("libruby-3.1.so.3.1")), true);
        assert!(NotOpened::of(&sites, &hidden).is(None));
        assert!(!NotOpened::of(&sites, &[]).is(None));
    }
}
