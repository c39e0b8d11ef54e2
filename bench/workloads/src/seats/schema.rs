//! The eight tables.

use super::data::attributes;
use crate::interface::{Column, ColumnType, Schema, TableId, column};

use ColumnType::{Float64, Int32, Int64, Text, Timestamp};

/// The tables by name.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    pub(super) country: TableId,
    pub(super) airport: TableId,
    pub(super) airline: TableId,
    pub(super) distance: TableId,
    pub(super) customer: TableId,
    pub(super) frequent_flyer: TableId,
    pub(super) flight: TableId,
    pub(super) reservation: TableId,
}

/// Money, in cents.
const MONEY: ColumnType = ColumnType::Decimal {
    precision: 12,
    scale: 2,
};

pub(super) fn declare() -> (Schema, Tables) {
    let mut schema = Schema::new();
    let tables = Tables {
        country: schema.table("country", country(), &["co_id"]),
        airport: schema.table("airport", airport(), &["ap_id"]),
        airline: schema.table("airline", airline(), &["al_id"]),
        distance: schema.table("airport_distance", distance(), &["d_ap_id0", "d_ap_id1"]),
        customer: schema.table("customer", customer(), &["c_id"]),
        frequent_flyer: schema.table("frequent_flyer", frequent_flyer(), &["ff_c_id", "ff_al_id"]),
        flight: schema.table("flight", flight(), &["f_id"]),
        reservation: schema.table("reservation", reservation(), &["r_id", "r_c_id", "r_f_id"]),
    };
    schema.index(tables.customer, "customer_id_str", &["c_id_str"], true);
    schema.index(
        tables.frequent_flyer,
        "frequent_flyer_id_str",
        &["ff_c_id_str"],
        false,
    );
    schema.index(
        tables.flight,
        "flight_depart_time",
        &["f_depart_time"],
        false,
    );
    schema.index(
        tables.reservation,
        "reservation_seat",
        &["r_f_id", "r_seat"],
        true,
    );
    (schema, tables)
}

fn ints(names: &[&'static str]) -> Vec<Column> {
    names.iter().map(|name| column(name, Int64)).collect()
}

fn texts(names: &[&'static str], length: u16) -> Vec<Column> {
    names
        .iter()
        .map(|name| column(name, Text(length)))
        .collect()
}

fn country() -> Vec<Column> {
    vec![
        column("co_id", Int32),
        column("co_name", Text(64)),
        column("co_code_2", Text(2)),
        column("co_code_3", Text(3)),
    ]
}

fn airport() -> Vec<Column> {
    let named = vec![
        column("ap_id", Int32),
        column("ap_code", Text(3)),
        column("ap_name", Text(128)),
        column("ap_city", Text(64)),
        column("ap_postal_code", Text(12)),
        column("ap_co_id", Int32),
        column("ap_longitude", Float64),
        column("ap_latitude", Float64),
        column("ap_gmt_offset", Float64),
        column("ap_wac", Int32),
    ];
    [named, ints(&attributes::AIRPORT)].concat()
}

fn airline() -> Vec<Column> {
    let named = vec![
        column("al_id", Int32),
        column("al_iata_code", Text(3)),
        column("al_icao_code", Text(3)),
        column("al_call_sign", Text(32)),
        column("al_name", Text(128)),
        column("al_co_id", Int32),
    ];
    [named, ints(&attributes::AIRLINE)].concat()
}

fn distance() -> Vec<Column> {
    vec![
        column("d_ap_id0", Int32),
        column("d_ap_id1", Int32),
        column("d_distance", Float64),
    ]
}

fn customer() -> Vec<Column> {
    let named = vec![
        column("c_id", Int64),
        column("c_id_str", Text(64)),
        column("c_base_ap_id", Int32),
        column("c_balance", MONEY),
    ];
    [
        named,
        texts(&attributes::CUSTOMER_TEXTS, 32),
        ints(&attributes::CUSTOMER),
    ]
    .concat()
}

fn frequent_flyer() -> Vec<Column> {
    let named = vec![
        column("ff_c_id", Int64),
        column("ff_al_id", Int32),
        column("ff_c_id_str", Text(64)),
    ];
    [
        named,
        texts(&attributes::FREQUENT_FLYER_TEXTS, 32),
        ints(&attributes::FREQUENT_FLYER),
    ]
    .concat()
}

fn flight() -> Vec<Column> {
    let named = vec![
        column("f_id", Int64),
        column("f_al_id", Int32),
        column("f_depart_ap_id", Int32),
        column("f_depart_time", Timestamp),
        column("f_arrive_ap_id", Int32),
        column("f_arrive_time", Timestamp),
        column("f_status", Int32),
        column("f_base_price", MONEY),
        column("f_seats_total", Int32),
        column("f_seats_left", Int32),
    ];
    [named, ints(&attributes::FLIGHT)].concat()
}

fn reservation() -> Vec<Column> {
    let named = vec![
        column("r_id", Int64),
        column("r_c_id", Int64),
        column("r_f_id", Int64),
        column("r_seat", Int32),
        column("r_price", MONEY),
    ];
    [named, ints(&attributes::RESERVATION)].concat()
}
