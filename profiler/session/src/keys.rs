//! Keys of threads by the numbers that the system has for them.

use std::collections::{HashMap, VecDeque};

/// Threads that ended whose keys are still known, at most.
const ENDED_MAX: usize = 1 << 10;

/// Threads alive, and those that ended lately: what the kernel reports of a thread's last moments comes after its end.
#[derive(Debug, Default)]
pub struct Keys {
    by_tid: HashMap<u32, u64>,
    /// Oldest first.
    ended: VecDeque<(u32, u64)>,
}

impl Keys {
    /// A thread of this number has this key from now on.
    pub fn began(&mut self, tid: u32, key: u64) {
        self.by_tid.insert(tid, key);
    }

    /// It ended.
    pub fn ended(&mut self, tid: u32, key: u64) {
        self.ended.push_back((tid, key));
        if self.ended.len() > ENDED_MAX
            && let Some((tid, key)) = self.ended.pop_front()
            && self.by_tid.get(&tid) == Some(&key)
        {
            self.by_tid.remove(&tid);
        }
    }

    /// The key of the last thread of this number.
    pub fn of(&self, tid: u32) -> Option<u64> {
        self.by_tid.get(&tid).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ended_are_known_for_a_while() {
        let mut keys = Keys::default();
        keys.began(5, 50);
        keys.began(6, 60);
        keys.ended(5, 50);
        keys.ended(6, 60);
        keys.began(6, 61);
        assert_eq!(
            (keys.of(5), keys.of(6), keys.of(7)),
            (Some(50), Some(61), None)
        );
        for tid in 10..10 + ENDED_MAX as u32 {
            keys.began(tid, 0);
            keys.ended(tid, 0);
        }
        assert_eq!(
            (keys.of(5), keys.of(6), keys.of(10)),
            (None, Some(61), Some(0))
        );
        assert_eq!(keys.by_tid.len(), ENDED_MAX + 1);
    }
}
