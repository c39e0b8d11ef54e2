//! TATP, the Telecommunication Application Transaction Processing benchmark (specification 1.0, IBM 2009).
//!
//! Short transactions on a home location register. Many of them look for rows that only some subscribers have: a
//! *miss* is part of the benchmark and no error. The project's notes give some figures from memory: 85 % of the
//! facilities are active. Of the shares of success, 62.5 % (GetAccessData, UpdateSubscriberData) and 31.25 %
//! (inserts, deletes) follow from the definitions. The 23.9 % of GetNewDestination do not: as defined here, it
//! succeeds in 14.8 % (worked out in the tests).
//!
//! InsertCallForwarding has no foreign key to fail on: it looks whether the facility is among the
//! subscriber's, whose types it has read anyway.

mod check;
mod load;
mod request;
mod schema;
mod statements;

pub use request::Request;
pub use schema::{START_TIMES, Tables, number};

use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;

use crate::interface::declare::Statements;
use crate::interface::{
    Batch, Declared, Error, Outcome, Partition, Row, Transaction, TransactionType, Value,
    Violation, Workload,
};
use crate::random::{Random, Weighted};
use statements::Ids;

/// Why an InsertCallForwarding is rolled back: the forwarding is there.
pub const ALREADY_FORWARDED: &str = "already_forwarded";

/// First step of the generators of clients; [`load`] has the smaller ones.
const RUN: u64 = 100;

/// The workload.
#[derive(Debug)]
pub struct Tatp {
    subscribers: i64,
    seed: u64,
    declared: Declared,
    tables: Tables,
    ids: Ids,
    weights: Weighted,
    /// Call forwardings at the beginning of the run.
    forwardings_before: Mutex<Option<i64>>,
    /// Committed inserts less committed deletes of call forwardings since.
    forwardings_added: AtomicI64,
}

/// A client.
#[derive(Clone, Debug)]
pub struct Client {
    random: Random,
    /// Rows of CALL_FORWARDING the running transaction inserted, or deleted as a negative number.
    added: i64,
}

/// The A of the subscriber's distribution for a population.
fn a_of(subscribers: i64) -> i64 {
    if subscribers <= 1_000_000 {
        65_535
    } else if subscribers <= 10_000_000 {
        1_048_575
    } else {
        2_097_151
    }
}

/// A subscriber: `((rand(0,A) | rand(1,P)) % P) + 1`.
pub fn random_subscriber(random: &mut Random, subscribers: i64) -> i64 {
    (random.between(0, a_of(subscribers)) | random.between(1, subscribers)) % subscribers + 1
}

impl Tatp {
    /// With `subscribers` subscribers, 100 000 at scale 1; `seed` determines data and inputs.
    ///
    /// # Panics
    /// If there are no subscribers.
    pub fn new(subscribers: i64, seed: u64) -> Self {
        assert!(subscribers > 0, "TATP needs subscribers");
        let (schema, tables) = schema::declare();
        let mut statements = Statements::new(&schema);
        let ids = Ids::declare(&mut statements);
        let types = transaction_types();
        Tatp {
            subscribers,
            seed,
            weights: Weighted::new(types.iter().map(|kind| kind.fraction)),
            declared: Declared {
                statements: statements.finish(),
                schema,
                types,
            },
            tables,
            ids,
            forwardings_before: Mutex::new(None),
            forwardings_added: AtomicI64::new(0),
        }
    }

    /// INSERT_CALL_FORWARDING, of subscriber, facility, and start and end of the forwarding.
    async fn insert_forwarding<T: Transaction>(
        &self,
        client: &mut Client,
        [s_id, sf_type, start_time, end_time]: [i64; 4],
        numberx: &str,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let ids = &self.ids;
        let s_id = ids.find(s_id, transaction).await?;
        let facilities = transaction.query(ids.facilities, &[s_id.into()]).await?;
        let is_it = |facility: &Row| facility.int(0) == Ok(sf_type);
        if !facilities.iter().any(is_it) {
            return Ok(Outcome::Miss);
        }
        let mut row = [s_id, sf_type, start_time, end_time]
            .map(Value::Int)
            .to_vec();
        row.push(numberx.into());
        match transaction.execute(ids.insert_forwarding, &row).await {
            Err(Error::DuplicateKey(_)) => Ok(Outcome::Rollback(ALREADY_FORWARDED)),
            inserted => {
                client.added = inserted? as i64;
                Ok(Outcome::Commit)
            }
        }
    }

    fn load(&self) -> load::Loader {
        load::Loader {
            seed: self.seed,
            subscribers: self.subscribers,
            tables: self.tables,
        }
    }
}

/// The types in the order in which [`Request`] is drawn.
fn transaction_types() -> Vec<TransactionType> {
    let kind = TransactionType::new;
    vec![
        kind("get_subscriber_data", 35.0, true, true),
        kind("get_new_destination", 10.0, true, true),
        kind("get_access_data", 35.0, true, true),
        kind("update_subscriber_data", 2.0, false, false),
        kind("update_location", 14.0, false, true),
        kind("insert_call_forwarding", 2.0, false, false),
        kind("delete_call_forwarding", 2.0, false, false),
    ]
}

impl Workload for Tatp {
    type Client = Client;
    type Request = Request;

