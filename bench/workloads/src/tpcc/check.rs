//! The consistency conditions (TPC-C 3.3.2), to be checked while nobody writes.
//!
//! Conditions 1 to 10 and 12 hold at any time. Condition 11 counts the orders of the initial data, and so
//! only holds there. Two conditions are ours: the stock's counters against the lines of new orders, which
//! shows lost updates of stock; and the customers' counters against the history.

use std::collections::{BTreeMap, BTreeSet};

use super::scale::Scale;
use crate::interface::Compare::Greater;
use crate::interface::declare::{Statements, count, count_values, from, p, sum};
use crate::interface::{Error, Findings, Row, StatementId, Transaction, Value};

const YTD: &str = "tpcc 3.3.2.1: w_ytd = sum(d_ytd)";
const LAST_ORDER: &str = "tpcc 3.3.2.2: d_next_o_id - 1 = max(o_id) = max(no_o_id)";
const NO_GAPS: &str = "tpcc 3.3.2.3: max(no_o_id) - min(no_o_id) + 1 = count(new_order)";
const LINE_COUNT: &str = "tpcc 3.3.2.4: sum(o_ol_cnt) = count(order_line)";
const OPEN: &str = "tpcc 3.3.2.5: o_carrier_id is null if and only if the order is in new_order";
const LINES: &str = "tpcc 3.3.2.6: o_ol_cnt = count(order_line of the order)";
const DELIVERED: &str = "tpcc 3.3.2.7: ol_delivery_d is null if and only if o_carrier_id is";
const WAREHOUSE_HISTORY: &str = "tpcc 3.3.2.8: w_ytd = sum(h_amount)";
const DISTRICT_HISTORY: &str = "tpcc 3.3.2.9: d_ytd = sum(h_amount)";
const BALANCE: &str = "tpcc 3.3.2.10: c_balance = sum(ol_amount delivered) - sum(h_amount)";
const PAID: &str = "tpcc 3.3.2.12: c_balance + c_ytd_payment = sum(ol_amount delivered)";
const COUNTERS: &str = "tpcc: c_payment_cnt and c_delivery_cnt = count(history) and count(orders delivered in the run)";
const STOCK: &str = "tpcc: s_ytd, s_order_cnt, s_remote_cnt = sum and counts of new order lines";

/// The statements.
#[derive(Clone, Debug)]
pub(super) struct Check {
    warehouses: StatementId,
    districts: StatementId,
    orders: StatementId,
    new_orders: StatementId,
    lines: StatementId,
    customers: StatementId,
    history_by_district: StatementId,
    history_by_customer: StatementId,
    stock: StatementId,
    sold: StatementId,
}

/// Sums of HISTORY.
struct History {
    /// By warehouse and district of the payment.
    by_district: BTreeMap<(i64, i64), i64>,
    /// By warehouse, district and number of the customer: sum and count.
    by_customer: BTreeMap<(i64, i64, i64), (i64, i64)>,
}

/// Lines of one order: how many, how many delivered, sum of amounts.
type Lines = BTreeMap<i64, (i64, i64, i64)>;

impl Check {
    pub(super) fn declare(statements: &mut Statements<'_>) -> Self {
        let of_district = |table| from(table).key([p(0), p(1)]);
        let lines = [count(), count_values("ol_delivery_d"), sum("ol_amount")];
        let mut add = |name, declaration| statements.add(name, declaration);
        Check {
            warehouses: add(
                "check_warehouses",
                from("warehouse").columns(["w_id", "w_ytd"]),
            ),
            districts: add(
                "check_districts",
                from("district")
                    .key([p(0)])
                    .columns(["d_id", "d_ytd", "d_next_o_id"]),
            ),
            orders: add(
                "check_orders",
                of_district("orders").columns(["o_id", "o_c_id", "o_carrier_id", "o_ol_cnt"]),
            ),
            new_orders: add(
                "check_new_orders",
                of_district("new_order").columns(["no_o_id"]),
            ),
            lines: add(
                "check_lines",
                of_district("order_line").grouped(["ol_o_id"], lines),
            ),
            customers: add(
                "check_customers",
                of_district("customer").columns([
                    "c_id",
                    "c_balance",
                    "c_ytd_payment",
                    "c_payment_cnt",
                    "c_delivery_cnt",
                ]),
            ),
            history_by_district: add(
                "check_history_by_district",
                from("history").grouped(["h_w_id", "h_d_id"], [sum("h_amount")]),
            ),
            history_by_customer: add(
                "check_history_by_customer",
                from("history").grouped(
                    ["h_c_w_id", "h_c_d_id", "h_c_id"],
                    [sum("h_amount"), count()],
                ),
            ),
            stock: add(
                "check_stock",
                from("stock").grouped(
                    ["s_w_id"],
                    [sum("s_ytd"), sum("s_order_cnt"), sum("s_remote_cnt")],
                ),
            ),
            sold: add(
                "check_sold",
                from("order_line")
                    .filter("ol_o_id", Greater, p(0))
                    .grouped(["ol_supply_w_id", "ol_w_id"], [sum("ol_quantity"), count()]),
            ),
        }
    }

