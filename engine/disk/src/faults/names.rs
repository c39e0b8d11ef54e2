//! The names of the simulated disk: which are visible, which are durable.

use std::collections::BTreeMap;

use rand::RngExt;

use super::Rng;

/// Directory and name to the number of the file.
type Names = BTreeMap<(String, String), usize>;

#[derive(Clone)]
enum Change {
    Link { name: String, inode: usize },
    Rename { from: String, to: String },
    Unlink { name: String },
}

/// All names. Changes of a directory become durable in order, as a journalling file system writes them.
#[derive(Clone, Default)]
pub(super) struct NameTable {
    durable: Names,
    visible: Names,
    pending: Vec<(String, Change)>,
}

impl NameTable {
    pub(super) fn get(&self, directory: &str, name: &str) -> Option<usize> {
        self.visible.get(&key(directory, name)).copied()
    }

    pub(super) fn list(&self, directory: &str) -> Vec<String> {
        let inside = self.visible.keys().filter(|(at, _)| at == directory);
        inside.map(|(_, name)| name.clone()).collect()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&(String, String), &usize)> {
        self.visible.iter()
    }

    pub(super) fn link(&mut self, directory: &str, name: &str, inode: usize) {
        let name = name.to_owned();
        self.change(directory, Change::Link { name, inode });
    }

    pub(super) fn rename(&mut self, directory: &str, from: &str, to: &str) {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.change(directory, Change::Rename { from, to });
    }

    pub(super) fn unlink(&mut self, directory: &str, name: &str) {
        let name = name.to_owned();
        self.change(directory, Change::Unlink { name });
    }

    fn change(&mut self, directory: &str, change: Change) {
        apply(&mut self.visible, directory, &change);
        self.pending.push((directory.to_owned(), change));
    }

    pub(super) fn sync(&mut self, directory: &str) {
        let durable = &mut self.durable;
        self.pending.retain(|(at, change)| {
            if at == directory {
                apply(durable, at, change);
            }
            at != directory
        });
    }

    /// After a power failure: a prefix of each directory's pending changes.
    pub(super) fn after_power_failure(&self, rng: &mut Rng) -> NameTable {
        let mut left = self.durable.clone();
        let mut kept: BTreeMap<&str, u64> = BTreeMap::new();
        for (directory, _) in &self.pending {
            *kept.entry(directory).or_default() += 1;
        }
        for count in kept.values_mut() {
            *count = rng.random_range(0..=*count);
        }
        for (directory, change) in &self.pending {
            if let Some(count) = kept.get_mut(directory.as_str()).filter(|count| **count > 0) {
                *count -= 1;
                apply(&mut left, directory, change);
            }
        }
        NameTable {
            durable: left.clone(),
            visible: left,
            pending: Vec::new(),
        }
    }
}

fn key(directory: &str, name: &str) -> (String, String) {
    (directory.to_owned(), name.to_owned())
}

fn apply(names: &mut Names, directory: &str, change: &Change) {
    match change {
        Change::Link { name, inode } => {
            names.insert(key(directory, name), *inode);
        }
        Change::Rename { from, to } => {
            if let Some(inode) = names.remove(&key(directory, from)) {
                names.insert(key(directory, to), inode);
            }
        }
        Change::Unlink { name } => {
            names.remove(&key(directory, name));
        }
    }
}