    fn name(&self) -> &'static str {
        "tatp"
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![
            ("subscribers", self.subscribers.to_string()),
            ("seed", self.seed.to_string()),
        ]
    }

    fn declared(&self) -> &Declared {
        &self.declared
    }

    fn partitions(&self) -> Vec<Partition> {
        self.load().partitions()
    }

    fn batches(&self, partition: &Partition) -> Box<dyn Iterator<Item = Batch> + Send + '_> {
        self.load().batches(partition.number)
    }

    async fn prepare<T: Transaction>(&self, transaction: &mut T) -> Result<(), Error> {
        let count = transaction
            .query_one(self.ids.count_forwardings, &[])
            .await?
            .int(0)?;
        *self.forwardings_before.lock() = Some(count);
        self.forwardings_added.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn client(&self, number: u32) -> Client {
        Client {
            random: Random::new(self.seed, &[RUN, number.into()]),
            added: 0,
        }
    }

    fn next(&self, client: &mut Client) -> Request {
        let random = &mut client.random;
        let kind = self.weights.draw(random);
        let s_id = random_subscriber(random, self.subscribers);
        // ai_type and sf_type both have four values.
        let kind_of_row = random.between(1, 4);
        let start_time = START_TIMES[random.below(3)];
        match kind {
            0 => Request::GetSubscriberData { s_id },
            1 => {
                let end_time = random.between(1, 24);
                Request::GetNewDestination {
                    s_id,
                    sf_type: kind_of_row,
                    start_time,
                    end_time,
                }
            }
            2 => Request::GetAccessData {
                s_id,
                ai_type: kind_of_row,
            },
            3 => {
                let (bit, data) = (random.between(0, 1), random.between(0, 255));
                Request::UpdateSubscriberData {
                    s_id,
                    sf_type: kind_of_row,
                    bit,
                    data,
                }
            }
            4 => Request::UpdateLocation {
                s_id,
                location: load::location(random),
            },
            5 => {
                let (end_time, numberx) = (random.between(1, 24), random.digits(15, 15));
                Request::InsertCallForwarding {
                    s_id,
                    sf_type: kind_of_row,
                    start_time,
                    end_time,
                    numberx,
                }
            }
            _ => Request::DeleteCallForwarding {
                s_id,
                sf_type: kind_of_row,
                start_time,
            },
        }
    }

    fn transaction_type(&self, request: &Request) -> usize {
        match request {
            Request::GetSubscriberData { .. } => 0,
            Request::GetNewDestination { .. } => 1,
            Request::GetAccessData { .. } => 2,
            Request::UpdateSubscriberData { .. } => 3,
            Request::UpdateLocation { .. } => 4,
            Request::InsertCallForwarding { .. } => 5,
            Request::DeleteCallForwarding { .. } => 6,
        }
    }

    async fn run<T: Transaction>(
        &self,
        client: &mut Client,
        request: &Request,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let ids = &self.ids;
        client.added = 0;
        let found = match request {
            Request::GetSubscriberData { s_id } => transaction
                .query(ids.subscriber, &[(*s_id).into()])
                .await?
                .len() as u64,
            Request::GetAccessData { s_id, ai_type } => transaction
                .query(ids.access, &[*s_id, *ai_type].map(Value::Int))
                .await?
                .len() as u64,
            Request::GetNewDestination {
                s_id,
                sf_type,
                start_time,
                end_time,
            } => {
                let parameters = [*s_id, *sf_type, *start_time, *end_time].map(Value::Int);
                transaction.query(ids.destination, &parameters).await?.len() as u64
            }
            Request::UpdateLocation { s_id, location } => {
                let row = [number(*s_id).into(), (*location).into()];
                transaction.execute(ids.set_location, &row).await?
            }
            Request::UpdateSubscriberData {
                s_id,
                sf_type,
                bit,
                data,
            } => {
                let (bit, data) = ([*s_id, *bit], [*s_id, *sf_type, *data]);
                let bit = bit.map(Value::Int);
                transaction.execute(ids.set_bit, &bit).await?;
                let data = data.map(Value::Int);
                transaction.execute(ids.set_data, &data).await?
            }
            Request::InsertCallForwarding {
                s_id,
                sf_type,
                start_time,
                end_time,
                numberx,
            } => {
                let row = [*s_id, *sf_type, *start_time, *end_time];
                return self
                    .insert_forwarding(client, row, numberx, transaction)
                    .await;
            }
            Request::DeleteCallForwarding {
                s_id,
                sf_type,
                start_time,
            } => {
                let s_id = ids.find(*s_id, transaction).await?;
                let key = [s_id, *sf_type, *start_time].map(Value::Int);
                let deleted = transaction.execute(ids.delete_forwarding, &key).await?;
                client.added = -(deleted as i64);
                deleted
            }
        };
        Ok(if found > 0 {
            Outcome::Commit
        } else {
            Outcome::Miss
        })
    }

    fn finished(&self, client: &mut Client, _: &Request, committed: bool) {
        if committed {
            self.forwardings_added
                .fetch_add(client.added, Ordering::Relaxed);
        }
        client.added = 0;
    }

    async fn check<T: Transaction>(&self, transaction: &mut T) -> Result<Vec<Violation>, Error> {
        let forwardings = self
            .forwardings_before
            .lock()
            .map(|before| before + self.forwardings_added.load(Ordering::Relaxed));
        check::check(&self.ids, self.subscribers, forwardings, transaction).await
    }
}
