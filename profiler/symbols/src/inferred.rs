//! Names of nameless functions, inferred from the rest of the program. The evidence is the function's callees, its
//! callers or the place that stores its address, and the strings that it refers to.
//!
//! A name is given only where exactly one nameless function fits, and shown with a `~` in front, so that nobody takes it for a symbol.

use std::collections::{HashMap, HashSet};

use crate::functions::FunctionKind;
use crate::module::Module;
use crate::names::Inferred;
use crate::sites::Callee;
use crate::symbols::unversioned;

/// Facts about a function without a symbol. Other functions are named by their symbol, by the import's name, or by a
/// name that an earlier fingerprint has inferred. Calls are direct ones and tail calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// Its name in the source.
    pub name: String,
    /// It calls all of these.
    pub calls: Vec<String>,
    /// It calls none of these.
    pub calls_none_of: Vec<String>,
    /// All of these call it.
    pub called_by: Vec<String>,
    /// All of these compute its address, to store it or to hand it on.
    pub address_in: Vec<String>,
    /// Its code refers to strings that begin with each of these.
    pub strings: Vec<String>,
}

impl Module {
    /// Names functions that have no name, in the order of `fingerprints`: each where exactly one function fits, and no symbol or
    /// fingerprint before has its name. A fingerprint that mentions a function that is not there fits nothing.
    pub fn infer_names(&mut self, fingerprints: &[Fingerprint]) {
        let mut search = Search::new(self);
        let mut found = Inferred::default();
        for fingerprint in fingerprints {
            if !search.is_known(&fingerprint.name, &found)
                && let Some(entry) = search.only_one(fingerprint, &found)
            {
                found
                    .by_entry
                    .insert(entry, fingerprint.name.clone().into());
            }
        }
        self.inferred = found;
    }
}

struct Search<'m> {
    module: &'m Module,
    /// Functions by the target of their calls: an entry, or the stub of an import.
    callers: HashMap<u64, HashSet<u64>>,
    /// The other way round.
    callees: HashMap<u64, HashSet<u64>>,
    /// Stubs by their import.
    stubs: HashMap<&'m str, Vec<u64>>,
    /// Addresses that the code of a function computes, as far as it was asked for.
    computed: HashMap<u64, HashSet<u64>>,
}

impl<'m> Search<'m> {
    fn new(module: &'m Module) -> Search<'m> {
        let mut callers: HashMap<u64, HashSet<u64>> = HashMap::new();
        let mut callees: HashMap<u64, HashSet<u64>> = HashMap::new();
        for (target, function) in module.graph.calls() {
            callers.entry(target).or_default().insert(function);
            callees.entry(function).or_default().insert(target);
        }
        let mut stubs: HashMap<&str, Vec<u64>> = HashMap::new();
        for (&stub, callee) in &module.stubs {
            if let Callee::Import(name) = callee {
                stubs.entry(unversioned(name)).or_default().push(stub);
            }
        }
        Search {
            module,
            callers,
            callees,
            stubs,
            computed: HashMap::new(),
        }
    }

    fn is_known(&self, name: &str, found: &Inferred) -> bool {
        !self.module.addresses_of(name).is_empty() || found.entry(name).is_some()
    }

    /// Addresses under which a function is called; none if there is no single one of the name.
    fn addresses(&self, name: &str, found: &Inferred) -> Vec<u64> {
        let own = match self.module.addresses_of(name) {
            [] => found.entry(name),
            [one] => Some(*one),
            _ => return Vec::new(),
        };
        let stubs = self.stubs.get(name).into_iter().flatten().copied();
        own.into_iter().chain(stubs).collect()
    }

    fn only_one(&mut self, fingerprint: &Fingerprint, found: &Inferred) -> Option<u64> {
        let mut candidates = self.candidates(fingerprint, found)?;
        candidates.retain(|&entry| {
            let function = self.module.function(entry);
            function.is_some_and(|function| function.kind == FunctionKind::Ordinary)
                && self.module.symbol(entry).is_none()
                && !found.by_entry.contains_key(&entry)
        });
        for name in &fingerprint.calls_none_of {
            let of_it = self.callers_of(name, found);
            candidates.retain(|entry| !of_it.contains(entry));
        }
        if !fingerprint.strings.is_empty() {
            candidates.retain(|&entry| self.refers_to(entry, &fingerprint.strings));
        }
        let mut candidates = candidates.into_iter();
        candidates.next().filter(|_| candidates.next().is_none())
    }

    /// Functions that fit by calls and addresses; `None` if the fingerprint has neither.
    fn candidates(&mut self, of: &Fingerprint, found: &Inferred) -> Option<HashSet<u64>> {
        let mut fitting: Option<HashSet<u64>> = None;
        let mut also = |fits: HashSet<u64>| {
            fitting = Some(match fitting.take() {
                Some(before) => before.intersection(&fits).copied().collect(),
                None => fits,
            });
        };
        for name in &of.calls {
            also(self.callers_of(name, found));
        }
        for name in &of.called_by {
            let called = |address| self.callees.get(&address).into_iter().flatten().copied();
            let callers = self.addresses(name, found);
            also(callers.into_iter().flat_map(called).collect());
        }
        for name in &of.address_in {
            let by = self.addresses(name, found);
            let computed = by
                .into_iter()
                .flat_map(|entry| self.computed(entry).clone());
            also(computed.collect());
        }
        fitting
    }

    fn callers_of(&self, name: &str, found: &Inferred) -> HashSet<u64> {
        let callers = |address| self.callers.get(&address).into_iter().flatten().copied();
        let addresses = self.addresses(name, found);
        addresses.into_iter().flat_map(callers).collect()
    }

    fn computed(&mut self, entry: u64) -> &HashSet<u64> {
        let module = self.module;
        let computed = || module.computed_in(entry).into_iter().collect();
        self.computed.entry(entry).or_insert_with(computed)
    }

    fn refers_to(&mut self, entry: u64, strings: &[String]) -> bool {
        let module = self.module;
        let computed = self.computed(entry);
        let holds = |address: u64, string: &String| module.string_at(address, string.as_bytes());
        strings
            .iter()
            .all(|string| computed.iter().any(|&address| holds(address, string)))
    }
}
