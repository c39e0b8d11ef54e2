//! The replacement list: one list of frames with a young part at its head and an old part at its tail, as InnoDB's.
//!
//! Pages come in at the head of the old part and are replaced from its tail. An old page that is used again moves to
//! the head of the young part, whose last page becomes the first old one. The old part has 3/8 of the list
//! (dissertation, section 3.4.1). It may have one page more, because a replacement takes a page from its tail before
//! it puts one at its head.

use std::sync::Arc;

use crate::sync::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

/// In no part of the list.
pub(crate) const OUT: u8 = 0;
/// In the young part.
pub(crate) const YOUNG: u8 = 1;
/// In the old part.
pub(crate) const OLD: u8 = 2;

/// In which part each frame is. Changed under the list's lock, read without.
pub(crate) type Parts = Arc<[AtomicU8]>;

const NIL: u32 = u32::MAX;

/// The list. Every operation takes constant time.
pub(crate) struct LruList {
    parts: Parts,
    /// Towards the tail.
    next: Box<[u32]>,
    /// Towards the head.
    previous: Box<[u32]>,
    head: u32,
    tail: u32,
    /// First frame of the old part.
    old_head: u32,
    young: usize,
    old: usize,
}

impl LruList {
    pub(crate) fn new(frames: usize) -> LruList {
        LruList {
            parts: (0..frames).map(|_| AtomicU8::new(OUT)).collect(),
            next: vec![NIL; frames].into(),
            previous: vec![NIL; frames].into(),
            head: NIL,
            tail: NIL,
            old_head: NIL,
            young: 0,
            old: 0,
        }
    }

    pub(crate) fn parts(&self) -> Parts {
        self.parts.clone()
    }

    pub(crate) fn young(&self) -> usize {
        self.young
    }

    /// Puts a frame that is out at the head of the old part.
    pub(crate) fn insert(&mut self, frame: u32) {
        debug_assert_eq!(self.part(frame), OUT);
        let after = if self.old == 0 {
            self.tail
        } else {
            self.previous[self.old_head as usize]
        };
        self.link(frame, after);
        self.old_head = frame;
        self.set_part(frame, OLD);
        self.old += 1;
        self.balance();
    }

    /// Moves an old frame to the head of the young part.
    pub(crate) fn promote(&mut self, frame: u32) {
        debug_assert_eq!(self.part(frame), OLD);
        self.unlink(frame);
        self.link(frame, NIL);
        self.set_part(frame, YOUNG);
        self.young += 1;
        self.balance();
    }

    /// Takes a frame out.
    pub(crate) fn remove(&mut self, frame: u32) {
        self.unlink(frame);
        self.set_part(frame, OUT);
        self.balance();
    }

