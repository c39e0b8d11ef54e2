//! The locks of TPC-C: the rows that its transactions lock, their order and modes, and the number of statements in
//! between.
//!
//! From the TPC-C specification, revision 5.11, clauses 2.4 to 2.8, run at serializable isolation by a lock-based
//! engine. A read locks its row shared; `SELECT ... FOR UPDATE` and writes lock it exclusively. The contention is
//! where the specification puts it: Payment writes its warehouse's row while New-Order reads it, and both write
//! district rows.
//!
//! | class | share | locks in order, and statements after each |
//! |---|---:|---|
//! | New-Order | 45 % | customer S, warehouse S 1, district X 4 (read, update, two inserts), 5 to 15 stock X 2 each (item and stock read), 2 (batched writes) at the end; 1 % of the stock is another warehouse's |
//! | Payment | 43 % | warehouse X 2, district X 2, customer S 1 then X 2 (update, history); 15 % of the customers are another warehouse's |
//! | Order-Status | 4 % | customer S 3 |
//! | Delivery | 4 % | in each of ten districts: the oldest undelivered order X 2, its customer X 5 |
//! | Stock-Level | 4 % | district S 2 |
//!
//! The simulation leaves out what causes little or no waiting. `item` is never written. Rows just inserted (orders,
//! order lines, history) are met only by Delivery, whose queue of undelivered orders is one object a district.
//! Stock-Level may read at read committed (clause 2.8) and holds no stock rows. Of customers found by last name only
//! the chosen one is locked. No New-Order rolls back. As in the papers' runs there are no think and keying times.
//! There are no gap and index locks, and no buffer pool or log.

use evenkeel_locks::Mode;
use evenkeel_locks::rng::Rng;

use super::Step;
use crate::Error;
use crate::sample::{self, Purpose};
use crate::work::Work;

const DISTRICTS: u32 = 10;
const CUSTOMERS: u32 = 3_000;
const ITEMS: u32 = 100_000;
/// Rows of one warehouse: itself, districts, undelivered orders by district, customers, stock.
const ROWS: u32 = 1 + DISTRICTS + DISTRICTS + DISTRICTS * CUSTOMERS + ITEMS;
/// At most; the simulator keeps 8 bytes a row.
const WAREHOUSES_MAX: u32 = 500;
/// `A` of clause 2.1.6 for customers and items.
const NURAND_CUSTOMER: u64 = 1_023;
const NURAND_ITEM: u64 = 8_191;

/// TPC-C's locks.
#[derive(Clone, Debug, PartialEq)]
pub struct Tpcc {
    /// Number of warehouses. In a closed loop client `n` is at home in warehouse `n` modulo this; else any is home.
    pub warehouses: u32,
    /// Duration of a statement.
    pub statement: Work,
}

impl Tpcc {
    /// The transaction types and their shares in per cent (clause 5.2.3).
    pub const CLASSES: [(&'static str, u32); 5] = [
        ("new-order", 45),
        ("payment", 43),
        ("order-status", 4),
        ("delivery", 4),
        ("stock-level", 4),
    ];

    pub(super) fn check(&self) -> Result<(), Error> {
        if self.warehouses == 0 || self.warehouses > WAREHOUSES_MAX {
            return Err(Error::setting(format!(
                "{} warehouses: give 1 to {WAREHOUSES_MAX}",
                self.warehouses
            )));
        }
        self.statement.check()
    }
}

/// Makes the transactions of a [`Tpcc`] workload.
pub(crate) struct TpccMaker<'a> {
    tpcc: &'a Tpcc,
    seed: u64,
}

