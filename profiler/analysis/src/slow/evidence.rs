//! Stacks, gathered as a tree of calls.

use rustc_hash::FxHashMap;

use super::model::{SeenInside, SlowPath, SlowStacks};

/// Calls in the tree, at most; what lies deeper is counted at its callers.
const CALLS_MAX: usize = 1 << 16;
/// Intervals that a call remembers, so that one that is seen again counts once: more are not open at a time on its
/// path.
const RECENT_MAX: usize = 64;
/// Paths reported.
const PATHS_MAX: usize = 8;
/// A path is reported if it has this part of the time.
const SHARE_MIN: f64 = 0.1;
/// Inside of a function, a call is followed that has this part of all that is seen there. A part of its caller is not
/// enough: half of a half is what few stacks show.
const FOLLOWED_MIN: f64 = 0.5;

/// A stack of an interval that is slow already.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlowStack {
    /// The functions, outermost first, from the interval's on.
    pub functions: Vec<String>,
    /// Number of the interval among those of the run that were looked at.
    pub interval: u64,
    /// How long the interval had lasted, ticks.
    pub age: u64,
    /// How much of that had passed since it was looked at before, or since it began.
    pub unseen: u64,
}

/// All stacks of a run.
#[derive(Debug, Default)]
pub struct Evidence {
    calls: Vec<Call>,
    /// By caller (`None`: the interval) and name.
    by_name: FxHashMap<(Option<usize>, String), usize>,
    stacks: u64,
    intervals: u64,
    longest: f64,
    weight: f64,
}

#[derive(Debug, Default)]
struct Call {
    name: String,
    below: Vec<usize>,
    seen: Seen,
    recent: Vec<u64>,
}

/// What was seen of a call.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    stacks: u64,
    intervals: u64,
    /// Sum of time times how long the interval had lasted: what a call adds to the squares of the latencies.
    weight: f64,
}

impl Seen {
    fn without(self, other: Seen) -> Seen {
        Seen {
            stacks: self.stacks - other.stacks,
            // An interval may have stood at both.
            intervals: self.intervals.min(self.stacks - other.stacks),
            weight: self.weight - other.weight,
        }
    }
}

impl Evidence {
    /// Adds a stack. `ratio` converts its recording's clock: these ticks for each of that clock's.
    pub fn add(&mut self, stack: &SlowStack, ratio: f64) {
        let (age, unseen) = (stack.age as f64 * ratio, stack.unseen as f64 * ratio);
        let weight = unseen * age;
        self.stacks += 1;
        self.intervals += u64::from(stack.unseen == stack.age);
        self.longest = self.longest.max(age);
        self.weight += weight;
        let mut above = None;
        let functions = &stack.functions;
        for (at, name) in functions.iter().enumerate() {
            // Stacks of one recursion differ in its depth alone.
            let is_deeper = at >= 2 && functions[at - 2..at].iter().all(|above| above == name);
            if is_deeper {
                continue;
            }
            let Some(at) = self.call(above, name) else {
                break;
            };
            let call = &mut self.calls[at];
            call.seen.stacks += 1;
            call.seen.weight += weight;
            if !call.recent.contains(&stack.interval) {
                call.seen.intervals += 1;
                if call.recent.len() == RECENT_MAX {
                    call.recent.remove(0);
                }
                call.recent.push(stack.interval);
            }
            above = Some(at);
        }
    }

    /// What follows is of another recording, whose intervals have numbers of their own.
    pub fn begin_recording(&mut self) {
        for call in &mut self.calls {
            call.recent.clear();
        }
    }

    fn call(&mut self, above: Option<usize>, name: &str) -> Option<usize> {
        let key = (above, name.to_owned());
        if let Some(&at) = self.by_name.get(&key) {
            return Some(at);
        }
        if self.calls.len() == CALLS_MAX {
            return None;
        }
        let at = self.calls.len();
        self.calls.push(Call {
            name: name.to_owned(),
            ..Call::default()
        });
        if let Some(above) = above {
            self.calls[above].below.push(at);
        }
        self.by_name.insert(key, at);
        Some(at)
    }

