//! Which objects are waited for most, and behind which classes of transactions.
//!
//! Objects are counted with the Space-Saving algorithm (Metwally, Agrawal and El Abbadi, "Efficient Computation of
//! Frequent and Top-k Elements in Data Streams", ICDT 2005): bounded memory, and a count never too low.

use std::hash::Hash;

use hashbrown::HashMap;

/// Objects counted at once.
const OBJECTS_MAX: usize = 64;
/// Classes told apart; higher class numbers share the last one.
const CLASSES_MAX: u32 = 255;

/// Waits by object and by the class of the first holder in the way.
#[derive(Clone, Debug)]
pub struct HotObjects<K> {
    waits: HashMap<K, u64>,
    holder_classes: HashMap<u32, u64>,
}

impl<K> Default for HotObjects<K> {
    fn default() -> Self {
        HotObjects {
            waits: HashMap::new(),
            holder_classes: HashMap::new(),
        }
    }
}

impl<K: Hash + Eq + Clone> HotObjects<K> {
    /// A transaction began to wait for `key` behind a holder of `holder_class`.
    pub(crate) fn note(&mut self, key: &K, holder_class: u32) {
        *self
            .holder_classes
            .entry(holder_class.min(CLASSES_MAX))
            .or_default() += 1;
        if let Some(waits) = self.waits.get_mut(key) {
            *waits += 1;
            return;
        }
        let mut inherited = 0;
        if self.waits.len() == OBJECTS_MAX {
            let least = self
                .waits
                .iter()
                .min_by_key(|&(_, waits)| *waits)
                .map(|(key, &waits)| (key.clone(), waits));
            let (coldest, waits) = least.expect("a full table has an entry");
            self.waits.remove(&coldest);
            inherited = waits;
        }
        self.waits.insert(key.clone(), inherited + 1);
    }

    /// The objects waited for most and how often, at most; the greatest first.
    pub fn objects(&self) -> Vec<(K, u64)> {
        let mut objects: Vec<(K, u64)> = self
            .waits
            .iter()
            .map(|(key, &waits)| (key.clone(), waits))
            .collect();
        objects.sort_by_key(|&(_, waits)| std::cmp::Reverse(waits));
        objects
    }

    /// Waits by the class of the holder in the way, the greatest first.
    pub fn holder_classes(&self) -> Vec<(u32, u64)> {
        let mut classes: Vec<(u32, u64)> = self
            .holder_classes
            .iter()
            .map(|(&class, &waits)| (class, waits))
            .collect();
        classes.sort_by_key(|&(class, waits)| (std::cmp::Reverse(waits), class));
        classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hottest_object_is_never_lost() {
        let mut hot = HotObjects::default();
        for round in 0..1000u64 {
            hot.note(&0, 1);
            hot.note(&(round + 1), 2);
            hot.note(&0, 1);
        }
        assert!(hot.objects()[0].1 >= 2000 && hot.objects()[0].0 == 0);
        assert_eq!(hot.objects().len(), OBJECTS_MAX);
        assert_eq!(hot.holder_classes(), [(1, 2000), (2, 1000)]);
    }
}