impl<'a> TpccMaker<'a> {
    pub(super) fn new(tpcc: &'a Tpcc, seed: u64) -> TpccMaker<'a> {
        TpccMaker { tpcc, seed }
    }

    /// Puts what transaction `number` does into `steps`; returns its class.
    pub(super) fn make(&self, number: u64, client: Option<u32>, steps: &mut Vec<Step>) -> u32 {
        let mut rng = sample::stream(self.seed, Purpose::Plan, number);
        let any = rng.below(u64::from(self.tpcc.warehouses)) as u32;
        let home = client.map_or(any, |client| client % self.tpcc.warehouses);
        let mut left = rng.below(100) as u32;
        let mut class = 0;
        while left >= Tpcc::CLASSES[class].1 {
            left -= Tpcc::CLASSES[class].1;
            class += 1;
        }
        steps.clear();
        let mut plan = Plan {
            tpcc: self.tpcc,
            rng,
            home,
            steps,
        };
        match class {
            0 => plan.new_order(),
            1 => plan.payment(),
            2 => plan.order_status(),
            3 => plan.delivery(),
            _ => plan.stock_level(),
        }
        class as u32
    }
}

/// A transaction in the making.
struct Plan<'a> {
    tpcc: &'a Tpcc,
    rng: Rng,
    home: u32,
    steps: &'a mut Vec<Step>,
}

impl Plan<'_> {
    fn new_order(&mut self) {
        let district = self.below(DISTRICTS);
        let customer = self.customer(self.home, district);
        self.lock(customer, Mode::S, 0);
        self.lock(row(self.home, WAREHOUSE), Mode::S, 1);
        self.lock(row(self.home, DISTRICT + district), Mode::X, 4);
        for _ in 0..5 + self.below(11) {
            let supplier = if self.below(100) == 0 {
                self.elsewhere()
            } else {
                self.home
            };
            let item = self.nurand(NURAND_ITEM, ITEMS);
            self.lock(row(supplier, STOCK + item), Mode::X, 2);
        }
        self.work(2);
    }

    fn payment(&mut self) {
        let district = self.below(DISTRICTS);
        self.lock(row(self.home, WAREHOUSE), Mode::X, 2);
        self.lock(row(self.home, DISTRICT + district), Mode::X, 2);
        let customer = if self.below(100) < 15 {
            let (warehouse, district) = (self.elsewhere(), self.below(DISTRICTS));
            self.customer(warehouse, district)
        } else {
            self.customer(self.home, district)
        };
        self.lock(customer, Mode::S, 1);
        self.lock(customer, Mode::X, 2);
    }

    fn order_status(&mut self) {
        let district = self.below(DISTRICTS);
        let customer = self.customer(self.home, district);
        self.lock(customer, Mode::S, 3);
    }

    fn delivery(&mut self) {
        for district in 0..DISTRICTS {
            self.lock(row(self.home, UNDELIVERED + district), Mode::X, 2);
            // Whoever ordered: every customer has one initial order, and orders on by New-Order's choice.
            let customer = self.customer(self.home, district);
            self.lock(customer, Mode::X, 5);
        }
    }

    fn stock_level(&mut self) {
        let district = self.below(DISTRICTS);
        self.lock(row(self.home, DISTRICT + district), Mode::S, 2);
    }

    fn lock(&mut self, object: u32, mode: Mode, statements: u32) {
        self.steps.push(Step {
            object,
            mode,
            work: 0,
        });
        self.work(statements);
    }

    /// Statements after the last lock.
    fn work(&mut self, statements: u32) {
        let statement = &self.tpcc.statement;
        let ticks: u64 = (0..statements)
            .map(|_| statement.draw(&mut self.rng))
            .fold(0, u64::saturating_add);
        let last = self.steps.last_mut().expect("a lock comes first");
        last.work = last.work.saturating_add(ticks);
    }

    fn below(&mut self, end: u32) -> u32 {
        self.rng.below(u64::from(end)) as u32
    }

    /// A warehouse other than home, if there is one.
    fn elsewhere(&mut self) -> u32 {
        let others = self.tpcc.warehouses - 1;
        if others == 0 {
            return self.home;
        }
        let other = self.below(others);
        other + u32::from(other >= self.home)
    }

    fn customer(&mut self, warehouse: u32, district: u32) -> u32 {
        let customer = self.nurand(NURAND_CUSTOMER, CUSTOMERS);
        row(warehouse, CUSTOMER + district * CUSTOMERS + customer)
    }

    /// Non-uniform random on `0..end` (clause 2.1.6), with a constant `C` of 0: which rows are hot does not matter.
    fn nurand(&mut self, a: u64, end: u32) -> u32 {
        let (low, any) = (self.rng.below(a + 1), self.rng.below(u64::from(end)));
        ((low | any) % u64::from(end)) as u32
    }
}

