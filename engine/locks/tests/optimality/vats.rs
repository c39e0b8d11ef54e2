//! VATS at one object with arrivals over time (theorem 1 of the VATS paper, theorem 3.1 of the dissertation).
//!
//! A *menu* is a list of transactions, each with an age and a time of arrival at the object's queue; its
//! `p`-performance is the expected `Lp` norm of the latencies. The theorem assumes exclusive locks and remaining
//! times `R(T)` drawn independently from one distribution. Then no scheduler does better than granting the oldest,
//! even if it knows the distribution. Here every scheduler is tried: a tree of decisions, each of which may depend on
//! everything that happened so far and even on arrivals to come.
//!
//! The proof exchanges two grants, so it needs an assumption that it does not state: the scheduler grants whenever
//! the lock is free and a transaction waits. `idling_for_an_older_one_to_come_can_be_better` is a menu on which an
//! idling scheduler wins.

use evenkeel_locks::contention::{Contention, Effects, Rules};
use evenkeel_locks::rng::Rng;
use evenkeel_locks::{Mode, ScheduleKind};

use crate::add;

/// One transaction of a menu. Times may be negative: it was born before the menu begins at zero.
#[derive(Clone, Debug)]
struct Visitor {
    birth: i32,
    arrival: i32,
    /// Equally likely remaining times.
    remaining: Vec<i32>,
}

/// Where a menu stands: the lock is free.
#[derive(Clone)]
struct Moment {
    now: i32,
    /// Latencies of those done; `None` of the others.
    latencies: Vec<Option<i32>>,
}

impl Moment {
    fn waiting(&self, menu: &[Visitor]) -> Vec<usize> {
        let waits = |&at: &usize| self.latencies[at].is_none() && menu[at].arrival <= self.now;
        (0..menu.len()).filter(waits).collect()
    }

    fn next_arrival(&self, menu: &[Visitor]) -> Option<i32> {
        let left = (0..menu.len()).filter(|&at| self.latencies[at].is_none());
        left.map(|at| menu[at].arrival)
            .filter(|&arrival| arrival > self.now)
            .min()
    }

    fn norm(&self, p: f64) -> f64 {
        let powers = self
            .latencies
            .iter()
            .flatten()
            .map(|&latency| f64::from(latency).powf(p));
        powers.sum::<f64>().powf(1.0 / p)
    }
}

/// The `p`-performance from this time on, with the best choice of `choose` at each decision: places in the menu to
/// grant next, or `None` to let the lock idle until the next arrival.
fn performance(
    menu: &[Visitor],
    p: f64,
    moment: &Moment,
    choose: &impl Fn(&Moment) -> Vec<Option<usize>>,
) -> f64 {
    let idle = || {
        let now = moment.next_arrival(menu)?;
        let latencies = moment.latencies.clone();
        Some(performance(menu, p, &Moment { now, latencies }, choose))
    };
    if moment.waiting(menu).is_empty() {
        return idle().unwrap_or_else(|| moment.norm(p));
    }
    let grant = |txn: usize| {
        let outcomes = &menu[txn].remaining;
        let after = |remaining: &i32| {
            let mut next = moment.clone();
            next.now += remaining;
            next.latencies[txn] = Some(next.now - menu[txn].birth);
            performance(menu, p, &next, choose)
        };
        outcomes.iter().map(after).sum::<f64>() / outcomes.len() as f64
    };
    let values = choose(moment)
        .into_iter()
        .filter_map(|choice| match choice {
            Some(txn) => Some(grant(txn)),
            None => idle(),
        });
    values.fold(f64::INFINITY, f64::min)
}

fn from_the_beginning(
    menu: &[Visitor],
    p: f64,
    choose: impl Fn(&Moment) -> Vec<Option<usize>>,
) -> f64 {
    let moment = Moment {
        now: 0,
        latencies: vec![None; menu.len()],
    };
    performance(menu, p, &moment, &choose)
}

/// The best any scheduler does that never idles.
fn best(menu: &[Visitor], p: f64) -> f64 {
    from_the_beginning(menu, p, |moment| {
        moment.waiting(menu).into_iter().map(Some).collect()
    })
}

/// The choices of the lock manager's code.
fn scheduled(menu: &[Visitor], p: f64, schedule: ScheduleKind) -> f64 {
    from_the_beginning(menu, p, |moment| {
        vec![Some(granted(menu, &moment.waiting(menu), schedule))]
    })
}

