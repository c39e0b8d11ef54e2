//! Which modules of a crate name what is in others, and the circles among them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path as FilePath, PathBuf};

use crate::module::{Module, Path};

/// Files of a crate by their paths below `src`, with what is in them.
pub type Sources = BTreeMap<PathBuf, String>;
/// Modules that depend on each other, by name (`a/b` for `crate::a::b`).
pub type Circle = BTreeSet<String>;

/// A longer chain of re-exports is a loop.
const REEXPORTS_MAX: usize = 12;

/// The circles among the modules below a crate's root file.
///
/// There are two views. The first ignores `super::` and its like, because items declared above a module are visible
/// in it. It finds two parts of one module that name each other. The second view includes them, and there a set is no
/// circle if one of its modules contains all others. The root file is in no circle: it only declares and re-exports.
pub fn circles(sources: &Sources, root: &str) -> BTreeSet<Circle> {
    let modules = Modules::of(sources, root);
    let graph = modules.graph();
    let view = |counts: &dyn Fn(&Path, &Path) -> bool| -> BTreeMap<Path, BTreeSet<Path>> {
        let kept = |(from, to): (&Path, &BTreeSet<Path>)| {
            let to = to.iter().filter(|to| counts(from, to)).cloned().collect();
            (from.clone(), to)
        };
        graph.iter().map(kept).collect()
    };
    let from_above = view(&|from, to| !contains(to, from));
    let whole = view(&|_, to| !to.is_empty());
    let mut found = components(&from_above);
    found.extend(components(&whole).into_iter().filter(|circle| {
        let around = |outer: &Path| circle.iter().all(|inner| contains(outer, inner));
        !circle.iter().any(around)
    }));
    let names = |circle: BTreeSet<Path>| circle.iter().map(|path| path.join("/")).collect();
    found.into_iter().map(names).collect()
}

/// Whether `inner` is `outer` or a part of it.
fn contains(outer: &Path, inner: &Path) -> bool {
    inner.starts_with(outer)
}

struct Modules(BTreeMap<Path, Module>);

impl Modules {
    fn of(sources: &Sources, root: &str) -> Modules {
        let mut modules = Modules(BTreeMap::new());
        modules.add(sources, Path::new(), FilePath::new(root), FilePath::new(""));
        modules
    }

    /// Adds the module of a file, and those that it declares, whose files lie in `directory`.
    fn add(&mut self, sources: &Sources, name: Path, file: &FilePath, directory: &FilePath) {
        let module = Module::of(&sources[file]);
        for (child, files) in &module.children {
            let beside = file.parent().unwrap_or(FilePath::new(""));
            let named = files.iter().map(|file| beside.join(file));
            let usual = [
                directory.join(format!("{child}.rs")),
                directory.join(child).join("mod.rs"),
            ];
            // Of several architectures, the first: the others mirror it.
            let Some(file) = named.chain(usual).find(|file| sources.contains_key(file)) else {
                continue;
            };
            let below = match file.ends_with("mod.rs") {
                true => file.parent().expect("it lies in a directory").to_owned(),
                false => file.with_extension(""),
            };
            let name = [name.as_slice(), std::slice::from_ref(child)].concat();
            self.add(sources, name, &file, &below);
        }
        self.0.insert(name, module);
    }

    fn has_child(&self, of: &Path, name: &str) -> bool {
        let child = [of.as_slice(), &[name.to_owned()]].concat();
        self.0.contains_key(&child)
    }

    /// The module that has what `path` names in `from`; nothing if that is another crate's.
    fn resolve(&self, from: &Path, path: &[String], depth: usize) -> Option<Path> {
        let (first, rest) = path.split_first().filter(|_| depth < REEXPORTS_MAX)?;
        match first.as_str() {
            "crate" => self.descend(Path::new(), rest, depth),
            "self" => self.descend(from.clone(), rest, depth),
            "super" => {
                let up = path.iter().take_while(|name| *name == "super").count();
                let above = from[..from.len().saturating_sub(up)].to_vec();
                self.descend(above, &path[up..], depth)
            }
            name if self.has_child(from, name) => self.descend(from.clone(), path, depth),
            name => {
                let mut imports = self.0[from].imports.iter();
                let import = imports.find(|import| import.name == name && import.path != path)?;
                let path = [&import.path, rest].concat();
                self.resolve(from, &path, depth + 1)
            }
        }
    }

    fn descend(&self, mut module: Path, path: &[String], depth: usize) -> Option<Path> {
        let mut path = path;
        while let Some((name, rest)) = path.split_first() {
            if self.has_child(&module, name) {
                module.push(name.clone());
                path = rest;
                continue;
            }
            let here = &self.0[&module];
            if here.items.contains(name) {
                return Some(module);
            }
            if let Some(import) = here.imports.iter().find(|import| import.name == *name) {
                let path = [&import.path, rest].concat();
                return self.resolve(&module, &path, depth + 1);
            }
            let mut all = here.imports.iter().filter(|import| import.name == "*");
            let behind = all.find_map(|import| {
                let (_, path) = import.path.split_last()?;
                let behind = self.resolve(&module, path, depth + 1)?;
                self.0[&behind].items.contains(name).then_some(behind)
            });
            return behind.or(Some(module));
        }
        Some(module)
    }

    /// For each module the others that it names something of. What it only passes on to others it does not depend on.
    fn graph(&self) -> BTreeMap<Path, BTreeSet<Path>> {
        let named = |(name, module): (&Path, &Module)| {
            let imported = module.imports.iter().filter(|import| !import.public);
            let imported = imported.map(|import| match import.path.split_last() {
                Some((last, path)) if last == "*" => path,
                _ => &import.path[..],
            });
            let paths = module.paths.iter().map(Vec::as_slice);
            let targets = imported
                .chain(paths)
                .filter_map(|path| self.resolve(name, path, 0))
                .filter(|target| target != name);
            (name.clone(), targets.collect())
        };
        self.0.iter().map(named).collect()
    }
}

/// Sets of several modules that all reach each other (strongly connected components). Computed from the full
/// reachability, since crates are small.
fn components(graph: &BTreeMap<Path, BTreeSet<Path>>) -> BTreeSet<BTreeSet<Path>> {
    let reached = |from: &Path| {
        let mut seen: BTreeSet<Path> = BTreeSet::new();
        let mut pending = vec![from];
        while let Some(module) = pending.pop() {
            for next in &graph[module] {
                if seen.insert(next.clone()) {
                    pending.push(next);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&Path, BTreeSet<Path>> =
        graph.keys().map(|name| (name, reached(name))).collect();
    let component = |name: &Path| -> BTreeSet<Path> {
        let mutual = reached[name]
            .iter()
            .filter(|other| reached[*other].contains(name));
        mutual.cloned().collect()
    };
    graph
        .keys()
        .map(component)
        .filter(|component| component.len() > 1)
        .collect()
}