    pub(super) async fn run<T: Transaction>(
        &self,
        scale: Scale,
        transaction: &mut T,
        findings: &mut Findings,
    ) -> Result<(), Error> {
        let history = self.history(transaction).await?;
        for warehouse in transaction.query(self.warehouses, &[]).await? {
            let (w, w_ytd) = (warehouse.int(0)?, warehouse.int(1)?);
            let mut district_ytd = 0;
            for district in transaction.query(self.districts, &[w.into()]).await? {
                let (d, d_ytd) = (district.int(0)?, district.int(1)?);
                district_ytd += d_ytd;
                let paid = history.by_district.get(&(w, d)).copied().unwrap_or(0);
                findings.equal(DISTRICT_HISTORY, d_ytd, paid, || {
                    format!("district {w}/{d}")
                });
                self.district(
                    scale,
                    (w, d),
                    district.int(2)?,
                    &history,
                    transaction,
                    findings,
                )
                .await?;
            }
            findings.equal(YTD, w_ytd, district_ytd, || format!("warehouse {w}"));
            let paid: i64 = history
                .by_district
                .range((w, i64::MIN)..=(w, i64::MAX))
                .map(|(_, sum)| sum)
                .sum();
            findings.equal(WAREHOUSE_HISTORY, w_ytd, paid, || format!("warehouse {w}"));
        }
        self.stock(scale, transaction, findings).await
    }

    async fn history<T: Transaction>(&self, transaction: &mut T) -> Result<History, Error> {
        let mut history = History {
            by_district: BTreeMap::new(),
            by_customer: BTreeMap::new(),
        };
        for row in transaction.query(self.history_by_district, &[]).await? {
            history
                .by_district
                .insert((row.int(0)?, row.int(1)?), row.int(2)?);
        }
        for row in transaction.query(self.history_by_customer, &[]).await? {
            let customer = (row.int(0)?, row.int(1)?, row.int(2)?);
            history
                .by_customer
                .insert(customer, (row.int(3)?, row.int(4)?));
        }
        Ok(history)
    }

    async fn district<T: Transaction>(
        &self,
        scale: Scale,
        (w, d): (i64, i64),
        next_order: i64,
        history: &History,
        transaction: &mut T,
        findings: &mut Findings,
    ) -> Result<(), Error> {
        let key = [w, d].map(Value::Int);
        let orders = transaction.query(self.orders, &key).await?;
        let new_orders = transaction.query(self.new_orders, &key).await?;
        let open = new_orders
            .iter()
            .map(|row| row.int(0))
            .collect::<Result<BTreeSet<_>, _>>()?;
        let mut lines = Lines::new();
        for row in transaction.query(self.lines, &key).await? {
            lines.insert(row.int(0)?, (row.int(1)?, row.int(2)?, row.int(3)?));
        }

        let place = || format!("district {w}/{d}");
        let mut last = 0;
        let mut line_count = 0;
        for order in &orders {
            last = last.max(order.int(0)?);
            line_count += order.int(3)?;
        }
        findings.equal(LAST_ORDER, next_order - 1, last, place);
        if let (Some(&first_open), Some(&last_open)) = (open.first(), open.last()) {
            findings.equal(LAST_ORDER, last, last_open, place);
            findings.equal(
                NO_GAPS,
                last_open - first_open + 1,
                open.len() as i64,
                place,
            );
        }
        findings.equal(
            LINE_COUNT,
            line_count,
            lines.values().map(|(count, ..)| count).sum(),
            place,
        );
        check_orders((w, d), &orders, &open, &lines, findings)?;
        let customers = transaction.query(self.customers, &key).await?;
        check_customers(
            scale,
            (w, d),
            &customers,
            &orders,
            &lines,
            history,
            findings,
        )
    }