/// The transactions of `waiting` that the lock manager's code grants when the lock becomes free.
fn granted(menu: &[Visitor], waiting: &[usize], schedule: ScheduleKind) -> usize {
    const EPOCH: i32 = 1 << 20;
    let mut contention = Contention::new(Rules::new(schedule));
    let mut effects = Effects::default();
    let object = contention.add_queue();
    let mut request = |birth: i32| {
        let txn = add(&mut contention, (EPOCH + birth) as u64);
        let outcome = contention.request(txn, object, Mode::X, 0, 0, &mut effects);
        outcome.expect("no deadlock");
        txn
    };
    let holder = request(0);
    let mut queue: Vec<usize> = waiting.to_vec();
    queue.sort_by_key(|&at| menu[at].arrival);
    let txns: Vec<_> = queue.iter().map(|&at| request(menu[at].birth)).collect();
    contention.release_all(holder, 0, &mut effects);
    let [granted] = effects.granted[..] else {
        panic!("one exclusive grant: {effects:?}")
    };
    let place = txns.iter().position(|&txn| txn == granted.txn);
    queue[place.expect("a waiter")]
}

fn random_menu(rng: &mut Rng, remaining: &[i32]) -> Vec<Visitor> {
    let visitors = 2 + rng.below(3);
    let visitor = |_| {
        let arrival = rng.below(8) as i32;
        Visitor {
            birth: arrival - rng.below(20) as i32,
            arrival,
            remaining: remaining.to_vec(),
        }
    };
    (0..visitors).map(visitor).collect()
}

#[test]
fn vats_is_optimal_among_all_schedulers_that_never_idle() {
    let mut rng = Rng::new(2017);
    let mut fifo_is_worse = 0;
    for remaining in [vec![2], vec![1, 3], vec![0, 1, 6]] {
        for _ in 0..40 {
            let menu = random_menu(&mut rng, &remaining);
            for p in [1.0, 1.5, 2.0, 4.0, 16.0] {
                let best = best(&menu, p);
                let vats = scheduled(&menu, p, ScheduleKind::Vats);
                assert!(
                    vats <= best * (1.0 + 1e-12),
                    "p = {p}: {vats} > {best} on {menu:?}"
                );
                let fifo = scheduled(&menu, p, ScheduleKind::Fifo);
                fifo_is_worse += u32::from(fifo > best * (1.0 + 1e-9));
            }
        }
    }
    // The menus are such that it matters.
    assert!(fifo_is_worse > 100, "{fifo_is_worse}");
}

#[test]
fn idling_for_an_older_one_to_come_can_be_better() {
    // Remaining times are 10. A young transaction waits at time 0, one that is 1000 old comes at time 1. VATS: the young
    // one ends at 10, the older one at 20, at an age of 1019. Idling: the older one ends at 11, at an age of 1010, the
    // young one at 21. The sums are 1029 and 1031, so for p = 1 idling costs; for p = 2 it gains.
    let visitor = |birth, arrival| Visitor {
        birth,
        arrival,
        remaining: vec![10],
    };
    let menu = [visitor(0, 0), visitor(-999, 1)];
    let idling = |p| {
        from_the_beginning(&menu, p, |moment| match moment.now {
            0 => vec![None],
            1 => vec![Some(1)],
            _ => vec![Some(0)],
        })
    };
    let vats = |p| scheduled(&menu, p, ScheduleKind::Vats);
    let norm = |a: f64, b: f64| (a * a + b * b).sqrt();
    let close = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
    assert!(close(vats(1.0), 1029.0) && close(idling(1.0), 1031.0));
    assert!(close(vats(2.0), norm(10.0, 1019.0)) && close(idling(2.0), norm(21.0, 1010.0)));
    assert!(idling(2.0) < vats(2.0));
    assert!(close(best(&menu, 2.0), vats(2.0)));
}

#[test]
fn known_remaining_times_can_be_used_better() {
    // Not of one distribution: the older one takes 10, the younger one 1. Latencies 12 + 11 with the oldest first,
    // 1 + 13 with the shortest first.
    let visitor = |birth, remaining| Visitor {
        birth,
        arrival: 0,
        remaining: vec![remaining],
    };
    let menu = [visitor(-2, 10), visitor(0, 1)];
    assert!((scheduled(&menu, 1.0, ScheduleKind::Vats) - 23.0).abs() < 1e-9);
    assert!((best(&menu, 1.0) - 14.0).abs() < 1e-9);
}
