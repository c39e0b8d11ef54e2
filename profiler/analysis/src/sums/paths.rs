//! Call paths: the nodes of the variance tree.
//!
//! A node is a call path from the interval's root, so one function called from two places is two nodes. Where the
//! path waits or crosses to another thread, a step is a `State` instead of a probe. Nodes are numbered in order of
//! discovery, parents before children. The step from (parent, probe) to a node is made once a record. So it is one
//! multiplication and, nearly always, one load from an open-addressing table of 8-byte slots.
//!
//! The tree is bounded. A call beyond a bound is **folded**: its time stays in the body of its caller, and so do the
//! calls below it. Vectors still close; [`Paths::folded`] says how often it happened.
//!
//! Intervals may wait for intervals that wait for others, as at a contended row; then paths that cross from one to
//! the next multiply without end. Therefore paths below crossings have only a part of the nodes, which halves with
//! each of the first crossings. They never crowd out the interval's own calls, nor deep ones those of the first
//! crossing. Time that is not crossed into stays with the wait.

use crate::critical::states::{CALL_STEPS, State};

/// The interval itself.
pub const ROOT: u32 = 0;
/// A child of the root that receives what the probes themselves cost.
pub(crate) const PROBES: u32 = 1;
/// Nodes of one tree, at most.
pub(crate) const NODES_MAX: usize = 1 << 14;
/// Calls nested below the root, at most: a tree this deep still fits the recursion limit of JSON parsers (128
/// brackets, two for each level).
pub const DEPTH_MAX: u32 = 56;
/// Pairs of siblings of one tree, at most: they are squares of the number of children and dominate the memory.
pub(crate) const PAIRS_MAX: usize = 1 << 17;
/// The share of nodes and pairs for paths below any number of crossings, in halvings.
const HALVINGS_MAX: u32 = 5;
/// Ordinal of the body among the children of its node.
pub(crate) const BODY_ORDINAL: u32 = 0;

/// A call path.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// The node above; the root is its own parent.
    pub parent: u32,
    /// The probe called, absent at [`ROOT`], at `PROBES` and where `state` is present.
    pub probe: Option<u32>,
    /// The state, where the path does not continue by a call.
    pub state: Option<State>,
    /// Calls from the root: 0 for the root.
    pub depth: u32,
    /// Position among the parent's children in order of discovery, from 1: 0 is the parent's body.
    pub ordinal: u32,
    /// Where this node's row of pairs begins: the pair with the sibling of ordinal `o < ordinal` is `row + o`.
    pub row: usize,
    /// Children discovered so far, the body not counted.
    pub children: u32,
    /// Steps above it, and itself, that cross to another thread's work.
    pub(crate) crossings: u32,
}

/// All call paths of one round. Ids are indices, below `NODES_MAX`.
#[derive(Clone, Debug)]
pub struct Paths {
    nodes: Vec<Path>,
    /// `parent << 40 | step << 16 | node`, or [`EMPTY`].
    slots: Vec<u64>,
    /// 64 - log2(slots).
    shift: u32,
    pairs: usize,
    folded: u64,
    /// By probe id: calls that are no steps of their own ([`Paths::without`]).
    untimed: Vec<bool>,
}

const EMPTY: u64 = u64::MAX;
const NODE_BITS: u32 = 16;
/// A step is a probe id or, from [`CALL_STEPS`] up, a [`State`].
const STEP_BITS: u32 = 24;
const SLOTS_FIRST_LOG2: u32 = 8;

impl Default for Paths {
    fn default() -> Paths {
        let root = Path {
            parent: ROOT,
            probe: None,
            state: None,
            depth: 0,
            ordinal: 0,
            row: 0,
            children: 0,
            crossings: 0,
        };
        let mut paths = Paths {
            nodes: vec![root],
            slots: vec![EMPTY; 1 << SLOTS_FIRST_LOG2],
            shift: 64 - SLOTS_FIRST_LOG2,
            pairs: 0,
            folded: 0,
            untimed: Vec::new(),
        };
        paths.append(ROOT, None);
        paths
    }
}

impl Paths {
    /// The node of a step made directly from `parent`, a call of the probe with this id or a `State::step`, or nothing
    /// where it has to be folded.
    #[inline]
    pub fn child(&mut self, parent: u32, step: u32) -> Option<u32> {
        self.found_or(parent, step, Paths::discover)
    }

