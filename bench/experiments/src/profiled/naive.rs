//! Number of runs of a search that breaks down every function, from the static call graph: figure 2.3, right.

use std::collections::BTreeSet;
use std::path::Path;

use evenkeel_servers::{MariaDb, Options, PostgreSql};
use evenkeel_symbols::{Callee, DebugSources, Module};

use crate::experiment::Context;
use crate::verdict::Claim;

/// Runs of the naive search over those of VProfiler in MySQL: 2e15 nodes, 4.5e14 of them leaves, and table 2.5's 37 runs.
const PAPERS_FACTOR: f64 = (2e15 - 4.5e14) / 37.0;

/// The tree of all call paths below a function.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tree {
    nodes: f64,
    /// Functions that call others: each has to be broken down.
    inner: f64,
}

/// A server, the function below which its requests are executed, and the experiment whose profile says how many rounds the search took.
struct Server {
    name: &'static str,
    root: &'static str,
    profiled: &'static str,
    paper: Option<f64>,
}

const SERVERS: [Server; 2] = [
    Server {
        name: "MariaDB",
        root: "dispatch_command",
        profiled: "table-2.1",
        paper: Some(PAPERS_FACTOR),
    },
    Server {
        name: "PostgreSQL",
        root: "PostgresMain",
        profiled: "table-2.2",
        paper: None,
    },
];

/// The claims, and what is to be said of them or lacks.
pub(crate) fn claims(context: &Context<'_>) -> (Vec<Claim>, Vec<String>) {
    let (mut claims, mut remarks) = (Vec::new(), Vec::new());
    for server in &SERVERS {
        let tree = match tree(server) {
            Ok(tree) => tree,
            Err(why) => {
                remarks.push(format!("No static call graph of {}: {why}.", server.name));
                continue;
            }
        };
        let earlier = context.earlier.iter();
        let rounds = earlier
            .filter(|outcome| outcome.id == server.profiled)
            .find_map(|outcome| outcome.finding.numbers.get("rounds").copied());
        remarks.push(format!(
            "{}: the tree of direct calls below {} has {:.1e} nodes; {:.1e} have callees.",
            server.name, server.root, tree.nodes, tree.inner
        ));
        let Some(rounds) = rounds else {
            remarks.push(format!(
                "How many rounds the search takes is not known without {}.",
                server.profiled
            ));
            continue;
        };
        let what = format!("{}, runs of a naive search over rounds", server.name);
        let factor = tree.inner / rounds;
        claims.push(match server.paper {
            Some(paper) => Claim::factor(what, paper, factor, [factor; 2]),
            None => Claim::more(what, factor, [factor; 2]),
        });
    }
    (claims, remarks)
}

fn tree(server: &Server) -> Result<Tree, String> {
    let options = Options::default();
    let program = if server.name == "MariaDB" {
        MariaDb::prepare(&options).map(|server| server.launch().program)
    } else {
        PostgreSql::prepare(&options).map(|server| server.launch().program)
    };
    let program = program.map_err(|error| error.to_string())?;
    let module = Module::load(Path::new(&program), &DebugSources::none());
    let module = module.map_err(|error| error.to_string())?;
    let root = module
        .find(server.root)
        .map_err(|error| error.to_string())?;
    below(&module, root).ok_or_else(|| format!("{} is not in it", server.root))
}

/// The tree below the function at `root`. Calls back into a cycle are left out, as those within it: a tree with them has no end. What is
/// outside of the module is a leaf, and what is called through a pointer is one leaf.
fn below(module: &Module, root: u64) -> Option<Tree> {
    let (functions, heights) = (module.functions(), module.heights());
    let mut order: Vec<usize> = (0..functions.len()).collect();
    order.sort_by_key(|&at| heights[at]);
    let mut trees = vec![Tree::default(); functions.len()];
    let index_of = |entry: u64| functions.binary_search_by_key(&entry, |one| one.entry).ok();
    for at in order {
        let sites = module.call_sites(functions[at].entry);
        let (mut inside, mut outside) = (BTreeSet::new(), BTreeSet::new());
        for site in sites {
            match site.callee {
                Callee::Function(entry) => inside.extend(index_of(entry)),
                Callee::Import(name) => drop(outside.insert(Some(name))),
                Callee::Pointer => drop(outside.insert(None)),
            }
        }
        // What calls itself in a circle is of one height.
        inside.retain(|&callee| heights[callee] < heights[at]);
        let leaves = outside.len() as f64;
        let sum = |part: fn(&Tree) -> f64| {
            inside
                .iter()
                .map(|&callee| part(&trees[callee]))
                .sum::<f64>()
        };
        let is_inner = !inside.is_empty() || !outside.is_empty();
        trees[at] = Tree {
            nodes: 1.0 + leaves + sum(|tree| tree.nodes),
            inner: f64::from(u8::from(is_inner)) + sum(|tree| tree.inner),
        };
    }
    index_of(root).map(|at| trees[at])
}