// Places of a warehouse's rows, the hot ones first.
const WAREHOUSE: u32 = 0;
const DISTRICT: u32 = 1;
const UNDELIVERED: u32 = DISTRICT + DISTRICTS;
const CUSTOMER: u32 = UNDELIVERED + DISTRICTS;
const STOCK: u32 = CUSTOMER + DISTRICTS * CUSTOMERS;

fn row(warehouse: u32, place: u32) -> u32 {
    warehouse * ROWS + place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tpcc(warehouses: u32) -> Tpcc {
        Tpcc {
            warehouses,
            statement: Work::Constant(1.0),
        }
    }

    /// The first transaction of this class.
    fn first(class: u32, client: Option<u32>) -> Vec<Step> {
        let tpcc = tpcc(4);
        let maker = TpccMaker::new(&tpcc, 3);
        let mut steps = Vec::new();
        let found = (0..1_000).any(|number| maker.make(number, client, &mut steps) == class);
        assert!(found, "a class of 4 % or more");
        steps
    }

    fn statements(steps: &[Step]) -> u64 {
        steps.iter().map(|step| step.work).sum()
    }

    #[test]
    fn classes_come_up_by_their_shares() {
        let tpcc = tpcc(4);
        let maker = TpccMaker::new(&tpcc, 1);
        let mut steps = Vec::new();
        let mut counts = [0u32; 5];
        for number in 0..100_000 {
            counts[maker.make(number, None, &mut steps) as usize] += 1;
        }
        // Standard errors: 157 for the great, 62 for the small.
        for (count, (name, share)) in counts.into_iter().zip(Tpcc::CLASSES) {
            assert!(count.abs_diff(share * 1_000) < 600, "{name}: {count}");
        }
    }

    #[test]
    fn payment_writes_its_warehouse_district_and_customer() {
        let steps = first(1, Some(6));
        let modes: Vec<Mode> = steps.iter().map(|step| step.mode).collect();
        assert_eq!(modes, [Mode::X, Mode::X, Mode::S, Mode::X]);
        // Client 6 of 4 warehouses is at home in warehouse 2.
        assert_eq!(steps[0].object, row(2, WAREHOUSE));
        assert!((row(2, DISTRICT)..row(2, UNDELIVERED)).contains(&steps[1].object));
        assert_eq!(steps[2].object, steps[3].object);
        assert_eq!(statements(&steps), 7);
    }

    #[test]
    fn new_order_reads_the_warehouse_and_writes_district_and_stock() {
        let steps = first(0, Some(1));
        assert_eq!(
            (steps[1].object, steps[1].mode),
            (row(1, WAREHOUSE), Mode::S)
        );
        assert_eq!(steps[2].mode, Mode::X);
        let lines = steps.len() - 3;
        assert!((5..=15).contains(&lines));
        assert!(steps[3..].iter().all(|step| step.mode == Mode::X));
        assert_eq!(statements(&steps), 5 + 2 * lines as u64 + 2);
    }

    #[test]
    fn the_other_classes_do_what_the_table_says() {
        assert_eq!(statements(&first(2, None)), 3);
        let delivery = first(3, Some(0));
        assert_eq!((delivery.len(), statements(&delivery)), (20, 70));
        let stock_level = first(4, Some(0));
        assert_eq!((stock_level.len(), statements(&stock_level)), (1, 2));
    }

    #[test]
    fn rows_do_not_overlap_and_other_warehouses_are_others() {
        assert_eq!(row(0, STOCK + ITEMS - 1) + 1, row(1, WAREHOUSE));
        let tpcc = tpcc(3);
        let mut steps = Vec::new();
        let mut plan = Plan {
            tpcc: &tpcc,
            rng: Rng::new(1),
            home: 1,
            steps: &mut steps,
        };
        for _ in 0..100 {
            assert!([0, 2].contains(&plan.elsewhere()));
        }
    }
}
