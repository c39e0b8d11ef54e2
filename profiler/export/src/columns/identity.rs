//! Names of things that are the same in every export: runs, and call paths.

use std::collections::HashMap;

use evenkeel_analysis::intervals::classes::ClassTable;
use evenkeel_analysis::sites::SiteTable;
use evenkeel_analysis::sums::node_names::NodeNames;
use evenkeel_analysis::sums::paths::Paths;

/// FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv): fixed for ever, unlike the hashes of libraries.
pub fn hash(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold)
}

/// Numbers of call paths, by node: hashes of their texts, so that a path is the same in every export of every host.
#[derive(Debug, Default)]
pub struct NodeIds {
    ids: Vec<i64>,
    parents: Vec<u32>,
    texts: Vec<String>,
    met: HashMap<String, u32>,
}

impl NodeIds {
    /// Numbers the paths that are new.
    pub fn extend(&mut self, paths: &Paths, sites: &SiteTable, classes: &ClassTable) {
        if self.ids.len() == paths.all().len() {
            return;
        }
        let names = NodeNames::new(paths, sites).with_classes(classes);
        for node in self.ids.len()..paths.all().len() {
            self.add(names.path(node as u32));
            self.parents.push(paths.get(node as u32).parent);
        }
    }

    /// Of two paths that read the same, the later gets its number as a suffix.
    fn add(&mut self, mut text: String) {
        let count = self.met.entry(text.clone()).or_default();
        *count += 1;
        if *count > 1 {
            text.push_str(&format!(" #{count}"));
        }
        // Positive, for engines whose integers are signed and people who read them.
        self.ids.push((hash(text.as_bytes()) >> 1) as i64);
        self.texts.push(text);
    }

    /// Number of a node's path.
    pub fn id(&self, node: u32) -> i64 {
        self.ids[node as usize]
    }

    /// Numbers of two siblings, the larger first; or of a node and its parent, in this order.
    pub fn pair(&self, node: u32, other: u32) -> (i64, i64) {
        let (a, b) = (self.id(node), self.id(other));
        match self.parents[node as usize] == other {
            true => (a, b),
            false => (a.max(b), a.min(b)),
        }
    }

    /// Its text.
    pub fn text(&self, node: u32) -> &str {
        &self.texts[node as usize]
    }
}

/// A value as Hive writes it in the name of a folder: everything but letters, digits and `._-` as `%XX`.
pub fn folder_value(text: &str) -> String {
    if text.is_empty() {
        return "unknown".to_owned();
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let written = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(written).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_draft() {
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn paths_that_read_the_same_have_two_numbers() {
        let mut ids = NodeIds::default();
        for text in ["a", "b", "a"] {
            ids.add(text.to_owned());
        }
        assert_eq!(ids.text(2), "a #2");
        assert!(ids.id(0) != ids.id(2) && ids.id(0) >= 0);
    }

    #[test]
    fn hosts_are_folders() {
        assert_eq!(folder_value("db-1.example"), "db-1.example");
        assert_eq!(folder_value("a/b, c"), "a%2Fb%2C%20c");
        assert_eq!(folder_value(""), "unknown");
    }
}
