//! The largest dependency-closed set of stream prefixes: what is acknowledged at run time and kept by recovery.
//!
//! Batches of stream `s` are numbered 1, 2, ... A batch needs the prefix before it in its own stream, and of every
//! other stream `t` the prefix up to `needs[t]`. A vector of prefixes `a` is closed if each batch within it has
//! `needs[t] <= a[t]` for all `t`. The element-wise maximum of two closed vectors is closed, so below any limit there
//! is a largest one.

use crate::limits::STREAMS_MAX;

/// One batch number for each stream; 0 where there is none.
pub(crate) type Vector = [u64; STREAMS_MAX];

/// No batch of any stream.
pub(crate) const NONE: Vector = [0; STREAMS_MAX];

/// Raises each element of `vector` to that of `other`.
pub(crate) fn raise(vector: &mut Vector, other: &Vector) {
    for (element, other) in vector.iter_mut().zip(other) {
        *element = (*element).max(*other);
    }
}

/// Lowers `limit` to the largest closed vector below it. `known` is a closed vector to start from; zero is always
/// one. `needs(s, i)` returns what batch `i` of stream `s` needs, for `known[s] < i <= limit[s]`.
pub(crate) fn largest_closed<'a>(
    known: &Vector,
    mut limit: Vector,
    needs: impl Fn(usize, u64) -> &'a Vector,
) -> Vector {
    loop {
        let before = limit;
        for stream in 0..STREAMS_MAX {
            let unmet = |&index: &u64| {
                let needs = needs(stream, index);
                needs.iter().zip(&limit).any(|(need, have)| need > have)
            };
            if let Some(first) = (known[stream] + 1..=limit[stream]).find(unmet) {
                limit[stream] = first - 1;
            }
        }
        if limit == before {
            return limit;
        }
    }
}

/// Raises `wanted` to the smallest closed vector above it. Arguments as for [`largest_closed`].
pub(crate) fn smallest_closed<'a>(
    known: &Vector,
    mut wanted: Vector,
    needs: impl Fn(usize, u64) -> &'a Vector,
) -> Vector {
    let mut done = *known;
    loop {
        let Some(stream) = (0..STREAMS_MAX).find(|&stream| done[stream] < wanted[stream]) else {
            return wanted;
        };
        done[stream] += 1;
        raise(&mut wanted, needs(stream, done[stream]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STREAMS: usize = 3;
    const BATCHES: u64 = 4;

    fn vector(first: &[u64]) -> Vector {
        let mut vector = NONE;
        vector[..first.len()].copy_from_slice(first);
        vector
    }

    /// Stream 0 has batches 1 and 2, stream 1 has batch 1. Batch 1.1 needs 0.2, which was lost: only 0.1 stays.
    #[test]
    fn batches_that_need_a_lost_one_are_dropped() {
        let needs = |stream: usize, _| if stream == 1 { vector(&[2]) } else { NONE };
        let table = [needs(0, 1), needs(1, 1)];
        let lookup = |stream: usize, _| &table[stream];
        assert_eq!(
            largest_closed(&NONE, vector(&[1, 1]), lookup),
            vector(&[1, 0])
        );
        assert_eq!(
            largest_closed(&NONE, vector(&[2, 1]), lookup),
            vector(&[2, 1])
        );
        assert_eq!(
            smallest_closed(&NONE, vector(&[0, 1]), lookup),
            vector(&[2, 1])
        );
    }

    fn is_closed(vector: &Vector, needs: &[Vec<Vector>]) -> bool {
        (0..STREAMS).all(|stream| {
            (0..vector[stream] as usize).all(|index| {
                let need = &needs[stream][index];
                need.iter().zip(vector).all(|(need, have)| need <= have)
            })
        })
    }

    /// All vectors of three streams of up to four batches.
    fn all_vectors() -> impl Iterator<Item = Vector> {
        let side = BATCHES + 1;
        (0..side.pow(3))
            .map(move |code| vector(&[code % side, code / side % side, code / side / side]))
    }

    fn below(small: &Vector, large: &Vector) -> bool {
        small.iter().zip(large).all(|(small, large)| small <= large)
    }

    proptest! {
        /// Against trying all vectors. Needs may be mutual: batches collect records while others do.
        #[test]
        fn the_largest_and_the_smallest(
            needs in proptest::collection::vec(
                proptest::collection::vec(proptest::array::uniform3(0..=BATCHES), BATCHES as usize),
                STREAMS,
            ),
            bound in proptest::array::uniform3(0..=BATCHES),
        ) {
            let mut needs: Vec<Vec<Vector>> = needs
                .iter()
                .map(|stream| stream.iter().map(|need| vector(need)).collect())
                .collect();
            for (stream, batches) in needs.iter_mut().enumerate() {
                for (index, need) in batches.iter_mut().enumerate() {
                    need[stream] = index as u64;
                }
            }
            let bound = vector(&bound);
            let lookup = |stream: usize, index: u64| &needs[stream][index as usize - 1];
            let closed: Vec<Vector> = all_vectors().filter(|vector| is_closed(vector, &needs)).collect();

            let largest = largest_closed(&NONE, bound, lookup);
            prop_assert!(closed.contains(&largest) && below(&largest, &bound));
            prop_assert!(closed.iter().filter(|vector| below(vector, &bound)).all(|vector| below(vector, &largest)));

            let smallest = smallest_closed(&NONE, bound, lookup);
            prop_assert!(closed.contains(&smallest) && below(&bound, &smallest));
            prop_assert!(closed.iter().filter(|vector| below(&bound, vector)).all(|vector| below(&smallest, vector)));

            // Starting from what is known to be closed changes nothing.
            prop_assert_eq!(largest_closed(&largest, bound, lookup), largest);
            for known in closed.iter().filter(|known| below(known, &bound)) {
                prop_assert_eq!(largest_closed(known, bound, lookup), largest);
                prop_assert_eq!(smallest_closed(known, bound, lookup), smallest);
            }
        }
    }
}