    /// For a report; nothing without stacks.
    pub fn summary(&self, ticks_per_ns: f64) -> Option<SlowStacks> {
        if self.stacks == 0 {
            return None;
        }
        let mut paths = Vec::new();
        for root in self.roots().into_iter().filter(|&root| self.is_large(root)) {
            self.largest(root, &mut Vec::new(), &mut paths);
        }
        paths.sort_by(|a, b| {
            let by_share = b.share.total_cmp(&a.share);
            by_share.then_with(|| a.functions.cmp(&b.functions))
        });
        paths.truncate(PATHS_MAX);
        Some(SlowStacks {
            stacks: self.stacks,
            intervals: self.intervals.max(1),
            longest_ns: self.longest / ticks_per_ns,
            common: self.common(),
            paths,
        })
    }

    fn is_large(&self, call: usize) -> bool {
        self.calls[call].seen.weight >= SHARE_MIN * self.weight
    }

    /// The deepest calls below this one that have a good part of the time, and this one, if it has a good part
    /// itself.
    fn largest(&self, at: usize, above: &mut Vec<String>, found: &mut Vec<SlowPath>) {
        let call = &self.calls[at];
        above.push(call.name.clone());
        let mut rest = call.seen;
        for &below in call.below.iter().filter(|&&below| self.is_large(below)) {
            rest = rest.without(self.calls[below].seen);
            self.largest(below, above, found);
        }
        if rest.weight >= SHARE_MIN * self.weight {
            found.push(SlowPath {
                functions: above.clone(),
                stacks: rest.stacks,
                intervals: rest.intervals,
                share: rest.weight / self.weight,
            });
        }
        above.pop();
    }

    /// Whether a stack has a function of this name.
    pub fn shows(&self, function: &str) -> bool {
        self.calls.iter().any(|call| call.name == function)
    }

    /// What stacks show inside of a function, by its name: the calls that have most of what is seen of it. Nothing
    /// where they show it itself at most, or not at all.
    pub fn inside(&self, function: &str) -> Option<SeenInside> {
        // In a recursion, the outermost.
        let mut at: Vec<usize> = Vec::new();
        let mut open = self.roots();
        while let Some(call) = open.pop() {
            match self.calls[call].name == function {
                true => at.push(call),
                false => open.extend(&self.calls[call].below),
            }
        }
        let all = self.seen_at(&at);
        let below = at.iter().flat_map(|&call| &self.calls[call].below);
        let (functions, seen) = self.followed(below.copied().collect(), all);
        (!functions.is_empty()).then_some(SeenInside {
            functions,
            stacks: seen.stacks,
            intervals: seen.intervals,
            of_stacks: all.stacks,
        })
    }

    /// The path that most of the time has in common.
    fn common(&self) -> SlowPath {
        let roots = self.roots();
        let all = self.seen_at(&roots);
        let (functions, seen) = self.followed(roots, all);
        SlowPath {
            functions,
            stacks: seen.stacks,
            intervals: seen.intervals,
            share: seen.weight / self.weight,
        }
    }

    fn roots(&self) -> Vec<usize> {
        let roots = self.by_name.iter();
        let roots = roots.filter(|((above, _), _)| above.is_none());
        roots.map(|(_, &root)| root).collect()
    }

    /// From these calls down, by name, as long as one has most of `all`.
    fn followed(&self, mut calls: Vec<usize>, all: Seen) -> (Vec<String>, Seen) {
        let (mut functions, mut here) = (Vec::new(), all);
        loop {
            let mut by_name: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
            for &call in &calls {
                by_name
                    .entry(&self.calls[call].name)
                    .or_default()
                    .push(call);
            }
            let sums = by_name.into_iter();
            let sums = sums.map(|(name, calls)| (self.seen_at(&calls), name, calls));
            let most = sums.max_by(|(a, name, _), (b, other, _)| {
                let by_weight = a.weight.total_cmp(&b.weight);
                by_weight.then_with(|| other.cmp(name))
            });
            let followed = most.filter(|(seen, ..)| seen.weight >= FOLLOWED_MIN * all.weight);
            let Some((seen, name, at)) = followed else {
                return (functions, here);
            };
            functions.push(name.to_owned());
            here = seen;
            let below = at.iter().flat_map(|&call| &self.calls[call].below);
            calls = below.copied().collect();
        }
    }

