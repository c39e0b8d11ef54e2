//! The nine tables (TPC-C 1.3). Fixed-size text is declared as text of that length.

use crate::interface::{Column, ColumnType::Text, Schema, TableId, column, columns};

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

/// Columns of the district-specific texts of STOCK.
pub(super) const DISTRICT_INFO: [&str; 10] =
    numbered!("s_dist_": "01" "02" "03" "04" "05" "06" "07" "08" "09" "10");

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
    columns("i_id int, i_im_id int, i_name text(24), i_price decimal(5,2), i_data text(50)")
}

fn warehouse() -> Vec<Column> {
    columns(
        "w_id int, w_name text(10), w_street_1 text(20), w_street_2 text(20), w_city text(20), \
         w_state text(2), w_zip text(9), w_tax decimal(4,4), w_ytd decimal(12,2)",
    )
}

fn stock() -> Vec<Column> {
    let key = columns("s_w_id int, s_i_id int, s_quantity int");
    let info = DISTRICT_INFO.map(|name| column(name, Text(24)));
    let rest = columns("s_ytd int, s_order_cnt int, s_remote_cnt int, s_data text(50)");
    [key, info.to_vec(), rest].concat()
}

fn district() -> Vec<Column> {
    columns(
        "d_w_id int, d_id int, d_name text(10), d_street_1 text(20), d_street_2 text(20), d_city text(20), \
         d_state text(2), d_zip text(9), d_tax decimal(4,4), d_ytd decimal(12,2), d_next_o_id int",
    )
}

fn customer() -> Vec<Column> {
    columns(
        "c_w_id int, c_d_id int, c_id int, c_first text(16), c_middle text(2), c_last text(16), \
         c_street_1 text(20), c_street_2 text(20), c_city text(20), c_state text(2), c_zip text(9), \
         c_phone text(16), c_since timestamp, c_credit text(2), c_credit_lim decimal(12,2), \
         c_discount decimal(4,4), c_balance decimal(12,2), c_ytd_payment decimal(12,2), c_payment_cnt int, \
         c_delivery_cnt int, c_data text(500)",
    )
}

fn history() -> Vec<Column> {
    columns(
        "h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, h_date timestamp, \
         h_amount decimal(6,2), h_data text(24)",
    )
}

fn orders() -> Vec<Column> {
    columns(
        "o_w_id int, o_d_id int, o_id int, o_c_id int, o_entry_d timestamp, o_carrier_id int null, \
         o_ol_cnt int, o_all_local int",
    )
}

fn new_order() -> Vec<Column> {
    columns("no_w_id int, no_d_id int, no_o_id int")
}

fn order_line() -> Vec<Column> {
    columns(
        "ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int, ol_supply_w_id int, \
         ol_delivery_d timestamp null, ol_quantity int, ol_amount decimal(6,2), ol_dist_info text(24)",
    )
}
