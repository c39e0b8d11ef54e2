//! The nine tables (TPC-C 1.3). Fixed-size text is declared as text of that length.

use crate::interface::{Column, ColumnType, Schema, TableId, column, nullable};

use ColumnType::{Int32, Text, Timestamp};

/// The tables by name.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    pub(super) item: TableId,
    pub(super) warehouse: TableId,
    pub(super) stock: TableId,
    pub(super) district: TableId,
    pub(super) customer: TableId,
    pub(super) history: TableId,
    pub(super) orders: TableId,
    pub(super) new_order: TableId,
    pub(super) order_line: TableId,
}

/// Money of up to this many digits, in cents.
const fn money(precision: u8) -> ColumnType {
    ColumnType::Decimal {
        precision,
        scale: 2,
    }
}

/// Taxes and discounts: four digits, all after the point.
const RATE: ColumnType = ColumnType::Decimal {
    precision: 4,
    scale: 4,
};

/// Columns of the district-specific texts of STOCK.
pub(super) const DISTRICT_INFO: [&str; 10] = [
    "s_dist_01",
    "s_dist_02",
    "s_dist_03",
    "s_dist_04",
    "s_dist_05",
    "s_dist_06",
    "s_dist_07",
    "s_dist_08",
    "s_dist_09",
    "s_dist_10",
];

pub(super) fn declare() -> (Schema, Tables) {
    let mut schema = Schema::new();
    let tables = Tables {
        item: schema.table("item", item(), &["i_id"]),
        warehouse: schema.table("warehouse", warehouse(), &["w_id"]),
        stock: schema.table("stock", stock(), &["s_w_id", "s_i_id"]),
        district: schema.table("district", district(), &["d_w_id", "d_id"]),
        customer: schema.table("customer", customer(), &["c_w_id", "c_d_id", "c_id"]),
        history: schema.table("history", history(), &[]),
        orders: schema.table("orders", orders(), &["o_w_id", "o_d_id", "o_id"]),
        new_order: schema.table("new_order", new_order(), &["no_w_id", "no_d_id", "no_o_id"]),
        order_line: schema.table(
            "order_line",
            order_line(),
            &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
        ),
    };
    schema.index(
        tables.customer,
        "customer_name",
        &["c_w_id", "c_d_id", "c_last", "c_first"],
        false,
    );
    schema.index(
        tables.orders,
        "orders_customer",
        &["o_w_id", "o_d_id", "o_c_id", "o_id"],
        true,
    );
    (schema, tables)
}

fn item() -> Vec<Column> {
    vec![
        column("i_id", Int32),
        column("i_im_id", Int32),
        column("i_name", Text(24)),
        column("i_price", money(5)),
        column("i_data", Text(50)),
    ]
}

fn warehouse() -> Vec<Column> {
    vec![
        column("w_id", Int32),
        column("w_name", Text(10)),
        column("w_street_1", Text(20)),
        column("w_street_2", Text(20)),
        column("w_city", Text(20)),
        column("w_state", Text(2)),
        column("w_zip", Text(9)),
        column("w_tax", RATE),
        column("w_ytd", money(12)),
    ]
}

fn stock() -> Vec<Column> {
    let key = [
        column("s_w_id", Int32),
        column("s_i_id", Int32),
        column("s_quantity", Int32),
    ];
    let info = DISTRICT_INFO.map(|name| column(name, Text(24)));
    let counts = ["s_ytd", "s_order_cnt", "s_remote_cnt"].map(|name| column(name, Int32));
    [&key[..], &info, &counts, &[column("s_data", Text(50))]].concat()
}

fn district() -> Vec<Column> {
    vec![
        column("d_w_id", Int32),
        column("d_id", Int32),
        column("d_name", Text(10)),
        column("d_street_1", Text(20)),
        column("d_street_2", Text(20)),
        column("d_city", Text(20)),
        column("d_state", Text(2)),
        column("d_zip", Text(9)),
        column("d_tax", RATE),
        column("d_ytd", money(12)),
        column("d_next_o_id", Int32),
    ]
}

fn customer() -> Vec<Column> {
    vec![
        column("c_w_id", Int32),
        column("c_d_id", Int32),
        column("c_id", Int32),
        column("c_first", Text(16)),
        column("c_middle", Text(2)),
        column("c_last", Text(16)),
        column("c_street_1", Text(20)),
        column("c_street_2", Text(20)),
        column("c_city", Text(20)),
        column("c_state", Text(2)),
        column("c_zip", Text(9)),
        column("c_phone", Text(16)),
        column("c_since", Timestamp),
        column("c_credit", Text(2)),
        column("c_credit_lim", money(12)),
        column("c_discount", RATE),
        column("c_balance", money(12)),
        column("c_ytd_payment", money(12)),
        column("c_payment_cnt", Int32),
        column("c_delivery_cnt", Int32),
        column("c_data", Text(500)),
    ]
}

fn history() -> Vec<Column> {
    vec![
        column("h_c_id", Int32),
        column("h_c_d_id", Int32),
        column("h_c_w_id", Int32),
        column("h_d_id", Int32),
        column("h_w_id", Int32),
        column("h_date", Timestamp),
        column("h_amount", money(6)),
        column("h_data", Text(24)),
    ]
}

fn orders() -> Vec<Column> {
    vec![
        column("o_w_id", Int32),
        column("o_d_id", Int32),
        column("o_id", Int32),
        column("o_c_id", Int32),
        column("o_entry_d", Timestamp),
        nullable("o_carrier_id", Int32),
        column("o_ol_cnt", Int32),
        column("o_all_local", Int32),
    ]
}

fn new_order() -> Vec<Column> {
    vec![
        column("no_w_id", Int32),
        column("no_d_id", Int32),
        column("no_o_id", Int32),
    ]
}

fn order_line() -> Vec<Column> {
    vec![
        column("ol_w_id", Int32),
        column("ol_d_id", Int32),
        column("ol_o_id", Int32),
        column("ol_number", Int32),
        column("ol_i_id", Int32),
        column("ol_supply_w_id", Int32),
        nullable("ol_delivery_d", Timestamp),
        column("ol_quantity", Int32),
        column("ol_amount", money(6)),
        column("ol_dist_info", Text(24)),
    ]
}