    fn seen_at(&self, calls: &[usize]) -> Seen {
        let seen = calls.iter().map(|&call| self.calls[call].seen);
        seen.fold(Seen::default(), |sum, seen| Seen {
            stacks: sum.stacks + seen.stacks,
            intervals: sum.intervals + seen.intervals,
            weight: sum.weight + seen.weight,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(path: &str, interval: u64, age: u64, unseen: u64) -> SlowStack {
        SlowStack {
            functions: path.split(" > ").map(str::to_owned).collect(),
            interval,
            age,
            unseen,
        }
    }

    fn evidence(stacks: &[SlowStack]) -> Evidence {
        let mut evidence = Evidence::default();
        for stack in stacks {
            evidence.add(stack, 1.0);
        }
        evidence
    }

    fn paths(evidence: &Evidence) -> Vec<(String, u64, u64)> {
        let summary = evidence.summary(1.0).unwrap();
        let paths = summary.paths.iter();
        let line = |path: &SlowPath| (path.functions.join(" > "), path.stacks, path.intervals);
        paths.map(line).collect()
    }

    /// Two intervals stood in `lock`, one of them twice; one, as long, in `read`. One short one somewhere else does not
    /// show.
    #[test]
    fn slow_intervals_stand_where_their_stacks_have_most_of_their_time() {
        let evidence = evidence(&[
            stack("request > work > lock > futex", 0, 100, 100),
            stack("request > work > lock > futex", 0, 200, 100),
            stack("request > work > lock > futex", 1, 100, 100),
            stack("request > read", 2, 150, 150),
            stack("request > parse", 3, 10, 10),
        ]);
        let expected = [
            ("request > work > lock > futex".to_owned(), 3, 2),
            ("request > read".to_owned(), 1, 1),
        ];
        assert_eq!(paths(&evidence), expected);
        let summary = evidence.summary(2.0).unwrap();
        assert_eq!((summary.stacks, summary.intervals), (5, 4));
        assert_eq!(summary.longest_ns, 100.0);
    }

    /// A function that calls itself is on a path twice, however deep the recursion is.
    #[test]
    fn the_depth_of_a_recursion_makes_no_other_path() {
        let stacks: Vec<SlowStack> = (1..12)
            .map(|depth| format!("request{} > read", " > match".repeat(depth)))
            .zip(0..)
            .map(|(path, interval)| stack(&path, interval, 100, 100))
            .collect();
        let expected = ("request > match > match > read".to_owned(), 10, 10);
        assert_eq!(paths(&evidence(&stacks)), [expected]);
    }

    /// `work` makes many different calls, each with less than a tenth of the time: it is the last common function.
    #[test]
    fn a_path_ends_where_the_calls_part() {
        let stacks: Vec<SlowStack> = (0..20)
            .map(|at| stack(&format!("request > work > f{at}"), at, 100, 100))
            .collect();
        assert_eq!(
            paths(&evidence(&stacks)),
            [("request > work".to_owned(), 20, 20)]
        );
    }

    /// A function that runs itself and calls another for a part of its time: both are shown, and their shares add up.
    #[test]
    fn a_caller_is_shown_for_what_it_has_beside_its_calls() {
        let evidence = evidence(&[
            stack("request > sort", 0, 100, 100),
            stack("request > sort > compare", 1, 100, 100),
        ]);
        let shares: Vec<f64> = evidence
            .summary(1.0)
            .unwrap()
            .paths
            .iter()
            .map(|p| p.share)
            .collect();
        assert_eq!(shares, [0.5, 0.5]);
    }

    #[test]
    fn inside_of_a_function_stacks_show_where_most_of_it_was() {
        let evidence = evidence(&[
            stack("request > run > lock > futex", 0, 100, 100),
            stack("request > again > run > lock > futex", 1, 100, 100),
            stack("request > run > sort", 2, 100, 100),
        ]);
        let inside = evidence.inside("run").unwrap();
        assert_eq!(inside.functions, ["lock", "futex"]);
        assert_eq!((inside.stacks, inside.of_stacks), (2, 3));
        assert_eq!(evidence.inside("futex"), None);
        assert_eq!(evidence.inside("nobody"), None);
        // lock has half of run, and a third of all.
        let common = evidence.summary(1.0).unwrap().common;
        assert_eq!(common.functions, ["request", "run"]);
        assert_eq!(common.stacks, 2);
    }

    /// Of two recordings, the second's clock has half of the first's ticks.
    #[test]
    fn recordings_add_up() {
        let mut evidence = evidence(&[stack("request > lock", 0, 100, 100)]);
        evidence.begin_recording();
        evidence.add(&stack("request > lock", 0, 50, 50), 2.0);
        let summary = evidence.summary(1.0).unwrap();
        assert_eq!((summary.intervals, summary.longest_ns), (2, 100.0));
        assert_eq!(summary.paths[0].intervals, 2);
    }

    #[test]
    fn nothing_is_reported_without_stacks() {
        assert_eq!(Evidence::default().summary(1.0), None);
    }
}
