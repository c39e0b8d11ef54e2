//! Guarantees of each starvation policy, under every schedule.

use proptest::prelude::*;

use crate::contention::{Contention, Effects, Rules};
use crate::graph::TxnMeta;
use crate::modes::{MODES, Mode};
use crate::schedule::{DelayFactor, ScheduleKind, SetSizes};
use crate::starvation::Starvation;

proptest! {
    /// Under each policy a waiter is granted although others keep coming: within the number of decisions it allows.
    #[test]
    fn nobody_starves(
        schedule in prop::sample::select(ScheduleKind::ALL.to_vec()),
        overtakes_max in 0u32..5,
        newcomers in prop::collection::vec(prop::sample::select(MODES.to_vec()), 40),
    ) {
        let starvations = [
            Starvation::Barrier,
            Starvation::BoundedBypass { overtakes_max },
        ];
        for starvation in starvations {
            let rules = Rules { starvation, sizes: SetSizes::Exact, ..Rules::new(schedule) };
            let mut contention = Contention::new(rules);
            let mut effects = Effects::default();
            let mut id = 0;
            let mut begin = |contention: &mut Contention| {
                id += 1;
                // Younger transactions pretend to be older, so that VATS prefers them.
                contention.add_txn(TxnMeta { id, birth_ns: 1000 - id, class: 0, expected_remaining_ns: None })
            };
            let object = contention.add_queue();
            let first = begin(&mut contention);
            contention.request(first, object, Mode::X, 0, 0, &mut effects).expect("a free object");
            let patient = begin(&mut contention);
            contention.request(patient, object, Mode::X, 0, 0, &mut effects).expect("waits");
            let mut decisions = 0;
            let mut newcomers = newcomers.iter();
            while contention.graph().txn(patient).waiting.is_some() {
                for dependents in 1..=2 {
                    // Newcomers with dependents, so that the contention-aware schedules prefer them.
                    let Some(&mode) = newcomers.next() else { break };
                    let newcomer = begin(&mut contention);
                    let own = contention.add_queue();
                    contention.request(newcomer, own, Mode::X, 0, 0, &mut effects).expect("a free object");
                    for _ in 0..dependents {
                        let dependent = begin(&mut contention);
                        contention.request(dependent, own, Mode::X, 0, 0, &mut effects).expect("waits");
                    }
                    contention.request(newcomer, object, mode, 1, 0, &mut effects).expect("waits");
                }
                let holders: Vec<_> = contention.graph().queue(object).granted.iter().map(|g| g.owner).collect();
                for holder in holders {
                    effects.clear();
                    contention.release_all(holder, 0, &mut effects);
                    decisions += u32::from(effects.granted.iter().any(|granted| granted.queue == object));
                }
            }
            let bound = match starvation {
                // All that stood ahead of the first barrier: the patient one and the first two newcomers.
                Starvation::Barrier => 3,
                _ => overtakes_max + 1,
            };
            prop_assert!(decisions <= bound, "{starvation:?} under {schedule:?}: {decisions} > {bound}");
        }
    }

    /// Ageing at one dependent a nanosecond: newcomers with `dependents` dependents that are born more than as many
    /// nanoseconds later no longer go before the patient one.
    #[test]
    fn ageing_bounds_the_head_start_of_newcomers(
        schedule in prop::sample::select(vec![
            ScheduleKind::Ldsf,
            ScheduleKind::Bldsf(DelayFactor::Log),
            ScheduleKind::Hldsf,
        ]),
        dependents in 1u64..6,
    ) {
        let starvation = Starvation::Ageing { size_per_ns: 1.0 };
        let mut contention = Contention::new(Rules { starvation, ..Rules::new(schedule) });
        let mut effects = Effects::default();
        let mut id = 0;
        let mut begin = |contention: &mut Contention, birth_ns| {
            id += 1;
            contention.add_txn(TxnMeta { id, birth_ns, class: 0, expected_remaining_ns: Some(1.0) })
        };
        let object = contention.add_queue();
        let mut running = begin(&mut contention, 0);
        contention.request(running, object, Mode::X, 0, 0, &mut effects).expect("a free object");
        let patient = begin(&mut contention, 0);
        contention.request(patient, object, Mode::X, 0, 0, &mut effects).expect("waits");
        let mut now_ns = 0;
        while running != patient {
            now_ns += 1;
            let newcomer = begin(&mut contention, now_ns);
            let own = contention.add_queue();
            contention.request(newcomer, own, Mode::X, 0, now_ns, &mut effects).expect("a free object");
            for _ in 0..dependents {
                let dependent = begin(&mut contention, now_ns);
                contention.request(dependent, own, Mode::X, 0, now_ns, &mut effects).expect("waits");
            }
            contention.request(newcomer, object, Mode::X, 1, now_ns, &mut effects).expect("waits");
            effects.clear();
            contention.release_all(running, now_ns, &mut effects);
            running = effects.granted.iter().find(|granted| granted.queue == object).expect("a grant").txn;
        }
        prop_assert!(now_ns <= dependents + 1, "after {now_ns} decisions");
    }
}
