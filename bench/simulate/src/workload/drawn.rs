//! Transactions drawn from distributions: a number of locks each, objects by Zipf's law.

use evenkeel_locks::Mode;
use evenkeel_locks::rng::Rng;

use super::Step;
use crate::Error;
use crate::sample::{self, Purpose};
use crate::work::Work;
use crate::zipf::Zipf;

/// A type of transactions.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name in results.
    pub name: &'static str,
    /// Its share, relative to the other classes'.
    pub weight: f64,
    /// Locks each takes.
    pub locks: u32,
    /// Fraction of them that is exclusive; the others are shared.
    pub exclusive: f64,
    /// Work after each grant.
    pub work: Work,
    /// Work after the last grant, if different.
    pub last_work: Option<Work>,
}

/// In which order a transaction asks for its locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOrder {
    /// As drawn: deadlocks are possible.
    Random,
    /// By a hash of the object, the same for all: no deadlocks, hot objects anywhere.
    Hashed,
    /// The hottest object last, the same for all: no deadlocks, hot locks held shortest.
    HotLast,
}

impl LockOrder {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            LockOrder::Random => "random",
            LockOrder::Hashed => "hashed",
            LockOrder::HotLast => "hot-last",
        }
    }
}

/// Transactions drawn from distributions.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// Number of objects.
    pub objects: u32,
    /// Skew of the access; 0 is uniform.
    pub theta: f64,
    /// Order of the requests.
    pub order: LockOrder,
    /// The mix.
    pub classes: Vec<Class>,
}

impl Drawn {
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.objects == 0 || self.objects > OBJECTS_MAX {
            return Err(Error::setting(format!(
                "{} objects: give 1 to {OBJECTS_MAX}",
                self.objects
            )));
        }
        if !(0.0..=THETA_MAX).contains(&self.theta) {
            return Err(Error::setting(format!(
                "theta {}: give 0 to {THETA_MAX}",
                self.theta
            )));
        }
        if self.classes.is_empty() {
            return Err(Error::setting("no class of transactions"));
        }
        for class in &self.classes {
            if class.locks == 0 || class.locks > LOCKS_MAX {
                return Err(Error::setting(format!(
                    "{} locks: give 1 to {LOCKS_MAX}",
                    class.locks
                )));
            }
            if !(0.0..=1.0).contains(&class.exclusive) {
                let fraction = class.exclusive;
                return Err(Error::setting(format!(
                    "exclusive fraction {fraction}: give 0 to 1"
                )));
            }
            if !class.weight.is_finite() || class.weight <= 0.0 {
                return Err(Error::setting(format!(
                    "class weight {}: give more than 0",
                    class.weight
                )));
            }
            class.work.check()?;
            class.last_work.as_ref().map_or(Ok(()), Work::check)?;
        }
        Ok(())
    }
}

const OBJECTS_MAX: u32 = 100_000_000;
const THETA_MAX: f64 = 10.0;
const LOCKS_MAX: u32 = 10_000;

/// Makes the transactions of a [`Drawn`] workload.
pub(crate) struct DrawnMaker<'a> {
    drawn: &'a Drawn,
    seed: u64,
    zipf: Zipf,
    weight: f64,
}

impl<'a> DrawnMaker<'a> {
    pub(super) fn new(drawn: &'a Drawn, seed: u64) -> DrawnMaker<'a> {
        DrawnMaker {
            drawn,
            seed,
            zipf: Zipf::new(drawn.objects, drawn.theta),
            weight: drawn.classes.iter().map(|class| class.weight).sum(),
        }
    }

    /// Puts what transaction `number` does into `steps`; returns its class.
    pub(super) fn make(&self, number: u64, steps: &mut Vec<Step>) -> u32 {
        let mut rng = sample::stream(self.seed, Purpose::Plan, number);
        let at = self.class(&mut rng);
        let class = &self.drawn.classes[at];
        steps.clear();
        for _ in 0..class.locks {
            let exclusive = sample::unit(&mut rng) <= class.exclusive;
            steps.push(Step {
                object: self.zipf.draw(&mut rng),
                mode: if exclusive { Mode::X } else { Mode::S },
                work: 0,
            });
        }
        // Of requests for one object the exclusive comes first where the order is fixed: an upgrade could deadlock.
        match self.drawn.order {
            LockOrder::Random => {}
            LockOrder::Hashed => steps.sort_by_key(|s| (hash(s.object), s.mode != Mode::X)),
            LockOrder::HotLast => {
                steps.sort_by_key(|s| (std::cmp::Reverse(s.object), s.mode != Mode::X));
            }
        }
        for step in steps.iter_mut() {
            step.work = class.work.draw(&mut rng);
        }
        if let (Some(work), Some(last)) = (&class.last_work, steps.last_mut()) {
            last.work = work.draw(&mut rng);
        }
        at as u32
    }

    fn class(&self, rng: &mut Rng) -> usize {
        let classes = &self.drawn.classes;
        if classes.len() == 1 {
            return 0;
        }
        let mut left = sample::unit(rng) * self.weight;
        for (at, class) in classes.iter().enumerate() {
            if left <= class.weight {
                return at;
            }
            left -= class.weight;
        }
        classes.len() - 1
    }
}

fn hash(object: u32) -> u64 {
    Rng::new(u64::from(object)).bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn made(order: LockOrder, number: u64) -> Vec<Step> {
        let mut config = Config::micro();
        let drawn = config.drawn_mut().expect("drawn");
        (drawn.order, drawn.objects, drawn.classes[0].locks) = (order, 50, 20);
        let mut steps = Vec::new();
        DrawnMaker::new(drawn, 9).make(number, &mut steps);
        steps
    }

    #[test]
    fn a_transaction_depends_on_seed_and_number_alone() {
        assert_eq!(made(LockOrder::Random, 3), made(LockOrder::Random, 3));
        assert_ne!(made(LockOrder::Random, 3), made(LockOrder::Random, 4));
    }

    #[test]
    fn orders_rearrange_the_same_requests() {
        let sorted = |order| {
            let mut steps = made(order, 5);
            steps.sort_by_key(|step| (step.object, step.mode as u8));
            steps
                .into_iter()
                .map(|step| (step.object, step.mode))
                .collect::<Vec<_>>()
        };
        assert_eq!(sorted(LockOrder::Random), sorted(LockOrder::HotLast));
        assert_eq!(sorted(LockOrder::Random), sorted(LockOrder::Hashed));
        assert!(
            made(LockOrder::HotLast, 5).is_sorted_by_key(|step| std::cmp::Reverse(step.object))
        );
        assert!(made(LockOrder::Hashed, 5).is_sorted_by_key(|step| hash(step.object)));
    }

    #[test]
    fn classes_come_up_by_their_weights() {
        let config = Config::htap();
        let mut config = config;
        let drawn = config.drawn_mut().expect("drawn");
        let maker = DrawnMaker::new(drawn, 1);
        let mut steps = Vec::new();
        let long = (0..100_000)
            .filter(|&number| maker.make(number, &mut steps) == 1)
            .count();
        // 500 expected, standard error 22.
        assert!((430..570).contains(&long), "{long}");
    }
}
