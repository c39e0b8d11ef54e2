//! Which objects are waited for most, and behind which classes of transactions.
//!
//! Objects are counted with the Space-Saving algorithm (Metwally, Agrawal and El Abbadi, "Efficient Computation of
//! Frequent and Top-k Elements in Data Streams", ICDT 2005). It needs bounded memory, and no count is too low.

use hashbrown::HashTable;

/// Objects counted at once.
const OBJECTS_MAX: usize = 64;
/// Classes told apart; higher class numbers share the last one.
const CLASSES_MAX: usize = 256;

/// Waits by object and by the class of the first holder in the way.
#[derive(Clone, Debug)]
pub struct HotObjects<K> {
    /// The greatest count first, so that equal ones are side by side.
    counted: Vec<Counted<K>>,
    /// Places in `counted`.
    index: HashTable<usize>,
    holder_classes: Vec<u64>,
}

#[derive(Clone, Debug)]
struct Counted<K> {
    key: K,
    hash: u64,
    waits: u64,
}

impl<K> Default for HotObjects<K> {
    fn default() -> Self {
        HotObjects {
            counted: Vec::new(),
            index: HashTable::new(),
            holder_classes: Vec::new(),
        }
    }
}

impl<K: Eq + Clone> HotObjects<K> {
    /// A transaction began to wait for `key`, whose hash is `hash` and whose holder has `holder_class`.
    pub(crate) fn note(&mut self, key: &K, hash: u64, holder_class: u32) {
        let class = (holder_class as usize).min(CLASSES_MAX - 1);
        if self.holder_classes.len() <= class {
            self.holder_classes.resize(class + 1, 0);
        }
        self.holder_classes[class] += 1;
        let known = self
            .index
            .find(hash, |&place| self.counted[place].key == *key);
        let place = known.copied().unwrap_or_else(|| self.admit(key, hash));
        self.raise(place);
    }

    /// Gives `key` a place: a new one, or that of the object counted least, whose count it inherits.
    fn admit(&mut self, key: &K, hash: u64) -> usize {
        let place = self.counted.len().min(OBJECTS_MAX - 1);
        let key = key.clone();
        if let Some(coldest) = self.counted.get_mut(place) {
            let left = self.index.find_entry(coldest.hash, |&at| at == place);
            left.expect("every object is in the index").remove();
            (coldest.key, coldest.hash) = (key, hash);
        } else {
            let waits = 0;
            self.counted.push(Counted { key, hash, waits });
        }
        self.index
            .insert_unique(hash, place, |&at| self.counted[at].hash);
        place
    }

    /// Counts one more at `place`, whose object moves ahead of those it was equal to.
    fn raise(&mut self, place: usize) {
        let waits = self.counted[place].waits;
        let first = self.counted.partition_point(|other| other.waits > waits);
        if first != place {
            let hash_of = |place: usize| self.counted[place].hash;
            let (rising, sinking) = (hash_of(place), hash_of(first));
            // The two may have one hash, so the first leaves its place before the second takes it.
            Self::relocate(&mut self.index, rising, place, usize::MAX);
            Self::relocate(&mut self.index, sinking, first, place);
            Self::relocate(&mut self.index, rising, usize::MAX, first);
            self.counted.swap(place, first);
        }
        self.counted[first].waits += 1;
    }

    fn relocate(index: &mut HashTable<usize>, hash: u64, from: usize, to: usize) {
        let place = index.find_mut(hash, |&at| at == from);
        *place.expect("every object is in the index") = to;
    }

    /// The objects waited for most and how often, at most; the greatest first.
    pub fn objects(&self) -> Vec<(K, u64)> {
        let counted = self.counted.iter();
        counted
            .map(|object| (object.key.clone(), object.waits))
            .collect()
    }

    /// Waits by the class of the holder in the way, the greatest first.
    pub fn holder_classes(&self) -> Vec<(u32, u64)> {
        let counts = self.holder_classes.iter().enumerate();
        let mut classes: Vec<(u32, u64)> = counts
            .filter(|&(_, &waits)| waits > 0)
            .map(|(class, &waits)| (class as u32, waits))
            .collect();
        classes.sort_by_key(|&(class, waits)| (std::cmp::Reverse(waits), class));
        classes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_hottest_object_is_never_lost() {
        let mut hot = HotObjects::default();
        for round in 0..1000u64 {
            // One hash for all objects: the worst case.
            hot.note(&0, 7, 1);
            hot.note(&(round + 1), 7, 2);
            hot.note(&0, 7, 1);
        }
        assert!(hot.objects()[0].1 >= 2000 && hot.objects()[0].0 == 0);
        assert_eq!(hot.objects().len(), OBJECTS_MAX);
        assert_eq!(hot.holder_classes(), [(1, 2000), (2, 1000)]);
    }

    proptest! {
        /// The guarantees of Space-Saving: the counts add up to the waits, are in order, and none is too low. An
        /// object with more than a 64th of all waits is listed.
        #[test]
        fn counts_are_never_too_low(
            keys in prop::collection::vec(prop_oneof![2 => 0u64..4, 1 => 0u64..200], 0..2000),
        ) {
            let mut hot = HotObjects::default();
            let mut truth = std::collections::HashMap::new();
            for &key in &keys {
                hot.note(&key, key % 5, 0);
                *truth.entry(key).or_insert(0u64) += 1;
            }
            let objects = hot.objects();
            prop_assert_eq!(objects.iter().map(|object| object.1).sum::<u64>(), keys.len() as u64);
            prop_assert!(objects.is_sorted_by(|a, b| a.1 >= b.1));
            for (key, count) in &objects {
                prop_assert!(*count >= truth[key]);
            }
            for (key, &count) in &truth {
                let counted = objects.iter().any(|object| object.0 == *key);
                prop_assert!(counted || count * OBJECTS_MAX as u64 <= keys.len() as u64);
            }
        }
    }
}
