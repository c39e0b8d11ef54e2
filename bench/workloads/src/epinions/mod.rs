//! Epinions: the consumer-review workload of OLTP-Bench (Difallah et al., VLDB 2013), after epinions.com.
//!
//! Users review items and trust each other; queries walk this graph with uniform ids. As in the original, most pairs
//! of an update of a review or of a trust do not exist: a miss. The original's queries for an item's or a user's
//! reviews return the ten best. Statements here order by keys only, so they return all, and the client picks the ten
//! best.

mod check;
mod load;
mod schema;
mod statements;

pub use schema::Tables;

use parking_lot::Mutex;

use statements::Ids;

use crate::interface::declare::Statements;
use crate::interface::{
    Batch, Declared, Error, Outcome, Partition, Row, Transaction, TransactionType, Value,
    Violation, Workload,
};
use crate::random::{Random, Weighted};

/// Its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Users: 2000 times the scale.
    pub users: i64,
    /// Items: 1000 times the scale.
    pub items: i64,
    /// Most reviews of an item: 500 times the scale.
    pub reviews: i64,
    /// Most users a user trusts, plus one: 200 times the scale.
    pub trusts: i64,
}

impl Sizes {
    /// At this scale.
    pub(crate) fn at_scale(scale: i64) -> Self {
        Sizes {
            users: 2000 * scale,
            items: 1000 * scale,
            reviews: 500 * scale,
            trusts: 200 * scale,
        }
    }
}

/// The input of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The best reviews of an item.
    ReviewItemById(i64),
    /// The best reviews by a user.
    ReviewsByUser(i64),
    /// The mean rating of an item (first) by users that a user (second) trusts.
    AverageRatingByTrustedUser(i64, i64),
    /// The mean rating of an item.
    ItemAverageRating(i64),
    /// Reviews of an item (first) by users that a user (second) trusts.
    ItemReviewsByTrustedUser(i64, i64),
    /// A user's new name.
    UpdateUserName(i64, String),
    /// An item's new title.
    UpdateItemTitle(i64, String),
    /// A new rating, last, of an item (first) by a user (second).
    UpdateReviewRating(i64, i64, i64),
    /// Whether, last, a user (first) trusts another (second).
    UpdateTrustRating(i64, i64, i64),
}

/// First step of the generators of clients; [`load`] has the smaller ones.
const RUN: u64 = 100;

/// Reviews shown.
const SHOWN: usize = 10;

/// The workload.
#[derive(Debug)]
pub struct Epinions {
    sizes: Sizes,
    seed: u64,
    declared: Declared,
    ids: Ids,
    weights: Weighted,
    load: load::Loader,
    /// Rows of reviews and trusts at the beginning of the run.
    before: Mutex<Option<[i64; 2]>>,
}

/// A client.
#[derive(Clone, Debug)]
pub struct Client {
    random: Random,
}

/// The types in the order of [`Request`]. Weights as in the original.
fn transaction_types() -> Vec<TransactionType> {
    let kind = TransactionType::new;
    vec![
        kind("review_item_by_id", 10.0, true, true),
        kind("reviews_by_user", 10.0, true, true),
        kind("average_rating_by_trusted_user", 10.0, true, true),
        kind("item_average_rating", 10.0, true, true),
        kind("item_reviews_by_trusted_user", 10.0, true, false),
        kind("update_user_name", 10.0, false, true),
        kind("update_item_title", 10.0, false, true),
        kind("update_review_rating", 10.0, false, true),
        kind("update_trust_rating", 20.0, false, true),
    ]
}

impl Epinions {
    /// A database of this size; `seed` determines data and inputs.
    ///
    /// # Panics
    /// If there are no users or items.
    pub fn new(sizes: Sizes, seed: u64) -> Self {
        let (schema, tables) = schema::declare();
        let mut statements = Statements::new(&schema);
        let ids = Ids::declare(&mut statements);
        let types = transaction_types();
        Epinions {
            sizes,
            seed,
            weights: Weighted::new(types.iter().map(|kind| kind.fraction)),
            declared: Declared {
                statements: statements.finish(),
                schema,
                types,
            },
            ids,
            load: load::Loader::new(seed, sizes, tables),
            before: Mutex::new(None),
        }
    }
}

/// The ten best rated of some reviews, whose rating is column 2.
fn best(mut reviews: Vec<Row>) -> Result<Vec<Row>, Error> {
    for review in &reviews {
        review.int(2)?;
    }
    reviews.sort_by_key(|review| std::cmp::Reverse(review.int(2).unwrap_or(0)));
    reviews.truncate(SHOWN);
    Ok(reviews)
}

impl Workload for Epinions {
    type Client = Client;
    type Request = Request;

