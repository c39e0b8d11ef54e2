//! TPC-C (specification 5.11) and the HTAP mix over it (dissertation, section 4.7.4).
//!
//! Schema, data, inputs, transaction profiles, mix and consistency conditions are the specification's. Not included
//! are prices, terminals and their screens, and the rules of a publishable run. Differences that matter:
//!
//! - HISTORY has no key, as in the specification; every other table has its primary key, but no foreign keys.
//! - Delivery runs at once instead of being queued.
//! - The home warehouse is drawn for each transaction ([`Terminal`]).
//! - Dates are counted from the load, not read from a clock.

mod analytical;
mod check;
mod customer;
mod delivery;
mod load;
mod names;
mod new_order;
mod order_status;
mod payment;
mod scale;
mod schema;
mod stock_level;
mod terminal;

pub use analytical::OrdersByState;
pub use delivery::Delivery;
pub use names::{Constants, last_name};
pub use new_order::{INVALID_ITEM, Line, NewOrder};
pub use order_status::OrderStatus;
pub use payment::Payment;
pub use scale::{DISTRICTS, Scale};
pub use schema::Tables;
pub use stock_level::StockLevel;
pub use terminal::{CustomerBy, District, Terminal};

use crate::interface::declare::Statements;
use crate::interface::{
    Batch, Declared, Error, Findings, Outcome, Partition, Transaction, TransactionType, Violation,
    Workload,
};
use crate::random::{Random, Weighted};

/// First step of the generators of a run; [`load`] has the smaller ones.
const RUN: u64 = 100;

/// Which transactions are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mix {
    /// TPC-C's five (5.2.3).
    Standard,
    /// With half a percent of an analytical query, taken from StockLevel.
    Htap,
}

/// The workload.
#[derive(Debug)]
pub struct Tpcc {
    scale: Scale,
    seed: u64,
    mix: Mix,
    constants: Constants,
    declared: Declared,
    tables: Tables,
    weights: Weighted,
    bodies: Bodies,
}

#[derive(Debug)]
struct Bodies {
    new_order: new_order::Body,
    payment: payment::Body,
    order_status: order_status::Body,
    delivery: delivery::Body,
    stock_level: stock_level::Body,
    analytical: analytical::Body,
    check: check::Check,
}

/// The input of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Places an order.
    NewOrder(NewOrder),
    /// Books a payment.
    Payment(Payment),
    /// Asks for a customer's last order.
    OrderStatus(OrderStatus),
    /// Delivers ten orders.
    Delivery(Delivery),
    /// Asks for low stock.
    StockLevel(StockLevel),
    /// Asks for orders by state.
    OrdersByState(OrdersByState),
}

impl Tpcc {
    /// With this scale and mix; `seed` determines data and inputs.
    pub fn new(scale: Scale, mix: Mix, seed: u64) -> Self {
        let (schema, tables) = schema::declare();
        let mut statements = Statements::new(&schema);
        let lookup = customer::Lookup::declare(&mut statements);
        let bodies = Bodies {
            new_order: new_order::Body::declare(&mut statements),
            payment: payment::Body::declare(&mut statements, lookup),
            order_status: order_status::Body::declare(&mut statements, lookup),
            delivery: delivery::Body::declare(&mut statements),
            stock_level: stock_level::Body::declare(&mut statements),
            analytical: analytical::Body::declare(&mut statements),
            check: check::Check::declare(&mut statements),
        };
        let types = transaction_types(mix);
        Tpcc {
            scale,
            seed,
            mix,
            constants: Constants::for_run(&mut Random::new(seed, &[RUN])),
            weights: Weighted::new(types.iter().map(|kind| kind.fraction)),
            declared: Declared {
                statements: statements.finish(),
                schema,
                types,
            },
            tables,
            bodies,
        }
    }

    /// Its tables.
    pub fn tables(&self) -> Tables {
        self.tables
    }

