//! The eight tables.

use super::data::attributes;
use crate::interface::{Column, ColumnType, Schema, TableId, column, columns};

use ColumnType::{Int64, Text};

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
    columns("co_id int, co_name text(64), co_code_2 text(2), co_code_3 text(3)")
}

fn airport() -> Vec<Column> {
    let named = columns(
        "ap_id int, ap_code text(3), ap_name text(128), ap_city text(64), ap_postal_code text(12), \
         ap_co_id int, ap_longitude float, ap_latitude float, ap_gmt_offset float, ap_wac int",
    );
    [named, ints(&attributes::AIRPORT)].concat()
}

fn airline() -> Vec<Column> {
    let named = columns(
        "al_id int, al_iata_code text(3), al_icao_code text(3), al_call_sign text(32), al_name text(128), \
         al_co_id int",
    );
    [named, ints(&attributes::AIRLINE)].concat()
}

fn distance() -> Vec<Column> {
    columns("d_ap_id0 int, d_ap_id1 int, d_distance float")
}

fn customer() -> Vec<Column> {
    let named =
        columns("c_id bigint, c_id_str text(64), c_base_ap_id int, c_balance decimal(12,2)");
    [
        named,
        texts(&attributes::CUSTOMER_TEXTS, 32),
        ints(&attributes::CUSTOMER),
    ]
    .concat()
}

fn frequent_flyer() -> Vec<Column> {
    let named = columns("ff_c_id bigint, ff_al_id int, ff_c_id_str text(64)");
    [
        named,
        texts(&attributes::FREQUENT_FLYER_TEXTS, 32),
        ints(&attributes::FREQUENT_FLYER),
    ]
    .concat()
}

fn flight() -> Vec<Column> {
    let named = columns(
        "f_id bigint, f_al_id int, f_depart_ap_id int, f_depart_time timestamp, f_arrive_ap_id int, \
         f_arrive_time timestamp, f_status int, f_base_price decimal(12,2), f_seats_total int, \
         f_seats_left int",
    );
    [named, ints(&attributes::FLIGHT)].concat()
}

fn reservation() -> Vec<Column> {
    let named =
        columns("r_id bigint, r_c_id bigint, r_f_id bigint, r_seat int, r_price decimal(12,2)");
    [named, ints(&attributes::RESERVATION)].concat()
}
