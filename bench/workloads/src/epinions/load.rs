//! The initial data.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Sizes;
use super::schema::Tables;
use crate::interface::{Batch, Partition, Row, TableId, Value};
use crate::random::{Gray, Random, RankTable, scramble};

/// The moment of the load: 2026-01-01 00:00 UTC.
const LOADED_AT: i64 = 1_767_225_600_000_000;

/// Users or items of a partition.
const PARTITION: i64 = 1000;

/// Users or items of a batch.
const BATCH: i64 = 100;

/// Room for the reviews of an item: its first review's number is the item's times this. Zipf's counts stay
/// far below.
pub(super) const REVIEWS_PER_ITEM: i64 = 1 << 20;

/// Exponent of the popularity of reviewers and of trusted users: YCSB's, as in the original's generators.
const POPULARITY: f64 = 0.99;

/// Generates the data.
#[derive(Clone, Debug)]
pub(super) struct Loader {
    seed: u64,
    sizes: Sizes,
    tables: Tables,
    /// Reviews of an item, less one.
    reviews: Arc<RankTable>,
    /// Trusts of a user.
    trusts: Arc<RankTable>,
    users: Gray,
}

// What a generator is for.
const USER: u64 = 1;
const ITEM: u64 = 2;
const REVIEW: u64 = 3;
const TRUST: u64 = 4;

impl Loader {
    pub(super) fn new(seed: u64, sizes: Sizes, tables: Tables) -> Self {
        Loader {
            seed,
            sizes,
            tables,
            reviews: Arc::new(RankTable::new(sizes.reviews as u64, 1.8)),
            trusts: Arc::new(RankTable::new(sizes.trusts as u64, 1.95)),
            users: Gray::new(sizes.users as u64, POPULARITY),
        }
    }

    /// Parts of the users with their trusted users, then parts of the items with their reviews: first and last id.
    fn parts(&self) -> Vec<(bool, i64, i64)> {
        let parts = |of_users: bool, count: i64| {
            let firsts = (1..=count).step_by(PARTITION as usize);
            firsts.map(move |first| (of_users, first, count.min(first + PARTITION - 1)))
        };
        parts(true, self.sizes.users)
            .chain(parts(false, self.sizes.items))
            .collect()
    }

    pub(super) fn partitions(&self) -> Vec<Partition> {
        // Means of Zipf's ranks, by which a partition's rows are estimated.
        let (trusts, reviews) = (
            mean_rank(self.sizes.trusts, 1.95),
            mean_rank(self.sizes.reviews, 1.8) + 1.0,
        );
        let describe = |(number, (of_users, first, last))| {
            let (what, each) = if of_users {
                ("users", 1.0 + trusts)
            } else {
                ("items", 1.0 + reviews)
            };
            let rows = ((last - first + 1) as f64 * each) as u64;
            Partition {
                number,
                name: format!("{what} from {first}"),
                rows,
            }
        };
        self.parts().into_iter().enumerate().map(describe).collect()
    }

    pub(super) fn batches(&self, number: usize) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        let (of_users, first, last) = self.parts()[number];
        let of = move |table: TableId, rows: fn(&Loader, i64) -> Vec<Row>| {
            (first..=last)
                .step_by(BATCH as usize)
                .map(move |from| Batch {
                    table,
                    rows: (from..=last.min(from + BATCH - 1))
                        .flat_map(|id| rows(self, id))
                        .collect(),
                })
        };
        if of_users {
            Box::new(
                of(self.tables.user, Loader::user).chain(of(self.tables.trust, Loader::trusts)),
            )
        } else {
            Box::new(
                of(self.tables.item, Loader::item).chain(of(self.tables.review, Loader::reviews)),
            )
        }
    }

    fn random(&self, purpose: u64, id: i64) -> Random {
        Random::new(self.seed, &[purpose, id as u64])
    }

    fn user(&self, u_id: i64) -> Vec<Row> {
        let random = &mut self.random(USER, u_id);
        let texts = [random.text(5, 24), random.text(8, 12) + "@example.com"];
        vec![row(&[u_id], texts, LOADED_AT)]
    }

    fn item(&self, i_id: i64) -> Vec<Row> {
        let random = &mut self.random(ITEM, i_id);
        vec![row(
            &[i_id],
            [random.text(128, 128), random.text(512, 512)],
            LOADED_AT,
        )]
    }

    /// A review, and a number of further ones by Zipf's rank, each by another user.
    fn reviews(&self, i_id: i64) -> Vec<Row> {
        let random = &mut self.random(REVIEW, i_id);
        let count = (self.reviews.draw(random) as i64 + 1).min(self.sizes.users);
        let mut reviewers = BTreeSet::new();
        let mut reviews = Vec::new();
        while reviews.len() < count as usize {
            let u_id = self.users.draw(random) as i64 + 1;
            if reviewers.insert(u_id) {
                let a_id = i_id * REVIEWS_PER_ITEM + reviews.len() as i64;
                let mut review = [a_id, u_id, i_id, random.between(0, 4)]
                    .map(Value::Int)
                    .to_vec();
                review.extend([Value::Null, random.text(32, 256).into(), LOADED_AT.into()]);
                reviews.push(Row(review));
            }
        }
        reviews
    }

    /// As many trusted users as Zipf's rank says, popular ones more often.
    fn trusts(&self, source: i64) -> Vec<Row> {
        let random = &mut self.random(TRUST, source);
        let count = (self.trusts.draw(random) as i64).min(self.sizes.users);
        let mut targets = BTreeSet::new();
        // Hashing may leave users that no rank falls on: then fewer are trusted.
        for _ in 0..count * 20 {
            if targets.len() as i64 == count {
                break;
            }
            targets
                .insert((scramble(self.users.draw(random)) % self.sizes.users as u64) as i64 + 1);
        }
        let trust = |target| {
            Row([source, target, random.between(0, 1), LOADED_AT]
                .map(Value::Int)
                .to_vec())
        };
        targets.into_iter().map(trust).collect()
    }
}

/// Ids, texts, and a date.
fn row<const N: usize>(ids: &[i64], texts: [String; N], date: i64) -> Row {
    let ids = ids.iter().copied().map(Value::Int);
    Row(ids
        .chain(texts.map(Value::Text))
        .chain([Value::Int(date)])
        .collect())
}

fn mean_rank(ranks: i64, theta: f64) -> f64 {
    let weight = |rank: i64| libm::pow(rank as f64 + 1.0, -theta);
    let total: f64 = (0..ranks).map(weight).sum();
    (0..ranks)
        .map(|rank| rank as f64 * weight(rank))
        .sum::<f64>()
        / total
}
