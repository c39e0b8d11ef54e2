//! A request's critical path with the functions of profiled processes in it.

use super::{Joined, Piece, Processes, Stretch};
use crate::critical::Call;

/// The step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A span of the trace, by its index.
    Span(u32),
    /// A function, by its process and number, called in the service of a span.
    Function {
        /// Index of the process.
        process: usize,
        /// Index of its function.
        function: u32,
        /// Index of the span.
        span: u32,
    },
}

/// A stretch of a request's path that is within another: as [`Call`], in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The kind of step.
    pub what: What,
    /// Index of the step that it is within; its own for the first.
    pub within: u32,
    /// From, nanoseconds.
    pub start_ns: u64,
    /// To.
    pub end_ns: u64,
}

/// The steps of a path.
pub fn steps(path: &[Call], joined: &Joined, processes: &Processes) -> Vec<Step> {
    let as_step = |call: &Call, within: u32| Step {
        what: What::Span(call.span),
        within,
        start_ns: call.start_ns,
        end_ns: call.end_ns,
    };
    if joined.stretches.is_empty() {
        return path.iter().map(|call| as_step(call, call.within)).collect();
    }
    let mut steps: Vec<Step> = Vec::with_capacity(2 * path.len());
    // Calls that what comes next may be within, each by its place in the path: the last in time comes first.
    let mut open: Vec<Open> = Vec::new();
    for (at, call) in (0..).zip(path) {
        while open.last().is_some_and(|last| last.at != call.within) {
            let ended = open.pop().expect("there is a last");
            ended.fill(ended.start_ns, joined, processes, &mut steps);
        }
        let within = open.last_mut().map(|caller| {
            caller.fill(call.end_ns, joined, processes, &mut steps);
            caller.until_ns = call.start_ns;
            caller.step
        });
        let step = steps.len() as u32;
        steps.push(as_step(call, within.unwrap_or(step)));
        open.push(Open {
            at,
            step,
            span: call.span,
            start_ns: call.start_ns,
            until_ns: call.end_ns,
        });
    }
    while let Some(ended) = open.pop() {
        ended.fill(ended.start_ns, joined, processes, &mut steps);
    }
    steps
}

/// A call whose time is being filled, from its end to its beginning.
struct Open {
    /// Index in the path.
    at: u32,
    /// Index in the steps.
    step: u32,
    span: u32,
    start_ns: u64,
    /// Later times have been filled.
    until_ns: u64,
}

impl Open {
    /// Fills its own time from `from_ns` on with functions, those that were last first.
    fn fill(&self, from_ns: u64, joined: &Joined, processes: &Processes, steps: &mut Vec<Step>) {
        let Some(stretches) = joined.stretches.get(&self.span) else {
            return;
        };
        let mut chain = Chain {
            caller: self.step,
            span: self.span,
            open: Vec::new(),
        };
        let mut until_ns = self.until_ns;
        let end = stretches.partition_point(|(_, piece)| piece.from_ns < until_ns);
        let own = stretches[..end].iter().rev();
        for &(process, piece) in own.take_while(|(_, piece)| piece.to_ns > from_ns) {
            let clipped = Piece {
                from_ns: piece.from_ns.max(from_ns),
                to_ns: piece.to_ns.min(until_ns),
                ..piece
            };
            if clipped.to_ns < until_ns {
                chain.open.clear();
            }
            chain.go_back((process, clipped), processes, steps);
            until_ns = clipped.from_ns;
        }
    }
}

/// The functions that are active, while time goes back.
struct Chain {
    /// Index of the step that they are within.
    caller: u32,
    span: u32,
    /// Outermost first: process, function and step.
    open: Vec<(usize, u32, u32)>,
}

impl Chain {
    /// The stretch before. Functions that are active in both are one call.
    fn go_back(&mut self, (process, piece): Stretch, processes: &Processes, steps: &mut Vec<Step>) {
        let functions = &processes.all[process].functions;
        let mut active = Vec::new();
        let mut next = piece.function;
        while let Some(function) = next {
            active.push(function);
            next = functions[function as usize].parent;
        }
        active.reverse();
        let same = |(open, function): &(&(usize, u32, u32), &u32)| {
            (open.0, open.1) == (process, **function)
        };
        let common = self.open.iter().zip(&active).take_while(same).count();
        self.open.truncate(common);
        for &(.., step) in &self.open {
            steps[step as usize].start_ns = piece.from_ns;
        }
        for &function in &active[common..] {
            let within = self.open.last().map_or(self.caller, |&(.., step)| step);
            self.open.push((process, function, steps.len() as u32));
            steps.push(Step {
                what: What::Function {
                    process,
                    function,
                    span: self.span,
                },
                within,
                start_ns: piece.from_ns,
                end_ns: piece.to_ns,
            });
        }
    }
}
