//! A course of TPC-C transactions, and what the tables hold after each.

use std::collections::BTreeSet;

use evenkeel_drive::workload::Hosted;
use evenkeel_workloads::interface::{Connection, Error, Outcome, Row, Workload};
use evenkeel_workloads::tpcc::{Mix, Request, Scale, Tpcc};
use std::sync::Arc;

const SCALE: Scale = Scale {
    warehouses: 1,
    customers: 10,
    items: 100,
};
const TRANSACTIONS: usize = 40;

/// All rows of all tables, in the order of the schema and of the keys.
pub type Contents = Vec<Vec<Row>>;

/// A fixed sequence of transactions.
pub struct Course {
    pub tpcc: Arc<Tpcc>,
    pub hosted: Hosted<Arc<Tpcc>>,
    pub requests: Vec<Request>,
    /// The tables' contents after each number of transactions, from none on.
    pub states: Vec<Contents>,
}

impl Course {
    /// The first course by seed that has all five types of transactions and a NewOrder that is rolled back.
    /// `states` gives the tables' contents after each transaction.
    pub fn draw(states: impl Fn(&Course) -> Vec<Contents>) -> Course {
        let mut all = (1..).map(|seed| Course::of_seed(seed, &states));
        all.find_map(|course| course).expect("one of the seeds")
    }

    fn of_seed(seed: u64, states: impl Fn(&Course) -> Vec<Contents>) -> Option<Course> {
        let tpcc = Arc::new(Tpcc::new(SCALE, Mix::Standard, seed));
        let mut terminal = tpcc.client(0);
        let requests: Vec<Request> = (0..TRANSACTIONS)
            .map(|_| tpcc.next(&mut terminal))
            .collect();
        let types: BTreeSet<usize> = requests
            .iter()
            .map(|request| tpcc.transaction_type(request))
            .collect();
        let rolls_back = |request: &Request| match request {
            Request::NewOrder(order) => order.lines.iter().any(|line| line.i > SCALE.items),
            _ => false,
        };
        if types.len() < tpcc.transactions().len() || !requests.iter().any(rolls_back) {
            return None;
        }
        let mut course = Course {
            hosted: Hosted(Arc::clone(&tpcc)),
            tpcc,
            requests,
            states: Vec::new(),
        };
        course.states = states(&course);
        Some(course)
    }

    /// Where `found` differs from each of `states`, for a message.
    pub fn differences(&self, found: &Contents, states: &[Contents]) -> String {
        let tables = &self.tpcc.schema().tables;
        let differ = |state: &Contents| {
            let rows = tables
                .iter()
                .zip(found.iter().zip(state))
                .filter(|(_, (found, wanted))| found != wanted);
            let describe = rows.map(|(table, (found, wanted))| {
                let surplus: Vec<_> = found.iter().filter(|row| !wanted.contains(row)).collect();
                let missing: Vec<_> = wanted.iter().filter(|row| !found.contains(row)).collect();
                format!("{} has {surplus:?} for {missing:?}", table.name)
            });
            describe.collect::<Vec<_>>().join("; ")
        };
        states.iter().map(differ).collect::<Vec<_>>().join("\nor ")
    }
}

/// Runs one transaction; `committing` is called before the commit.
pub async fn transact(
    tpcc: &Tpcc,
    request: &Request,
    connection: &mut impl Connection,
    committing: impl FnOnce(),
) -> Result<(), Error> {
    let kind = &tpcc.transactions()[tpcc.transaction_type(request)];
    // What a terminal draws was drawn before.
    let mut terminal = tpcc.client(0);
    connection.begin(kind).await?;
    match tpcc.run(&mut terminal, request, connection).await? {
        Outcome::Commit | Outcome::Miss => {
            committing();
            connection.commit().await
        }
        Outcome::Rollback(_) => connection.rollback().await,
    }
}
