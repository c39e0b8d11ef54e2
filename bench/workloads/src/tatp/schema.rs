//! The four tables, and the columns drawn alike for all rows.

use crate::interface::{Column, ColumnType, Schema, TableId, column};

use ColumnType::{Int32, Text};

/// The tables by name.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    pub(super) subscriber: TableId,
    pub(super) access_info: TableId,
    pub(super) special_facility: TableId,
    pub(super) call_forwarding: TableId,
}

/// All columns of SUBSCRIBER.
pub(super) const SUBSCRIBER: [&str; 34] = [
    "s_id",
    "sub_nbr",
    "bit_1",
    "bit_2",
    "bit_3",
    "bit_4",
    "bit_5",
    "bit_6",
    "bit_7",
    "bit_8",
    "bit_9",
    "bit_10",
    "hex_1",
    "hex_2",
    "hex_3",
    "hex_4",
    "hex_5",
    "hex_6",
    "hex_7",
    "hex_8",
    "hex_9",
    "hex_10",
    "byte2_1",
    "byte2_2",
    "byte2_3",
    "byte2_4",
    "byte2_5",
    "byte2_6",
    "byte2_7",
    "byte2_8",
    "byte2_9",
    "byte2_10",
    "msc_location",
    "vlr_location",
];

pub(super) fn declare() -> (Schema, Tables) {
    let mut schema = Schema::new();
    let ints = |names: &[&'static str]| {
        names
            .iter()
            .map(|name| column(name, Int32))
            .collect::<Vec<_>>()
    };
    let subscriber: Vec<Column> = SUBSCRIBER
        .iter()
        .map(|name| column(name, if *name == "sub_nbr" { Text(15) } else { Int32 }))
        .collect();
    let access_info = [
        ints(&["s_id", "ai_type", "data1", "data2"]),
        vec![column("data3", Text(3)), column("data4", Text(5))],
    ];
    let special_facility = [
        ints(&["s_id", "sf_type", "is_active", "error_cntrl", "data_a"]),
        vec![column("data_b", Text(5))],
    ];
    let call_forwarding = [
        ints(&["s_id", "sf_type", "start_time", "end_time"]),
        vec![column("numberx", Text(15))],
    ];
    let tables = Tables {
        subscriber: schema.table("subscriber", subscriber, &["s_id"]),
        access_info: schema.table("access_info", access_info.concat(), &["s_id", "ai_type"]),
        special_facility: schema.table(
            "special_facility",
            special_facility.concat(),
            &["s_id", "sf_type"],
        ),
        call_forwarding: schema.table(
            "call_forwarding",
            call_forwarding.concat(),
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
