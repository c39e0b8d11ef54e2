//! Which call sites of several recordings are the same.
//!
//! Within one build (build id) a site is identified by its address in its function. Builds differ in all addresses,
//! so between builds a site is the n-th call of one function in another, by address. Functions without names only
//! have their addresses: their callees and callers are never the same in two builds.

use std::collections::{HashMap, HashSet};

use evenkeel_analysis::sites::{Function, Site, SiteTable, is_unnamed};

/// Sites of several recordings, each once.
#[derive(Debug, Default)]
pub struct Identities {
    /// All of them.
    pub table: SiteTable,
    ids: HashMap<Identity, u32>,
}

/// Identity of a call site in several recordings.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Identity {
    /// Where it is in one build, and what it calls.
    Place {
        build: String,
        site: String,
        callee: String,
    },
    /// Which of the calls of one function in another it is.
    Call {
        caller: Option<Function>,
        callee: Function,
        number: usize,
    },
}

impl Identities {
    /// Takes in a recording's sites; returns the id of each. `by_address`: all recordings are of one build.
    pub fn add(&mut self, sites: &SiteTable, build: &str, by_address: bool) -> Vec<u32> {
        let places = Places::of(&sites.sites);
        let all = sites.sites.iter().enumerate();
        all.map(|(at, site)| {
            let (caller, callee) = (site.holder(), site.called());
            let is_named = |function: &Function| !is_unnamed(&function.name);
            let has_names = caller.as_ref().is_none_or(is_named) && is_named(&callee);
            let identity = if by_address || !has_names {
                Identity::Place {
                    build: build.to_owned(),
                    site: site.site.clone(),
                    callee: site.callee.clone(),
                }
            } else {
                Identity::Call {
                    caller,
                    callee,
                    number: places.number(at),
                }
            };
            let table = &mut self.table.sites;
            *self.ids.entry(identity).or_insert_with(|| {
                table.push(site.clone());
                table.len() as u32 - 1
            })
        })
        .collect()
    }
}

/// Which of the calls of one function in another a site is.
struct Places {
    numbers: Vec<usize>,
}

impl Places {
    fn of(sites: &[Site]) -> Places {
        let mut order: Vec<usize> = (0..sites.len()).collect();
        order.sort_by_key(|&at| sites[at].address);
        let mut calls: HashMap<(Option<Function>, Function), usize> = HashMap::new();
        let mut numbers = vec![0; sites.len()];
        for at in order {
            let pair = (sites[at].holder(), sites[at].called());
            let number = calls.entry(pair).or_default();
            numbers[at] = *number;
            *number += 1;
        }
        Places { numbers }
    }

    fn number(&self, at: usize) -> usize {
        self.numbers[at]
    }
}

/// Calls that a recording timed in all rounds that its profile rests on.
#[derive(Debug)]
pub struct Timed {
    called: HashSet<u32>,
    timed: HashSet<u32>,
    /// Functions that had calls timed.
    opened: HashSet<Function>,
    /// Functions that were called, whether theirs were or not.
    seen: HashSet<Function>,
    /// Functions whose calls would have been seen.
    reached: HashSet<Function>,
}

impl Timed {
    /// By ids of `table`: of the sites whose calls were timed all the time, and of those that intervals called.
    pub fn of(table: &SiteTable, timed: &[u32], called: &[u32]) -> Timed {
        let site = |id: &u32| &table.sites[*id as usize];
        let mut timed = Timed {
            opened: called.iter().filter_map(|id| site(id).holder()).collect(),
            seen: called.iter().map(|id| site(id).called()).collect(),
            timed: timed.iter().copied().collect(),
            called: called.iter().copied().collect(),
            reached: HashSet::new(),
        };
        timed.reach(table);
        timed
    }

    /// A function would have been seen if all calls that lead to it are timed; and so would what is called there.
    fn reach(&mut self, table: &SiteTable) {
        loop {
            let sites = (0..).zip(&table.sites);
            let (timed, untimed): (Vec<_>, Vec<_>) =
                sites.partition(|&(id, site)| self.times(id, site));
            let called = |sites: Vec<(u32, &Site)>| -> HashSet<Function> {
                sites.into_iter().map(|(_, site)| site.called()).collect()
            };
            let (found, unseen) = (called(timed), called(untimed));
            let before = self.reached.len();
            self.reached.extend(found.difference(&unseen).cloned());
            if self.reached.len() == before {
                return;
            }
        }
    }