    /// Frames from the tail.
    pub(crate) fn backwards(&self) -> impl Iterator<Item = u32> + '_ {
        let step = |&frame: &u32| Some(self.previous[frame as usize]).filter(|&frame| frame != NIL);
        std::iter::successors(Some(self.tail).filter(|&frame| frame != NIL), step)
    }

    fn part(&self, frame: u32) -> u8 {
        self.parts[frame as usize].load(Relaxed)
    }

    fn set_part(&self, frame: u32, part: u8) {
        self.parts[frame as usize].store(part, Relaxed);
    }

    /// Moves the boundary so that the old part has its share.
    fn balance(&mut self) {
        let share = (self.young + self.old) * 3 / 8;
        while self.old < share {
            let last_young = if self.old == 0 {
                self.tail
            } else {
                self.previous[self.old_head as usize]
            };
            self.set_part(last_young, OLD);
            self.old_head = last_young;
            (self.young, self.old) = (self.young - 1, self.old + 1);
        }
        while self.old > share + 1 {
            let first_old = self.old_head;
            self.set_part(first_old, YOUNG);
            self.old_head = self.next[first_old as usize];
            (self.young, self.old) = (self.young + 1, self.old - 1);
        }
    }

    /// Links a frame behind `after`, or at the head.
    fn link(&mut self, frame: u32, after: u32) {
        let before = if after == NIL {
            self.head
        } else {
            self.next[after as usize]
        };
        (self.previous[frame as usize], self.next[frame as usize]) = (after, before);
        match after {
            NIL => self.head = frame,
            after => self.next[after as usize] = frame,
        }
        match before {
            NIL => self.tail = frame,
            before => self.previous[before as usize] = frame,
        }
    }

    fn unlink(&mut self, frame: u32) {
        let (after, before) = (self.previous[frame as usize], self.next[frame as usize]);
        match after {
            NIL => self.head = before,
            after => self.next[after as usize] = before,
        }
        match before {
            NIL => self.tail = after,
            before => self.previous[before as usize] = after,
        }
        match self.part(frame) {
            YOUNG => self.young -= 1,
            _ => self.old -= 1,
        }
        if self.old_head == frame {
            self.old_head = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn order(list: &LruList) -> Vec<u32> {
        let mut frames: Vec<u32> = list.backwards().collect();
        frames.reverse();
        frames
    }

    fn part_of(list: &LruList, part: u8) -> Vec<u32> {
        order(list)
            .into_iter()
            .filter(|&frame| list.part(frame) == part)
            .collect()
    }

    /// Eight pages, so three are old. They come in at the old part's head, which hands its first page to the young
    /// part while the list grows. So the list is built as 0, 1, 2 and so on, with the newest page at the boundary.
    #[test]
    fn the_paper_s_rules_by_hand() {
        let mut list = LruList::new(9);
        for frame in 0..8 {
            list.insert(frame);
        }
        assert_eq!((list.young, list.old), (4, 4));
        let (young, old) = (part_of(&list, YOUNG), part_of(&list, OLD));
        let used = old[1];
        list.promote(used);
        // To the head of the young part; the old part may keep three.
        assert_eq!(order(&list)[0], used);
        assert_eq!((list.young, list.old), (5, 3));
        let again = part_of(&list, OLD)[2];
        list.promote(again);
        // Now the tail of the young list is at the head of the old list.
        assert_eq!(order(&list)[..2], [again, used]);
        assert_eq!(part_of(&list, OLD)[0], *young.last().unwrap());
        let victim = list.backwards().next().unwrap();
        list.remove(victim);
        list.insert(8);
        assert_eq!(part_of(&list, OLD)[0], 8, "the newcomer is old");
    }

    proptest! {
        /// Against a plain vector: the order, and the parts' sizes.
        #[test]
        fn as_a_plain_vector(steps in proptest::collection::vec((0u8..3, 0usize..24), 1..200)) {
            const FRAMES: usize = 24;
            let mut list = LruList::new(FRAMES);
            let mut model: Vec<u32> = Vec::new();
            for (what, which) in steps {
                let (frame, part) = (which as u32, list.part(which as u32));
                let old_at = part_of(&list, YOUNG).len();
                match (what, part) {
                    (0, OUT) => {
                        list.insert(frame);
                        model.insert(old_at, frame);
                    }
                    (1, OLD) => {
                        list.promote(frame);
                        model.retain(|&other| other != frame);
                        model.insert(0, frame);
                    }
                    (2, YOUNG | OLD) => {
                        list.remove(frame);
                        model.retain(|&other| other != frame);
                    }
                    _ => continue,
                }
                prop_assert_eq!(&order(&list), &model);
                let (young, old) = (part_of(&list, YOUNG), part_of(&list, OLD));
                prop_assert_eq!((young.len(), old.len()), (list.young, list.old));
                prop_assert_eq!([young, old.clone()].concat(), model.clone(), "young before old");
                prop_assert_eq!(list.old_head, old.first().copied().unwrap_or(NIL));
                let share = model.len() * 3 / 8;
                prop_assert!((share..=share + 1).contains(&old.len()), "{} of {}", old.len(), model.len());
            }
        }
    }
}
