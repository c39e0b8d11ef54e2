//! The four tables, and the columns drawn alike for all rows.

use crate::interface::{Schema, TableId, columns};

/// The tables by name.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    pub(super) subscriber: TableId,
    pub(super) access_info: TableId,
    pub(super) special_facility: TableId,
    pub(super) call_forwarding: TableId,
}

/// All columns of SUBSCRIBER.
const SUBSCRIBER: &str = "s_id int, sub_nbr text(15), \
    bit_1 int, bit_2 int, bit_3 int, bit_4 int, bit_5 int, bit_6 int, bit_7 int, bit_8 int, bit_9 int, bit_10 int, \
    hex_1 int, hex_2 int, hex_3 int, hex_4 int, hex_5 int, hex_6 int, hex_7 int, hex_8 int, hex_9 int, hex_10 int, \
    byte2_1 int, byte2_2 int, byte2_3 int, byte2_4 int, byte2_5 int, byte2_6 int, byte2_7 int, byte2_8 int, \
    byte2_9 int, byte2_10 int, msc_location int, vlr_location int";

/// The names of all columns of SUBSCRIBER.
pub(super) fn subscriber() -> impl Iterator<Item = &'static str> {
    columns(SUBSCRIBER).into_iter().map(|column| column.name)
}

pub(super) fn declare() -> (Schema, Tables) {
    let mut schema = Schema::new();
    let access_info = "s_id int, ai_type int, data1 int, data2 int, data3 text(3), data4 text(5)";
    let special_facility =
        "s_id int, sf_type int, is_active int, error_cntrl int, data_a int, data_b text(5)";
    let call_forwarding = "s_id int, sf_type int, start_time int, end_time int, numberx text(15)";
    let tables = Tables {
        subscriber: schema.table("subscriber", columns(SUBSCRIBER), &["s_id"]),
        access_info: schema.table("access_info", columns(access_info), &["s_id", "ai_type"]),
        special_facility: schema.table(
            "special_facility",
            columns(special_facility),
            &["s_id", "sf_type"],
        ),
        call_forwarding: schema.table(
            "call_forwarding",
            columns(call_forwarding),
            &["s_id", "sf_type", "start_time"],
        ),
    };
    schema.index(tables.subscriber, "subscriber_number", &["sub_nbr"], true);
    (schema, tables)
}

/// When call forwardings begin.
pub const START_TIMES: [i64; 3] = [0, 8, 16];

/// SUB_NBR: the subscriber's id in 15 digits.
pub fn number(s_id: i64) -> String {
    format!("{s_id:015}")
}