    /// Whether the recording's intervals called the site.
    pub fn called(&self, id: u32) -> bool {
        self.called.contains(&id)
    }

    /// Whether a call of the site would have been timed, as far as that is known. If nothing in its function was timed, it would if the
    /// function never ran, which is known where all calls that lead to it are timed.
    pub fn times(&self, id: u32, site: &Site) -> bool {
        match site.holder() {
            Some(holder) if !self.opened.contains(&holder) => {
                !self.seen.contains(&holder) && self.reached.contains(&holder)
            }
            _ => self.timed.contains(&id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites(sites: &[(&str, &str)]) -> SiteTable {
        let site = |&(site, callee): &(&str, &str)| {
            let (caller, offset) = site.split_once("+0x").unwrap();
            Site {
                caller: caller.into(),
                callee: callee.into(),
                address: u64::from_str_radix(offset, 16).ok(),
                site: site.into(),
                ..Site::default()
            }
        };
        SiteTable {
            sites: sites.iter().map(site).collect(),
            ..SiteTable::default()
        }
    }

    /// The second build has f's two calls of g elsewhere, and planted them the other way round; a function without a name is
    /// another's.
    #[test]
    fn builds_are_matched_by_function() {
        let one = sites(&[("f+0x10", "g"), ("f+0x20", "g"), ("0x500+0x1", "g")]);
        let two = sites(&[("f+0x35", "g"), ("f+0x15", "g"), ("0x500+0x1", "g")]);
        let mut identities = Identities::default();
        assert_eq!(identities.add(&one, "aa", false), [0, 1, 2]);
        assert_eq!(identities.add(&two, "bb", false), [1, 0, 3]);
        assert_eq!(identities.table.sites.len(), 4);
        let mut same = Identities::default();
        assert_eq!(same.add(&one, "aa", true), [0, 1, 2]);
        assert_eq!(same.add(&two, "aa", true), [3, 4, 2]);
    }

    /// f calls g and h, h calls i. A recording that called g and h, but timed nothing in h, does not time i; one that never saw h
    /// would have.
    #[test]
    fn timed_sites_are_known() {
        let table = sites(&[
            ("f+0x1", "g"),
            ("f+0x2", "h"),
            ("h+0x1", "i"),
            ("f+0x3", "k"),
        ]);
        let not_opened = Timed::of(&table, &[0, 1], &[0, 1]);
        let times = |timed: &Timed, id: u32| timed.times(id, &table.sites[id as usize]);
        assert_eq!(
            [0, 1, 2, 3].map(|id| times(&not_opened, id)),
            [true, true, false, false]
        );
        let never_ran = Timed::of(&table, &[0, 1, 3], &[0]);
        assert_eq!([0, 1, 2, 3].map(|id| times(&never_ran, id)), [true; 4]);
    }

    /// f calls h by a jump that nobody times, and h calls i, which calls k. Another recording has calls in h alone: whether h ran is not
    /// known.
    #[test]
    fn what_nobody_would_have_seen_is_not_taken_for_never_run() {
        let table = sites(&[("f+0x1", "g"), ("h+0x1", "i"), ("i+0x1", "k")]);
        let one = Timed::of(&table, &[0], &[0]);
        let times = [0, 1, 2].map(|id| one.times(id, &table.sites[id as usize]));
        assert_eq!(times, [true, false, false]);
    }

    /// f and g call h, which calls i. f's call was timed, and never made; g's was not timed, so h may have run.
    #[test]
    fn a_function_has_not_run_if_none_of_its_calls_was_made() {
        let table = sites(&[
            ("f+0x1", "h"),
            ("f+0x2", "g"),
            ("g+0x1", "h"),
            ("h+0x1", "i"),
        ]);
        let one = Timed::of(&table, &[0, 1], &[1]);
        let times = [0, 2, 3].map(|id| one.times(id, &table.sites[id as usize]));
        assert_eq!(times, [true, false, false]);
    }

    /// f calls g, which calls h: in one of two rounds only, since the other did not time it.
    #[test]
    fn what_one_round_called_and_another_did_not_time_is_not_timed() {
        let table = sites(&[("f+0x1", "g"), ("g+0x1", "h")]);
        let one = Timed::of(&table, &[0], &[0, 1]);
        assert_eq!(
            [0, 1].map(|id| one.times(id, &table.sites[id as usize])),
            [true, false]
        );
    }
}
