//! The initial data (TPC-C 4.3.3.1).
//!
//! Each row draws from a separate generator, seeded by the row's key. So the data does not depend on its partitions.

use super::names::{LAST_NAME_LOAD, last_name, random_last_name};
use super::scale::{DISTRICTS, Scale};
use super::schema::Tables;
use crate::interface::{Batch, Partition, Row, TableId, Value};
use crate::random::Random;

/// The moment of the load: 2026-01-01 00:00 UTC.
pub(super) const LOADED_AT: i64 = 1_767_225_600_000_000;

/// Rows of a batch.
const BATCH: i64 = 500;

/// Rows that are loaded together.
enum Part {
    Items,
    Warehouse(i64),
    District(i64, i64),
}

/// The warehouse with its stock, and its districts.
const PARTS_OF_WAREHOUSE: usize = 1 + DISTRICTS as usize;

/// The part at a position: the items, then warehouse by warehouse its own part and its districts'.
fn part(number: usize) -> Part {
    let Some(after_items) = number.checked_sub(1) else {
        return Part::Items;
    };
    let w = (after_items / PARTS_OF_WAREHOUSE) as i64 + 1;
    match after_items % PARTS_OF_WAREHOUSE {
        0 => Part::Warehouse(w),
        d => Part::District(w, d as i64),
    }
}

/// Generates the data.
#[derive(Clone, Copy)]
pub(super) struct Loader {
    pub(super) seed: u64,
    pub(super) scale: Scale,
    pub(super) tables: Tables,
}

impl Loader {
    pub(super) fn partitions(&self) -> Vec<Partition> {
        let customers = self.scale.customers;
        let describe = |number| {
            let (name, rows) = match part(number) {
                Part::Items => ("items".to_owned(), self.scale.items),
                Part::Warehouse(w) => (format!("warehouse {w}"), self.scale.items + DISTRICTS + 1),
                // Customers, their history, orders, ten lines each, three tenths undelivered.
                Part::District(w, d) => {
                    (format!("warehouse {w} district {d}"), customers * 133 / 10)
                }
            };
            Partition {
                number,
                name,
                rows: rows as u64,
            }
        };
        let parts = 1 + self.scale.warehouses as usize * PARTS_OF_WAREHOUSE;
        (0..parts).map(describe).collect()
    }

    pub(super) fn batches(self, number: usize) -> Box<dyn Iterator<Item = Batch> + Send> {
        let (tables, scale) = (self.tables, self.scale);
        match part(number) {
            Part::Items => Box::new(rows(tables.item, 1, scale.items, move |i| self.item(i))),
            Part::Warehouse(w) => {
                let warehouse = rows(tables.warehouse, w, w, move |w| self.warehouse(w));
                let districts = rows(tables.district, 1, DISTRICTS, move |d| self.district(w, d));
                let stock = rows(tables.stock, 1, scale.items, move |i| self.stock(w, i));
                Box::new(warehouse.chain(districts).chain(stock))
            }
            Part::District(w, d) => {
                let (count, delivered) = (scale.customers, scale.delivered_orders());
                let customers = rows(tables.customer, 1, count, move |c| self.customer(w, d, c));
                let history = rows(tables.history, 1, count, move |c| self.history(w, d, c));
                // 4.3.3.1: O_C_ID is "selected sequentially from a random permutation of [1 .. 3,000]".
                let permutation = self.random(PERMUTATION, &[w, d]).permutation(1, count);
                let orders = rows(tables.orders, 1, count, move |o| {
                    self.order(w, d, o, permutation[o as usize - 1])
                });
                let new_orders = rows(tables.new_order, delivered + 1, count, move |o| {
                    ints(&[w, d, o])
                });
                let lines = chunks(1, count, BATCH / 10).map(move |(low, high)| Batch {
                    table: tables.order_line,
                    rows: (low..=high)
                        .flat_map(|o| self.order_lines(w, d, o))
                        .collect(),
                });
                Box::new(
                    customers
                        .chain(history)
                        .chain(orders)
                        .chain(new_orders)
                        .chain(lines),
                )
            }
        }
    }

    fn random(&self, purpose: u64, key: &[i64]) -> Random {
        let path: Vec<u64> = std::iter::once(purpose)
            .chain(key.iter().map(|&part| part as u64))
            .collect();
        Random::new(self.seed, &path)
    }

    fn item(&self, i: i64) -> Row {
        let random = &mut self.random(ITEM, &[i]);
        Row(vec![
            i.into(),
            random.between(1, 10_000).into(),
            random.text(14, 24).into(),
            random.between(100, 10_000).into(),
            data(random).into(),
        ])
    }

    fn warehouse(&self, w: i64) -> Row {
        let random = &mut self.random(WAREHOUSE, &[w]);
        let mut row = vec![w.into(), random.text(6, 10).into()];
        row.extend(address(random));
        row.extend([
            random.between(0, 2000).into(),
            (self.scale.district_ytd() * DISTRICTS).into(),
        ]);
        Row(row)
    }

    fn district(&self, w: i64, d: i64) -> Row {
        let random = &mut self.random(DISTRICT, &[w, d]);
        let mut row = vec![w.into(), d.into(), random.text(6, 10).into()];
        row.extend(address(random));
        row.extend(
            [
                random.between(0, 2000),
                self.scale.district_ytd(),
                self.scale.customers + 1,
            ]
            .map(Value::Int),
        );
        Row(row)
    }