    fn name(&self) -> &'static str {
        "epinions"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![
            ("users", self.sizes.users.to_string()),
            ("items", self.sizes.items.to_string()),
            ("reviews", self.sizes.reviews.to_string()),
            ("trusts", self.sizes.trusts.to_string()),
            ("seed", self.seed.to_string()),
        ]
    }

    fn declared(&self) -> &Declared {
        &self.declared
    }

    fn partitions(&self) -> Vec<Partition> {
        self.load.partitions()
    }

    fn batches(&self, partition: &Partition) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        self.load.batches(partition.number)
    }

    async fn prepare<T: Transaction>(&self, transaction: &mut T) -> Result<(), Error> {
        let reviews = transaction.query_one(self.ids.ratings, &[]).await?.int(0)?;
        let trusts = transaction.query_one(self.ids.trusts, &[]).await?.int(0)?;
        *self.before.lock() = Some([reviews, trusts]);
        Ok(())
    }

    fn client(&self, number: u32) -> Client {
        Client {
            random: Random::new(self.seed, &[RUN, number.into()]),
        }
    }

    fn next(&self, client: &mut Client) -> Request {
        let random = &mut client.random;
        let kind = self.weights.draw(random);
        let (user, item) = (
            random.between(1, self.sizes.users),
            random.between(1, self.sizes.items),
        );
        match kind {
            0 => Request::ReviewItemById(item),
            1 => Request::ReviewsByUser(user),
            2 => Request::AverageRatingByTrustedUser(item, user),
            3 => Request::ItemAverageRating(item),
            4 => Request::ItemReviewsByTrustedUser(item, user),
            5 => Request::UpdateUserName(user, random.text(5, 24)),
            6 => Request::UpdateItemTitle(item, random.text(128, 128)),
            7 => Request::UpdateReviewRating(item, user, random.between(0, 4)),
            _ => Request::UpdateTrustRating(
                user,
                random.between(1, self.sizes.users),
                random.between(0, 1),
            ),
        }
    }

    fn transaction_type(&self, request: &Request) -> usize {
        match request {
            Request::ReviewItemById(_) => 0,
            Request::ReviewsByUser(_) => 1,
            Request::AverageRatingByTrustedUser(..) => 2,
            Request::ItemAverageRating(_) => 3,
            Request::ItemReviewsByTrustedUser(..) => 4,
            Request::UpdateUserName(..) => 5,
            Request::UpdateItemTitle(..) => 6,
            Request::UpdateReviewRating(..) => 7,
            Request::UpdateTrustRating(..) => 8,
        }
    }

    async fn run<T: Transaction>(
        &self,
        _: &mut Client,
        request: &Request,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let ids = &self.ids;
        let found = match request {
            Request::ReviewItemById(item) => best(
                transaction
                    .query(ids.item_reviews, &[(*item).into()])
                    .await?,
            )?
            .len() as u64,
            Request::ReviewsByUser(user) => best(
                transaction
                    .query(ids.user_reviews, &[(*user).into()])
                    .await?,
            )?
            .len() as u64,
            Request::AverageRatingByTrustedUser(item, user) => {
                let row = transaction
                    .query_one(ids.trusted_average, &[*item, *user].map(Value::Int))
                    .await?;
                u64::from(!row.0[0].is_null())
            }
            Request::ItemAverageRating(item) => {
                let row = transaction
                    .query_one(ids.item_average, &[(*item).into()])
                    .await?;
                u64::from(!row.0[0].is_null())
            }
            Request::ItemReviewsByTrustedUser(item, user) => {
                let reviews = transaction.query(ids.reviews, &[(*item).into()]).await?;
                std::hint::black_box(transaction.query(ids.trusted, &[(*user).into()]).await?);
                reviews.len() as u64
            }
            Request::UpdateUserName(user, name) => {
                transaction
                    .execute(ids.set_name, &[(*user).into(), name.as_str().into()])
                    .await?
            }
            Request::UpdateItemTitle(item, title) => {
                transaction
                    .execute(ids.set_title, &[(*item).into(), title.as_str().into()])
                    .await?
            }
            Request::UpdateReviewRating(item, user, rating) => {
                transaction
                    .execute(ids.set_rating, &[*item, *user, *rating].map(Value::Int))
                    .await?
            }
            Request::UpdateTrustRating(source, target, trust) => {
                transaction
                    .execute(ids.set_trust, &[*source, *target, *trust].map(Value::Int))
                    .await?
            }
        };
        Ok(if found > 0 {
            Outcome::Commit
        } else {
            Outcome::Miss
        })
    }

    async fn check<T: Transaction>(&self, transaction: &mut T) -> Result<Vec<Violation>, Error> {
        let before = *self.before.lock();
        check::check(&self.ids, before, transaction).await
    }
}
