//! Connections that wait to be accepted, before any interval begins.

use serde::{Deserialize, Serialize};

/// The queue of one listening socket of the target (`listen(2)`), as it was seen at many moments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListenQueue {
    /// Where it listens: `0.0.0.0:80`, `[::]:5432`.
    pub address: String,
    /// Number of looks.
    pub looks: u64,
    /// Looks that saw a connection wait.
    pub waiting: u64,
    /// Connections that waited, mean of all looks.
    pub mean: f64,
    /// The most that were seen.
    pub max: u64,
}

impl ListenQueue {
    /// Part of the looks from which a queue is reported. A server with a free worker accepts a connection within
    /// microseconds. So a hundred connections a second are seen waiting in less than one look of a hundred.
    const OFTEN: f64 = 0.1;
    /// Looks that must have seen one: a single one may be chance.
    const WAITING_MIN: u64 = 3;

    /// Takes in one look.
    pub fn add(&mut self, connections: u64) {
        self.join(&ListenQueue {
            looks: 1,
            waiting: u64::from(connections > 0),
            mean: connections as f64,
            max: connections,
            address: String::new(),
        });
    }

    /// Takes in other looks at the same queue.
    pub fn join(&mut self, other: &ListenQueue) {
        let looks = self.looks + other.looks;
        if looks > 0 {
            let sum = self.mean * self.looks as f64 + other.mean * other.looks as f64;
            self.mean = sum / looks as f64;
        }
        self.looks = looks;
        self.waiting += other.waiting;
        self.max = self.max.max(other.max);
    }

    /// Part of the looks that saw a connection wait.
    pub fn waiting_part(&self) -> f64 {
        self.waiting as f64 / self.looks.max(1) as f64
    }

    /// Whether connections waited often.
    pub fn is_long(&self) -> bool {
        self.waiting >= ListenQueue::WAITING_MIN && self.waiting_part() >= ListenQueue::OFTEN
    }
}

/// Takes in the queues of another run.
pub fn join(all: &mut Vec<ListenQueue>, others: &[ListenQueue]) {
    for other in others {
        match all.iter_mut().find(|one| one.address == other.address) {
            Some(one) => one.join(other),
            None => all.push(other.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(looks: &[u64]) -> ListenQueue {
        let mut queue = ListenQueue::default();
        looks.iter().for_each(|&connections| queue.add(connections));
        queue
    }

    #[test]
    fn looks_add_up() {
        let mut first = queue(&[0, 0, 6]);
        assert_eq!((first.mean, first.waiting, first.max), (2.0, 1, 6));
        first.join(&queue(&[0]));
        assert_eq!(
            (first.mean, first.looks, first.waiting_part()),
            (1.5, 4, 0.25)
        );
    }

    #[test]
    fn a_queue_is_long_where_connections_wait_in_one_look_of_ten() {
        let waits_in_three_of =
            |looks: usize| queue(&[&[1, 1, 1][..], &vec![0; looks - 3]].concat());
        assert!(waits_in_three_of(30).is_long());
        assert!(!waits_in_three_of(31).is_long());
        assert!(!queue(&[9, 9]).is_long(), "two may be chance");
        assert!(!ListenQueue::default().is_long());
    }

    #[test]
    fn queues_of_two_runs_meet_by_their_address() {
        let at = |address: &str, looks: &[u64]| ListenQueue {
            address: address.to_owned(),
            ..queue(looks)
        };
        let mut all = vec![at("[::]:80", &[2])];
        join(&mut all, &[at("[::]:80", &[4]), at("[::]:443", &[0])]);
        assert_eq!((all.len(), all[0].mean, all[1].looks), (2, 3.0, 1));
    }
}
