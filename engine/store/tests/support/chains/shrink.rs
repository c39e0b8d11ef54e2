//! Making a plan that fails smaller, as long as it fails.

use evenkeel_store::{FlushPolicy, Release};

use super::failure_of;
use super::plan::{Event, Plan};

/// With threads a failure need not come each time.
const TRIES_WITH_THREADS: usize = 4;

pub fn shrink(mut plan: Plan, mut what: String) -> (Plan, String) {
    while let Some(smaller) = candidates(&plan).into_iter().find_map(fails) {
        (plan, what) = smaller;
    }
    (plan, what)
}

fn fails(plan: Plan) -> Option<(Plan, String)> {
    let tries = if plan.setting.threads {
        TRIES_WITH_THREADS
    } else {
        1
    };
    let why = (0..tries).find_map(|_| failure_of(&plan))?;
    Some((plan, why))
}

/// Plans that are smaller in one thing.
fn candidates(plan: &Plan) -> Vec<Plan> {
    let change = |change: &dyn Fn(&mut Plan)| {
        let mut changed = plan.clone();
        change(&mut changed);
        changed
    };
    let mut smaller: Vec<Plan> = (0..plan.events.len())
        .map(|at| {
            change(&|plan| {
                plan.events.remove(at);
            })
        })
        .collect();
    smaller.push(change(&|plan| plan.setting.threads = false));
    smaller.push(change(&|plan| plan.setting.streams = 1));
    smaller.push(change(&|plan| {
        plan.setting.policy = FlushPolicy::EagerFlush
    }));
    smaller.push(change(&|plan| plan.setting.release = Release::default()));
    for at in 0..plan.events.len() {
        smaller.push(change(&|plan| halve(&mut plan.events[at])));
    }
    smaller.retain(|smaller| smaller != plan);
    smaller
}

fn halve(event: &mut Event) {
    match event {
        Event::Work(count)
        | Event::Grow(count)
        | Event::Kill(_, count)
        | Event::PowerFailure(_, count, _) => *count = (*count / 2).max(1),
        Event::Failure(_, _, _, skip, times) if *times == 1 => *skip /= 2,
        Event::Failure(.., times) => *times /= 2,
        Event::KilledWhileFull {
            openings, after, ..
        } => {
            *openings = openings.div_ceil(2);
            *after = (*after / 2).max(1);
        }
        _ => {}
    }
}
