//! Random histories under every schedule, starvation and deadlock policy, with rules changed on the way.

use proptest::prelude::*;

use super::model::Model;
use super::steps::{rules, steps};

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
