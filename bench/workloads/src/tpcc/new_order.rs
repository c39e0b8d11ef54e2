//! NewOrder (TPC-C 2.4): the benchmark's backbone.

use super::load::ORIGINAL;
use super::schema::DISTRICT_INFO;
use super::terminal::{District, Terminal};
use crate::interface::declare::{Statements, add, from, insert, p, set};
use crate::interface::{Error, Outcome, Row, StatementId, Transaction, Value};

/// Why one in a hundred is rolled back (2.4.1.4).
pub const INVALID_ITEM: &str = "invalid_item";

/// An order to be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// The district that takes the order.
    pub at: District,
    /// The customer's number.
    pub c: i64,
    /// 5 to 15 lines.
    pub lines: Vec<Line>,
    /// When it is entered, in microseconds since 1970.
    pub entry_d: i64,
}

/// A line of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The item; one that does not exist in the last line of an order to be rolled back.
    pub i: i64,
    /// The warehouse that supplies it.
    pub supply_w: i64,
    /// Quantity, 1 to 10.
    pub quantity: i64,
}

impl NewOrder {
    /// Draws an input (2.4.1).
    pub(super) fn draw(terminal: &mut Terminal) -> Self {
        let at = terminal.district();
        let c = terminal.customer();
        let count = terminal.random.between(5, 15);
        let invalid = terminal.random.between(1, 100) == 1;
        let mut lines: Vec<Line> = (0..count).map(|_| Line::draw(terminal, at.w)).collect();
        if invalid && let Some(last) = lines.last_mut() {
            last.i = terminal.scale.items + 1;
        }
        NewOrder {
            at,
            c,
            lines,
            entry_d: terminal.tick(),
        }
    }

    /// O_ALL_LOCAL: whether the home warehouse supplies every line.
    pub fn all_local(&self) -> bool {
        self.lines.iter().all(|line| line.supply_w == self.at.w)
    }
}

impl Line {
    fn draw(terminal: &mut Terminal, home: i64) -> Self {
        let i = terminal.item();
        let remote = terminal.random.between(1, 100) == 1 && terminal.scale.warehouses > 1;
        let supply_w = if remote {
            terminal.other_warehouse(home)
        } else {
            home
        };
        Line {
            i,
            supply_w,
            quantity: terminal.random.between(1, 10),
        }
    }
}

/// S_QUANTITY after an order (2.4.2.2): restocked by 91 when fewer than 10 would be left.
fn stock_after(quantity: i64, ordered: i64) -> i64 {
    if quantity - ordered >= 10 {
        quantity - ordered
    } else {
        quantity - ordered + 91
    }
}

/// The statements.
#[derive(Clone, Debug)]
pub(super) struct Body {
    warehouse: StatementId,
    customer: StatementId,
    next_order: StatementId,
    insert_order: StatementId,
    insert_new_order: StatementId,
    item: StatementId,
    /// By district: each has its own text in STOCK.
    stock: Vec<StatementId>,
    set_stock: StatementId,
    insert_line: StatementId,
}

const STOCK_NAMES: [&str; 10] =
    numbered!("new_order_stock_": "01" "02" "03" "04" "05" "06" "07" "08" "09" "10");

impl Body {
    pub(super) fn declare(statements: &mut Statements<'_>) -> Self {
        let stock_row = || from("stock").key([p(0), p(1)]);
        let take = [
            set("s_quantity", p(2)),
            add("s_ytd", p(3)),
            add("s_order_cnt", p(4)),
            add("s_remote_cnt", p(5)),
        ];
        let customer =
            from("customer")
                .key([p(0), p(1), p(2)])
                .columns(["c_discount", "c_last", "c_credit"]);
        let next_order = from("district")
            .key([p(0), p(1)])
            .update_returning([add("d_next_o_id", p(2))], ["d_next_o_id", "d_tax"]);
        let mut stock = Vec::new();
        for (name, info) in STOCK_NAMES.into_iter().zip(DISTRICT_INFO) {
            stock.push(
                statements.add(
                    name,
                    stock_row()
                        .for_update()
                        .columns(["s_quantity", "s_data", info]),
                ),
            );
        }
        Body {
            warehouse: statements.add(
                "new_order_warehouse",
                from("warehouse").key([p(0)]).columns(["w_tax"]),
            ),
            customer: statements.add("new_order_customer", customer),
            next_order: statements.add("new_order_next_order", next_order),
            insert_order: statements.add("new_order_insert_order", insert("orders")),
            insert_new_order: statements.add("new_order_insert_new_order", insert("new_order")),
            item: statements.add(
                "new_order_item",
                from("item")
                    .key([p(0)])
                    .columns(["i_price", "i_name", "i_data"]),
            ),
            stock,
            set_stock: statements.add("new_order_set_stock", stock_row().update(take)),
            insert_line: statements.add("new_order_insert_line", insert("order_line")),
        }
    }