    async fn stock<T: Transaction>(
        &self,
        scale: Scale,
        transaction: &mut T,
        findings: &mut Findings,
    ) -> Result<(), Error> {
        // By supplying warehouse: quantity, lines, lines for another warehouse.
        let mut sold: BTreeMap<i64, [i64; 3]> = BTreeMap::new();
        for row in transaction
            .query(self.sold, &[scale.customers.into()])
            .await?
        {
            let (supply_w, w, lines) = (row.int(0)?, row.int(1)?, row.int(3)?);
            let sums = sold.entry(supply_w).or_default();
            sums[0] += row.int(2)?;
            sums[1] += lines;
            sums[2] += if supply_w == w { 0 } else { lines };
        }
        for row in transaction.query(self.stock, &[]).await? {
            let (w, counted) = (row.int(0)?, [row.int(1)?, row.int(2)?, row.int(3)?]);
            let expected = sold.get(&w).copied().unwrap_or_default();
            findings.equal(STOCK, counted, expected, || format!("warehouse {w}"));
        }
        Ok(())
    }
}

/// Conditions 5, 6 and 7, order by order.
fn check_orders(
    (w, d): (i64, i64),
    orders: &[Row],
    open: &BTreeSet<i64>,
    lines: &Lines,
    findings: &mut Findings,
) -> Result<(), Error> {
    for order in orders {
        let (o, ol_cnt) = (order.int(0)?, order.int(3)?);
        let place = || format!("order {w}/{d}/{o}");
        let delivered = order.optional_int(2)?.is_some();
        findings.equal(OPEN, !delivered, open.contains(&o), place);
        let (count, delivered_lines, _) = lines.get(&o).copied().unwrap_or_default();
        findings.equal(LINES, ol_cnt, count, place);
        findings.equal(
            DELIVERED,
            delivered_lines,
            if delivered { count } else { 0 },
            place,
        );
    }
    let ordered = orders
        .iter()
        .map(|order| order.int(0))
        .collect::<Result<BTreeSet<_>, _>>()?;
    for o in open.difference(&ordered) {
        findings.holds(OPEN, false, || {
            format!("order {w}/{d}/{o} is in new_order only")
        });
    }
    Ok(())
}

/// Conditions 10 and 12 and the counters, customer by customer.
fn check_customers(
    scale: Scale,
    (w, d): (i64, i64),
    customers: &[Row],
    orders: &[Row],
    lines: &Lines,
    history: &History,
    findings: &mut Findings,
) -> Result<(), Error> {
    // By customer: amounts of delivered orders, and how many were delivered since the load.
    let mut delivered: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for order in orders {
        if order.optional_int(2)?.is_some() {
            let o = order.int(0)?;
            let sums = delivered.entry(order.int(1)?).or_default();
            sums.0 += lines.get(&o).map_or(0, |(_, _, amount)| *amount);
            sums.1 += i64::from(o > scale.delivered_orders());
        }
    }
    for customer in customers {
        let (c, balance) = (customer.int(0)?, customer.int(1)?);
        let (amount, deliveries) = delivered.get(&c).copied().unwrap_or_default();
        let (paid, payments) = history
            .by_customer
            .get(&(w, d, c))
            .copied()
            .unwrap_or_default();
        let place = || format!("customer {w}/{d}/{c}");
        findings.equal(BALANCE, balance, amount - paid, place);
        findings.equal(PAID, balance + customer.int(2)?, amount, place);
        findings.equal(
            COUNTERS,
            (customer.int(3)?, customer.int(4)?),
            (payments, deliveries),
            place,
        );
    }
    Ok(())
}
