//! Properties of the contention core on random inputs.

mod model;
mod starvation;
mod steps;

use proptest::prelude::*;

use model::Model;
use steps::{rules, steps};

// Random histories under every schedule, starvation and deadlock policy, with rules changed on the way.
proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn random_histories_agree_with_the_model(rules in rules(), steps in steps()) {
        let mut model = Model::new(rules);
        for step in steps {
            model.take(step);
            model.check();
        }
        model.drain();
    }
}