    fn stock(&self, w: i64, i: i64) -> Row {
        let random = &mut self.random(STOCK, &[w, i]);
        let mut row = vec![w.into(), i.into(), random.between(10, 100).into()];
        row.extend((0..DISTRICTS).map(|_| Value::Text(random.text(24, 24))));
        row.extend([0, 0, 0].map(Value::Int));
        row.push(data(random).into());
        Row(row)
    }

    fn customer(&self, w: i64, d: i64, c: i64) -> Row {
        let random = &mut self.random(CUSTOMER, &[w, d, c]);
        let last = match c {
            1..=1000 => last_name(c - 1),
            _ => random_last_name(random, LAST_NAME_LOAD, self.scale.last_names()),
        };
        let mut row = vec![
            w.into(),
            d.into(),
            c.into(),
            random.text(8, 16).into(),
            "OE".into(),
            last.into(),
        ];
        row.extend(address(random));
        row.extend([random.digits(16, 16).into(), LOADED_AT.into()]);
        row.push(if random.chance(0.1) { "BC" } else { "GC" }.into());
        row.extend([5_000_000, random.between(0, 5000), -1000, 1000, 1, 0].map(Value::Int));
        row.push(random.text(300, 500).into());
        Row(row)
    }

    fn history(&self, w: i64, d: i64, c: i64) -> Row {
        let random = &mut self.random(HISTORY, &[w, d, c]);
        let mut row = [c, d, w, d, w, LOADED_AT, 1000].map(Value::Int).to_vec();
        row.push(random.text(12, 24).into());
        Row(row)
    }

    fn is_delivered(&self, o: i64) -> bool {
        o <= self.scale.delivered_orders()
    }

    /// The generator of an order with its lines, and how many they are.
    fn order_random(&self, w: i64, d: i64, o: i64) -> (Random, i64) {
        let mut random = self.random(ORDER, &[w, d, o]);
        let lines = random.between(5, 15);
        (random, lines)
    }

    fn order(&self, w: i64, d: i64, o: i64, c: i64) -> Row {
        let (mut random, lines) = self.order_random(w, d, o);
        let carrier = self.is_delivered(o).then(|| random.between(1, 10));
        let mut row = [w, d, o, c, LOADED_AT].map(Value::Int).to_vec();
        row.extend([carrier.into(), lines.into(), 1.into()]);
        Row(row)
    }

    fn order_lines(&self, w: i64, d: i64, o: i64) -> Vec<Row> {
        let (_, lines) = self.order_random(w, d, o);
        let delivered = self.is_delivered(o);
        let line = |number| {
            let random = &mut self.random(ORDER_LINE, &[w, d, o, number]);
            let mut row = [w, d, o, number, random.between(1, self.scale.items), w]
                .map(Value::Int)
                .to_vec();
            let amount = if delivered {
                0
            } else {
                random.between(1, 999_999)
            };
            row.extend([
                delivered.then_some(LOADED_AT).into(),
                5.into(),
                amount.into(),
                random.text(24, 24).into(),
            ]);
            Row(row)
        };
        (1..=lines).map(line).collect()
    }
}

// What a generator is for: the first step of its path.
const ITEM: u64 = 1;
const WAREHOUSE: u64 = 2;
const DISTRICT: u64 = 3;
const STOCK: u64 = 4;
const CUSTOMER: u64 = 5;
const HISTORY: u64 = 6;
const ORDER: u64 = 7;
const ORDER_LINE: u64 = 8;
const PERMUTATION: u64 = 9;

fn chunks(low: i64, high: i64, size: i64) -> impl Iterator<Item = (i64, i64)> + Send {
    (low..=high)
        .step_by(size as usize)
        .map(move |first| (first, high.min(first + size - 1)))
}

fn rows(
    table: TableId,
    low: i64,
    high: i64,
    row: impl Fn(i64) -> Row + Send,
) -> impl Iterator<Item = Batch> + Send {
    chunks(low, high, BATCH).map(move |(low, high)| Batch {
        table,
        rows: (low..=high).map(&row).collect(),
    })
}

fn ints(values: &[i64]) -> Row {
    Row(values.iter().copied().map(Value::Int).collect())
}

/// Two streets, city, state, zip (4.3.2.7: four digits and 11111).
fn address(random: &mut Random) -> [Value; 5] {
    [
        random.text(10, 20).into(),
        random.text(10, 20).into(),
        random.text(10, 20).into(),
        random.capitals(2, 2).into(),
        (random.digits(4, 4) + "11111").into(),
    ]
}

/// I_DATA and S_DATA: 26 to 50 characters, a tenth of them with ORIGINAL at a random place.
fn data(random: &mut Random) -> String {
    let mut text = random.text(26, 50);
    if random.chance(0.1) {
        let at = random.below(text.len() - ORIGINAL.len() + 1);
        text.replace_range(at..at + ORIGINAL.len(), ORIGINAL);
    }
    text
}

/// The mark of an original item.
pub(super) const ORIGINAL: &str = "ORIGINAL";
