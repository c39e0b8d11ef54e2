//! Programs whose cause of variance a search may find.

use std::collections::HashMap;

use evenkeel_wire::Form;

use crate::plan::Planned;
use crate::tests::example::{at, planned};

/// The interval's function.
pub(super) const ROOT: u64 = 1;
/// The one with the loop.
pub(super) const LOOP: u64 = 50;

/// Callers and callees, each function once, and the share of each function's own time by phase of the load.
pub(super) struct Program {
    pub(super) calls: Vec<(u64, u64)>,
    pub(super) own: HashMap<u64, [f64; 2]>,
    /// Number of times that an interval calls a function of a loop.
    pub(super) turns: HashMap<u64, f64>,
    /// The part of their variance that this explains.
    pub(super) explained: f64,
    /// Cost of a probe, relative to the latency.
    pub(super) of_a_call: f64,
}

impl Program {
    /// A chain of `depth` calls, whose last function has `culprit`. Each of its functions has a second callee with a
    /// hundredth of the share, which makes two small calls. Another chain has a share in the second phase alone.
    pub(super) fn new(depth: u64, culprit: [f64; 2], late: [f64; 2]) -> Program {
        let (mut calls, mut own) = (Vec::new(), HashMap::new());
        for (first, shares) in [(100, culprit), (200, late)] {
            calls.push((ROOT, first));
            calls.extend((first + 1..first + depth).map(|callee| (callee - 1, callee)));
            own.insert(first + depth - 1, shares);
        }
        for small in 300..320 {
            calls.push((ROOT, small));
            own.insert(small, [0.004, 0.004]);
            for below in [10 * small, 10 * small + 1] {
                calls.push((small, below));
                own.insert(below, [0.003, 0.003]);
            }
        }
        Program {
            calls,
            own,
            turns: HashMap::new(),
            explained: 0.0,
            of_a_call: 0.0,
        }
    }

    /// A loop of 470 turns in the interval's only call, through five functions below each other, each beside two of 3
    /// %: as keys are derived. A probe in each turn is 5.6 % of the latency.
    pub(super) fn looping(explained: f64) -> Program {
        let mut program = Program {
            calls: vec![(ROOT, LOOP)],
            own: HashMap::from([(LOOP, [0.1, 0.1]), (LOOP + 5, [0.6, 0.6])]),
            turns: HashMap::new(),
            explained,
            of_a_call: 17.6 / 147e3,
        };
        for caller in LOOP..LOOP + 5 {
            for callee in [caller + 1, 10 * caller, 10 * caller + 1] {
                program.calls.push((caller, callee));
                program.turns.insert(callee, 470.0);
            }
            for small in [10 * caller, 10 * caller + 1] {
                program.own.insert(small, [0.03, 0.03]);
            }
        }
        program
    }

    pub(super) fn calls_of(&self, function: u64) -> f64 {
        self.turns.get(&function).copied().unwrap_or(1.0)
    }

    /// Var(X) / Var(L) of what has a share: parts of a loop vary together.
    pub(super) fn variance(&self, function: u64, share: f64) -> f64 {
        match self.turns.contains_key(&function) {
            true => share.max(0.0).powi(2),
            false => share.max(0.0),
        }
    }

    pub(super) fn share(&self, function: u64, phase: usize) -> f64 {
        let below = self.calls.iter().filter(|(caller, _)| *caller == function);
        let below: f64 = below.map(|&(_, callee)| self.share(callee, phase)).sum();
        below + self.own.get(&function).map_or(0.0, |shares| shares[phase])
    }

    pub(super) fn probes(&self) -> Vec<Planned> {
        let callees = self.calls.iter().map(|&(_, callee)| at(callee));
        callees
            .map(|callee| planned(Some(callee), Form::Call))
            .collect()
    }
}