    /// Whether the path was taken before.
    pub(crate) fn has(&self, parent: u32, step: u32) -> bool {
        self.find(parent, step).is_some()
    }

    /// Adds a path that was found earlier, in another tree: only as bounded as all trees together.
    pub(crate) fn again(&mut self, parent: u32, step: u32) -> Option<u32> {
        self.found_or(parent, step, Paths::add)
    }

    #[inline]
    fn found_or(
        &mut self,
        parent: u32,
        step: u32,
        new: impl FnOnce(&mut Paths, u32, u32) -> Option<u32>,
    ) -> Option<u32> {
        let key = u64::from(parent) << STEP_BITS | u64::from(step);
        let mut at = self.slot_of(key);
        loop {
            let slot = self.slots[at];
            if slot >> NODE_BITS == key {
                return Some(slot as u32 & ((1 << NODE_BITS) - 1));
            }
            if slot == EMPTY {
                return new(self, parent, step);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// The node of a step made directly from `parent`, if there is one.
    pub fn find(&self, parent: u32, step: u32) -> Option<u32> {
        let key = u64::from(parent) << STEP_BITS | u64::from(step);
        let mut at = self.slot_of(key);
        loop {
            match self.slots[at] {
                EMPTY => return None,
                slot if slot >> NODE_BITS == key => {
                    return Some(slot as u32 & ((1 << NODE_BITS) - 1));
                }
                _ => at = (at + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// An empty tree, without paths through these probes. Time of their calls is their callers' own, as if they were
    /// not timed, and their callees become their callers'. By probe id; those beyond the end are timed.
    pub fn without(untimed: Vec<bool>) -> Paths {
        Paths {
            untimed,
            ..Paths::default()
        }
    }

    /// Whether calls of a probe are no steps of their own.
    #[inline]
    pub(crate) fn is_untimed(&self, step: u32) -> bool {
        self.untimed.get(step as usize) == Some(&true)
    }

    /// The path with this id.
    #[inline]
    pub fn get(&self, node: u32) -> &Path {
        &self.nodes[node as usize]
    }

    /// All paths, parents before children; index = id.
    pub fn all(&self) -> &[Path] {
        &self.nodes
    }

    /// Pairs of siblings, bodies included: the length of a vector indexed by [`Paths::pair`].
    pub fn pairs(&self) -> usize {
        self.pairs
    }

    /// Index of the pair of two different children of one node.
    pub fn pair(&self, a: u32, b: u32) -> usize {
        let (a, b) = (self.get(a), self.get(b));
        debug_assert!(a.parent == b.parent && a.ordinal != b.ordinal);
        let later = if a.ordinal > b.ordinal { a } else { b };
        later.row + a.ordinal.min(b.ordinal) as usize
    }

    /// Index of the pair of a node and the body of its parent.
    pub(crate) fn pair_with_body(&self, node: u32) -> usize {
        self.get(node).row + BODY_ORDINAL as usize
    }

    /// Calls that were folded into their caller's body.
    pub fn folded(&self) -> u64 {
        self.folded
    }

    /// Counts `calls` folded calls.
    pub(crate) fn count_folded(&mut self, calls: u64) {
        self.folded += calls;
    }

    #[cold]
    fn discover(&mut self, parent: u32, step: u32) -> Option<u32> {
        let above = self.get(parent).crossings;
        let crossings = above + u32::from(crosses(step));
        // Work that is crossed into has room for its calls.
        let halvings = crossings + (crossings - above);
        let fits =
            |used: usize, most: usize| crossings == 0 || used < most >> halvings.min(HALVINGS_MAX);
        if !fits(self.nodes.len(), NODES_MAX) || !fits(self.pairs, PAIRS_MAX) {
            return None;
        }
        self.add(parent, step)
    }

    #[cold]
    fn add(&mut self, parent: u32, step: u32) -> Option<u32> {
        let above = self.get(parent);
        let row_len = above.children as usize + 1;
        if self.nodes.len() >= NODES_MAX
            || above.depth >= DEPTH_MAX
            || self.pairs + row_len > PAIRS_MAX
        {
            return None;
        }
        let node = self.append(parent, Some(step));
        if self.nodes.len() * 2 > self.slots.len() {
            self.grow();
        }
        let key = u64::from(parent) << STEP_BITS | u64::from(step);
        self.insert(key << NODE_BITS | u64::from(node));
        Some(node)
    }

    fn append(&mut self, parent: u32, step: Option<u32>) -> u32 {
        let node = self.nodes.len() as u32;
        let above = &mut self.nodes[parent as usize];
        above.children += 1;
        let (ordinal, depth) = (above.children, above.depth + 1);
        let crossings = above.crossings + u32::from(step.is_some_and(crosses));
        self.nodes.push(Path {
            parent,
            probe: step.filter(|&step| step < CALL_STEPS),
            state: step.and_then(State::of_step),
            depth,
            ordinal,
            row: self.pairs,
            children: 0,
            crossings,
        });
        self.pairs += ordinal as usize;
        node
    }

    fn grow(&mut self) {
        self.shift -= 1;
        let len = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, vec![EMPTY; len]);
        old.into_iter()
            .filter(|&slot| slot != EMPTY)
            .for_each(|slot| self.insert(slot));
    }

    fn insert(&mut self, slot: u64) {
        let mut at = self.slot_of(slot >> NODE_BITS);
        while self.slots[at] != EMPTY {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = slot;
    }

    /// Fibonacci hashing: the top bits of a product with 2^64 / golden ratio.
    #[inline]
    fn slot_of(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }
}

/// Whether a step leads to another thread's work, which may wait for yet another's.
fn crosses(step: u32) -> bool {
    State::of_step(step).is_some_and(|state| state.is_crossing() || state == State::Helper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_again_and_rows_are_triangular() {
        let mut paths = Paths::default();
        let a = paths.child(ROOT, 7).unwrap();
        let b = paths.child(ROOT, 9).unwrap();
        let under_a = paths.child(a, 9).unwrap();
        assert_eq!(
            (paths.child(ROOT, 7), paths.child(a, 9)),
            (Some(a), Some(under_a))
        );
        // Children of the root are body 0, probe 1, a 2 and b 3: rows of 1, 2 and 3 pairs. Under a is one row of 1.
        assert_eq!(
            (paths.pair(a, b), paths.pair_with_body(b), paths.pairs()),
            (5, 3, 7)
        );
    }

    #[test]
    fn many_paths_survive_growth_and_the_bounds_hold() {
        let mut paths = Paths::default();
        let mut parent = ROOT;
        for depth in 1..=DEPTH_MAX {
            parent = paths.child(parent, 3).unwrap();
            assert_eq!(paths.get(parent).depth, depth);
        }
        assert_eq!(paths.child(parent, 3), None, "too deep");
        let found: Vec<_> = (0..2000).map(|probe| paths.child(ROOT, probe)).collect();
        let again: Vec<_> = (0..2000).map(|probe| paths.child(ROOT, probe)).collect();
        assert_eq!(found, again);
        assert!(
            found.contains(&None) && paths.pairs() <= PAIRS_MAX,
            "2000 siblings have 2,000,000 pairs"
        );
    }
    /// A chain of intervals that wait for each other, each with many calls, leaves room for the interval's own calls,
    /// and for those of its first holder.
    #[test]
    fn crossings_leave_room_for_what_is_above_them() {
        let mut paths = Paths::default();
        let mut ends = vec![ROOT];
        for _ in 0..8 {
            let calls = |&at: &u32| (0..8).map(move |call| (at, call)).collect::<Vec<_>>();
            let called: Vec<(u32, u32)> = ends.iter().flat_map(calls).collect();
            let called = called
                .into_iter()
                .filter_map(|(at, call)| paths.child(at, call));
            let called: Vec<u32> = called.collect();
            let other = State::Other(0).step();
            let crossed = called.iter().filter_map(|&at| paths.child(at, other));
            ends = crossed.collect();
        }
        assert!(paths.all().len() < NODES_MAX / 2, "{}", paths.all().len());
        let own = (0..100).map(|call| paths.child(ROOT, 100 + call));
        let own: Option<Vec<u32>> = own.collect();
        let first = paths.child(
            own.expect("room for own calls")[0],
            State::Unrecorded.step(),
        );
        assert!(first.is_some_and(|first| paths.child(first, 1).is_some()));
        // What was found in one tree is there in one that is made of it.
        let mut again = Paths::default();
        for path in &paths.all()[2..] {
            let step = path.probe.or_else(|| path.state.map(State::step));
            assert!(again.again(path.parent, step.unwrap()).is_some());
        }
    }
}
