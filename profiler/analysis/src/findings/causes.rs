//! Attributes each node's time to one of the interval's own functions.
//!
//! A *context* is a chain of functions that explain something, from the interval down. Plumbing of the C library and of
//! servers, and functions without a name, belong to their callers, also where only the call out of these is timed.
//! Everything below a wait belongs to the function that waits. Time without a responsible function has separate
//! contexts: no processor, a page fault, waiting for its turn.

use rustc_hash::FxHashMap;

use super::plumbing::{is_plumbing, is_unnamed};
use crate::critical::states::State;
use crate::sites::Function;
use crate::sums::parts::{Part, VarianceTree};
use crate::sums::paths::{PROBES, ROOT};

/// The interval itself: the time of this context is in no finding.
pub const TOP: u32 = 0;
/// Name of the time in which a thread is runnable or woken, but has no processor.
pub(crate) const NO_PROCESSOR: &str = "waiting for a CPU";

/// A function and the chain that leads to it.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Index into [`Causes::names`].
    pub function: u32,
    /// The context above; [`TOP`] is its own.
    pub above: u32,
}

/// The contexts of a tree.
#[derive(Debug, Default)]
pub struct Causes {
    /// Contexts; a context precedes those below it.
    pub contexts: Vec<Context>,
    /// Functions, and states without a responsible function.
    pub names: Vec<Function>,
    /// By node: its context; [`TOP`] for nodes that were not taken.
    pub of_node: Vec<u32>,
    /// By node: whether it lies below one of the `crossings`.
    pub is_foreign: Vec<bool>,
    /// Nodes at which a path leaves the interval for the thread that it waits for.
    pub crossings: Vec<u32>,
    ids: FxHashMap<Function, u32>,
    interned: FxHashMap<(u32, u32), u32>,
}

impl Causes {
    /// Finds the context of every node.
    pub fn of(tree: &VarianceTree<'_>) -> Causes {
        let nodes = tree.paths.all().len();
        let mut causes = Causes {
            of_node: vec![TOP; nodes],
            is_foreign: vec![false; nodes],
            ..Causes::default()
        };
        let root = causes.id(in_words(tree.name(Part::Call(ROOT))));
        causes.contexts.push(Context {
            function: root,
            above: TOP,
        });
        // Below these nothing changes the context.
        let mut is_settled = vec![false; nodes];
        for node in tree.nodes() {
            let at = node as usize;
            let above = tree.paths.get(node).parent as usize;
            let here = causes.of_node[above];
            if node == ROOT {
                if tree.is_opened(ROOT) || !tree.children(ROOT).is_empty() {
                    let own = tree.name(Part::Body(ROOT));
                    causes.of_node[at] = causes.below(TOP, in_words(own));
                }
                continue;
            }
            let here = if above == ROOT as usize { TOP } else { here };
            is_settled[at] = is_settled[above];
            causes.is_foreign[at] = causes.is_foreign[above];
            causes.of_node[at] = if is_settled[at] || node == PROBES {
                here
            } else {
                is_settled[at] = settles(tree.state(node));
                if is_crossing(tree.state(node)) {
                    causes.crossings.push(node);
                    causes.is_foreign[at] = true;
                }
                causes.step(tree, node, here)
            };
        }
        causes
    }

    /// The context of a node of the interval's own, `here` being that above it.
    fn step(&mut self, tree: &VarianceTree<'_>, node: u32, here: u32) -> u32 {
        match tree.state(node) {
            Some(State::Preempted | State::Woken) => {
                self.below(TOP, in_words(NO_PROCESSOR.to_owned()))
            }
            Some(State::Fault | State::Turn | State::Queued) => {
                self.below(TOP, in_words(tree.name(Part::Call(node))))
            }
            Some(_) if here != TOP => here,
            None => {
                let function = tree.function(Part::Call(node));
                if here == TOP || !self.tells_less(&function, here) {
                    return self.below(here, function);
                }
                match tree.untimed_caller(node) {
                    Some(caller) if !self.tells_less(&caller, here) => self.below(here, caller),
                    _ => here,
                }
            }
            // A wait of the interval's own, outside of every call.
            Some(state) if state.is_crossing() || state == State::Helper => here,
            Some(_) => self.below(TOP, in_words(tree.name(Part::Call(node)))),
        }
    }

    /// Whether a function explains less than the context that calls it.
    fn tells_less(&self, function: &Function, here: u32) -> bool {
        let (above, name) = (self.function(here), &function.name);
        function == above || is_plumbing(name) || (is_unnamed(name) && !is_unnamed(&above.name))
    }

    fn id(&mut self, name: Function) -> u32 {
        let next = self.names.len() as u32;
        match self.ids.get(&name) {
            Some(&id) => id,
            None => {
                self.names.push(name.clone());
                self.ids.insert(name, next);
                next
            }
        }
    }

    fn below(&mut self, above: u32, function: Function) -> u32 {
        let function = self.id(function);
        let next = self.contexts.len() as u32;
        let found = *self.interned.entry((above, function)).or_insert(next);
        if found == next {
            self.contexts.push(Context { function, above });
        }
        found
    }

    /// A context's function.
    pub fn function(&self, context: u32) -> &Function {
        &self.names[self.contexts[context as usize].function as usize]
    }

    /// Whether a call enters its context from another one.
    pub fn enters(&self, tree: &VarianceTree<'_>, node: u32) -> bool {
        let above = tree.paths.get(node).parent;
        let here = self.of_node[node as usize];
        node != ROOT && here != TOP && (above == ROOT || self.of_node[above as usize] != here)
    }

    /// The function and its caller: the subject of a finding, whatever path leads to it.
    pub fn key(&self, context: u32) -> [u32; 2] {
        let Context {
            function, above, ..
        } = self.contexts[context as usize];
        [function, self.contexts[above as usize].function]
    }
}

/// What is named by words.
fn in_words(name: String) -> Function {
    Function { name, file: None }
}

fn is_crossing(state: Option<State>) -> bool {
    state.is_some_and(State::is_crossing)
}

fn settles(state: Option<State>) -> bool {
    let is_no_doing = matches!(state, Some(State::Preempted | State::Woken | State::Fault));
    is_crossing(state) || is_no_doing
}