    /// NURand's constants of this run.
    pub fn constants(&self) -> Constants {
        self.constants
    }

    fn load(&self) -> load::Loader {
        load::Loader {
            seed: self.seed,
            scale: self.scale,
            tables: self.tables,
        }
    }
}

/// The types with shares (5.2.3), keying and mean think times (5.2.5.7). Their order is that of [`Request`].
fn transaction_types(mix: Mix) -> Vec<TransactionType> {
    let kind = |name, percent: f64, read_only, keying_s: u64, think_s: u64| TransactionType {
        keying_ns: keying_s * 1_000_000_000,
        think_mean_ns: think_s * 1_000_000_000,
        ..TransactionType::new(name, percent, read_only, false)
    };
    let stock_level = if mix == Mix::Htap { 3.5 } else { 4.0 };
    let mut types = vec![
        kind("new_order", 45.0, false, 18, 12),
        kind("payment", 43.0, false, 3, 12),
        kind("order_status", 4.0, true, 2, 10),
        kind("delivery", 4.0, false, 2, 5),
        kind("stock_level", stock_level, true, 2, 5),
    ];
    if mix == Mix::Htap {
        let query = kind("orders_by_state", 0.5, true, 2, 5);
        types.push(TransactionType {
            single_statement: true,
            ..query
        });
    }
    types
}

impl Workload for Tpcc {
    type Client = Terminal;
    type Request = Request;

    fn name(&self) -> &'static str {
        match self.mix {
            Mix::Standard => "tpcc",
            Mix::Htap => "htap",
        }
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        vec![
            ("warehouses", self.scale.warehouses.to_string()),
            ("customers_per_district", self.scale.customers.to_string()),
            ("items", self.scale.items.to_string()),
            ("scaled_down", self.scale.is_scaled_down().to_string()),
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

    async fn prepare<T: Transaction>(&self, _: &mut T) -> Result<(), Error> {
        Ok(())
    }

    fn client(&self, number: u32) -> Terminal {
        Terminal::new(
            Random::new(self.seed, &[RUN, 1, number.into()]),
            self.constants,
            self.scale,
        )
    }

    fn next(&self, terminal: &mut Terminal) -> Request {
        match self.weights.draw(&mut terminal.random) {
            0 => Request::NewOrder(NewOrder::draw(terminal)),
            1 => Request::Payment(Payment::draw(terminal)),
            2 => Request::OrderStatus(OrderStatus::draw(terminal)),
            3 => Request::Delivery(Delivery::draw(terminal)),
            4 => Request::StockLevel(StockLevel::draw(terminal)),
            _ => Request::OrdersByState(OrdersByState::draw(terminal)),
        }
    }

    fn transaction_type(&self, request: &Request) -> usize {
        match request {
            Request::NewOrder(_) => 0,
            Request::Payment(_) => 1,
            Request::OrderStatus(_) => 2,
            Request::Delivery(_) => 3,
            Request::StockLevel(_) => 4,
            Request::OrdersByState(_) => 5,
        }
    }

    async fn run<T: Transaction>(
        &self,
        _: &mut Terminal,
        request: &Request,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        match request {
            Request::NewOrder(order) => self.bodies.new_order.run(order, transaction).await,
            Request::Payment(payment) => self.bodies.payment.run(payment, transaction).await,
            Request::OrderStatus(status) => self.bodies.order_status.run(status, transaction).await,
            Request::Delivery(delivery) => self.bodies.delivery.run(delivery, transaction).await,
            Request::StockLevel(level) => self.bodies.stock_level.run(level, transaction).await,
            Request::OrdersByState(query) => self.bodies.analytical.run(query, transaction).await,
        }
    }

    async fn check<T: Transaction>(&self, transaction: &mut T) -> Result<Vec<Violation>, Error> {
        let mut findings = Findings::new();
        self.bodies
            .check
            .run(self.scale, transaction, &mut findings)
            .await?;
        Ok(findings.finish())
    }
}
