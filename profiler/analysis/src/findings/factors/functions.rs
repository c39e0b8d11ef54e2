//! The functions of a tree, and their heights in the call graph.

use rustc_hash::FxHashMap;

use crate::sites::Function;
use crate::sums::parts::{Part, VarianceTree};
use crate::sums::paths::ROOT;

/// The functions of a tree, numbered in order of name.
#[derive(Debug)]
pub struct Functions {
    all: Vec<Function>,
    /// By number: the largest height over a function's sites.
    heights: Vec<u32>,
    /// Smallest height of the root: above the functions seen below it.
    root: u32,
    of_part: FxHashMap<Part, u32>,
}

impl Functions {
    /// Numbers them.
    pub fn of(tree: &VarianceTree<'_>) -> Functions {
        let parts = tree.all_parts();
        let mut all: Vec<Function> = parts.iter().map(|&part| tree.function(part)).collect();
        all.sort_unstable();
        all.dedup();
        let mut heights = vec![0; all.len()];
        let mut of_part = FxHashMap::default();
        for part in parts {
            let id = all
                .binary_search(&tree.function(part))
                .expect("collected above");
            heights[id] = tree.height(part).max(heights[id]);
            of_part.insert(part, id as u32);
        }
        let mut functions = Functions {
            all,
            heights,
            root: 1,
            of_part,
        };
        functions.raise(tree);
        functions
    }

    /// Raises functions above those that they were seen to call.
    fn raise(&mut self, tree: &VarianceTree<'_>) {
        let mut seen = vec![0; tree.paths.all().len()];
        // Callers precede their callees.
        for node in (1..seen.len() as u32).rev() {
            let part = Part::Call(node);
            let Some(&id) = self.of_part.get(&part) else {
                continue;
            };
            let height = self.heights[id as usize].max(seen[node as usize]);
            self.heights[id as usize] = height;
            let above = tree.paths.get(node).parent;
            if tree.state(node).is_none()
                && tree.site(node).is_some()
                && !self.is_nested(tree, part)
            {
                seen[above as usize] = height.saturating_add(1).max(seen[above as usize]);
            }
        }
        self.root = seen[ROOT as usize].max(1);
    }

    /// A function's name.
    pub fn name(&self, id: u32) -> String {
        self.all[id as usize].to_string()
    }

    /// Height in the call graph: above all functions that it was seen to call.
    pub fn height(&self, id: u32) -> u32 {
        self.heights[id as usize]
    }

    /// The function of a part.
    pub fn id(&self, part: Part) -> u32 {
        self.of_part[&part]
    }

    /// Whether a call lies below another call of the same function.
    pub fn is_nested(&self, tree: &VarianceTree<'_>, part: Part) -> bool {
        let Part::Call(node) = part else { return false };
        let mut above = node;
        while above != ROOT {
            above = tree.paths.get(above).parent;
            if self.id(Part::Call(above)) == self.id(part) {
                return true;
            }
        }
        false
    }

    /// Height of the call graph: the root's, above all functions seen below it.
    pub fn root_height(&self, tree: &VarianceTree<'_>) -> u32 {
        let stated = tree.height(Part::Call(ROOT));
        let seen = self.heights.iter().copied().max().unwrap_or(0);
        if seen > stated {
            seen + 1
        } else {
            stated.max(self.root)
        }
    }
}
