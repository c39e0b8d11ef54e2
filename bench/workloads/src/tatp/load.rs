//! The initial data: each subscriber draws from a separate generator, and no two have the same sets of types.

use super::schema::Tables;
use super::schema::{START_TIMES, number};
use crate::interface::{Batch, Partition, Row, Value};
use crate::random::Random;

/// Subscribers of a partition.
const PARTITION: i64 = 10_000;

/// Subscribers of a batch.
const BATCH: i64 = 200;

/// Generates the data.
#[derive(Clone, Copy)]
pub(super) struct Loader {
    pub(super) seed: u64,
    pub(super) subscribers: i64,
    pub(super) tables: Tables,
}

// What a generator is for.
const SUBSCRIBER: u64 = 1;
const ACCESS_INFO: u64 = 2;
const FACILITY: u64 = 3;

impl Loader {
    pub(super) fn partitions(&self) -> Vec<Partition> {
        let firsts = (1..=self.subscribers)
            .step_by(PARTITION as usize)
            .enumerate();
        let describe = |(number, first)| {
            let subscribers = PARTITION.min(self.subscribers - first + 1);
            // Of each: itself, 2.5 access types, 2.5 facilities with 1.5 forwardings each.
            Partition {
                number,
                name: format!("subscribers from {first}"),
                rows: (subscribers * 39 / 4) as u64,
            }
        };
        firsts.map(describe).collect()
    }

    pub(super) fn batches(self, number: usize) -> Box<dyn Iterator<Item = Batch> + Send> {
        let first = number as i64 * PARTITION + 1;
        let last = self.subscribers.min(first + PARTITION - 1);
        let of = move |table, rows: fn(&Loader, i64) -> Vec<Row>| {
            (first..=last)
                .step_by(BATCH as usize)
                .map(move |from| Batch {
                    table,
                    rows: (from..=last.min(from + BATCH - 1))
                        .flat_map(|s_id| rows(&self, s_id))
                        .collect(),
                })
        };
        let subscribers = of(self.tables.subscriber, |load, s_id| {
            vec![load.subscriber(s_id)]
        });
        let access_info = of(self.tables.access_info, Loader::access_info);
        let facilities = of(self.tables.special_facility, |load, s_id| {
            load.facilities(s_id).into_iter().map(|f| f.0).collect()
        });
        let forwardings = of(self.tables.call_forwarding, |load, s_id| {
            load.facilities(s_id)
                .into_iter()
                .flat_map(|f| f.1)
                .collect()
        });
        Box::new(
            subscribers
                .chain(access_info)
                .chain(facilities)
                .chain(forwardings),
        )
    }

    fn random(&self, purpose: u64, s_id: i64) -> Random {
        Random::new(self.seed, &[purpose, s_id as u64])
    }

    fn subscriber(&self, s_id: i64) -> Row {
        let random = &mut self.random(SUBSCRIBER, s_id);
        let mut row = vec![Value::Int(s_id), Value::Text(number(s_id))];
        for most in [1, 15, 255] {
            row.extend((0..10).map(|_| Value::Int(random.between(0, most))));
        }
        row.extend((0..2).map(|_| Value::Int(location(random))));
        Row(row)
    }

    fn access_info(&self, s_id: i64) -> Vec<Row> {
        let random = &mut self.random(ACCESS_INFO, s_id);
        let count = random.between(1, 4);
        let types = subset(random, &[1, 2, 3, 4], count);
        let row = |ai_type| {
            let mut row = [
                s_id,
                ai_type,
                random.between(0, 255),
                random.between(0, 255),
            ]
            .map(Value::Int)
            .to_vec();
            row.extend([random.capitals(3, 3), random.capitals(5, 5)].map(Value::Text));
            Row(row)
        };
        types.into_iter().map(row).collect()
    }

    /// The special facilities of a subscriber, each with its call forwardings.
    fn facilities(&self, s_id: i64) -> Vec<(Row, Vec<Row>)> {
        let random = &mut self.random(FACILITY, s_id);
        let count = random.between(1, 4);
        let mut facilities = Vec::new();
        for sf_type in subset(random, &[1, 2, 3, 4], count) {
            let active = i64::from(random.chance(0.85));
            let mut facility = vec![
                s_id,
                sf_type,
                active,
                random.between(0, 255),
                random.between(0, 255),
            ];
            let mut row: Vec<Value> = facility.drain(..).map(Value::Int).collect();
            row.push(random.capitals(5, 5).into());
            let count = random.between(0, 3);
            let mut forwardings = Vec::new();
            for start in subset(random, &START_TIMES, count) {
                let mut forwarding = [s_id, sf_type, start, start + random.between(1, 8)]
                    .map(Value::Int)
                    .to_vec();
                forwarding.push(random.digits(15, 15).into());
                forwardings.push(Row(forwarding));
            }
            facilities.push((Row(row), forwardings));
        }
        facilities
    }
}

/// A location, 1 to 2^31 - 1.
pub(super) fn location(random: &mut Random) -> i64 {
    random.between(1, i32::MAX.into())
}

/// A uniformly random subset of `count` values, ascending.
fn subset(random: &mut Random, values: &[i64], count: i64) -> Vec<i64> {
    let order = random.permutation(0, values.len() as i64 - 1);
    let mut chosen: Vec<i64> = order
        .into_iter()
        .take(count as usize)
        .map(|at| values[at as usize])
        .collect();
    chosen.sort_unstable();
    chosen
}