    /// Line by line, so that an item that is ordered twice sees its first line's stock.
    pub(super) async fn run<T: Transaction>(
        &self,
        order: &NewOrder,
        transaction: &mut T,
    ) -> Result<Outcome, Error> {
        let District { w, d } = order.at;
        let warehouse = transaction.query_one(self.warehouse, &[w.into()]).await?;
        let district = transaction
            .query_one(self.next_order, &[w.into(), d.into(), 1.into()])
            .await?;
        let customer = transaction
            .query_one(self.customer, &[w.into(), d.into(), order.c.into()])
            .await?;
        let o = district.int(0)? - 1;
        transaction
            .execute(self.insert_order, &order_row(order, o))
            .await?;
        transaction
            .execute(self.insert_new_order, &[w.into(), d.into(), o.into()])
            .await?;

        let mut lines = Vec::with_capacity(order.lines.len());
        let mut total = 0;
        for (position, line) in order.lines.iter().enumerate() {
            let Some(item) = transaction
                .query_optional(self.item, &[line.i.into()])
                .await?
            else {
                return Ok(Outcome::Rollback(INVALID_ITEM));
            };
            let stock = self.take_stock(order, line, transaction).await?;
            let amount = line.quantity * item.int(0)?;
            total += amount;
            // 2.4.2.2: "brand-generic", which the terminal displays.
            let brand = item.text(2)?.contains(ORIGINAL) && stock.text(1)?.contains(ORIGINAL);
            std::hint::black_box(brand);
            let mut row = [w, d, o, position as i64 + 1, line.i, line.supply_w]
                .map(Value::Int)
                .to_vec();
            row.extend([
                Value::Null,
                line.quantity.into(),
                amount.into(),
                stock.text(2)?.into(),
            ]);
            lines.push(row);
        }
        transaction.execute_all(self.insert_line, &lines).await?;
        // 2.4.2.2: total * (1 - c_discount) * (1 + w_tax + d_tax), rates in ten-thousandths; displayed, too.
        let taxed = 10_000 + warehouse.int(0)? + district.int(1)?;
        std::hint::black_box(total * (10_000 - customer.int(0)?) * taxed / 100_000_000);
        Ok(Outcome::Commit)
    }

    async fn take_stock<T: Transaction>(
        &self,
        order: &NewOrder,
        line: &Line,
        transaction: &mut T,
    ) -> Result<Row, Error> {
        let key = [line.supply_w, line.i].map(Value::Int);
        let stock = transaction
            .query_one(self.stock[order.at.d as usize - 1], &key)
            .await?;
        let left = stock_after(stock.int(0)?, line.quantity);
        let remote = i64::from(line.supply_w != order.at.w);
        let change = [line.supply_w, line.i, left, line.quantity, 1, remote].map(Value::Int);
        transaction.execute(self.set_stock, &change).await?;
        Ok(stock)
    }
}

fn order_row(order: &NewOrder, o: i64) -> [Value; 8] {
    [
        order.at.w.into(),
        order.at.d.into(),
        o.into(),
        order.c.into(),
        order.entry_d.into(),
        Value::Null,
        Value::Int(order.lines.len() as i64),
        Value::Int(order.all_local().into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_is_refilled_below_ten() {
        assert_eq!(stock_after(20, 10), 10);
        assert_eq!(stock_after(19, 10), 100);
        assert_eq!(stock_after(10, 1), 100);
        assert_eq!(stock_after(100, 3), 97);
    }
}
