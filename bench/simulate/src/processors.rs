//! A limited number of processors, granted first come, first served; work once begun is not interrupted.

use std::collections::VecDeque;

/// Processors, and the transactions that wait for one.
pub(crate) struct Processors<T> {
    /// Not in use; `None` is without limit.
    free: Option<u32>,
    ready: VecDeque<T>,
}

impl<T> Processors<T> {
    pub(crate) fn new(count: Option<u32>) -> Processors<T> {
        Processors {
            free: count,
            ready: VecDeque::new(),
        }
    }

    /// Whether `job` may run now; otherwise it waits for a processor.
    pub(crate) fn take(&mut self, job: T) -> bool {
        match &mut self.free {
            None => true,
            Some(0) => {
                self.ready.push_back(job);
                false
            }
            Some(free) => {
                *free -= 1;
                true
            }
        }
    }

    /// A running job is over: the next one to run, if any waits.
    pub(crate) fn release(&mut self) -> Option<T> {
        let free = self.free.as_mut()?;
        let next = self.ready.pop_front();
        if next.is_none() {
            *free += 1;
        }
        next
    }

    /// Takes a job out that waits no longer.
    pub(crate) fn forget(&mut self, unwanted: impl Fn(&T) -> bool) {
        self.ready.retain(|job| !unwanted(job));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_run_in_order_of_arrival() {
        let mut processors = Processors::new(Some(1));
        assert!(processors.take('a'));
        assert!(!processors.take('b') && !processors.take('c') && !processors.take('d'));
        processors.forget(|&job| job == 'c');
        assert_eq!(processors.release(), Some('b'));
        assert_eq!(processors.release(), Some('d'));
        assert_eq!(processors.release(), None);
        assert!(processors.take('e'));
        let mut unlimited = Processors::new(None);
        assert!(unlimited.take(1) && unlimited.take(2));
        assert_eq!(unlimited.release(), None);
    }
}
