//! The data: its sizes, and values computed from a number.

/// Seats of a flight.
pub const SEATS: i64 = 150;

/// Seats of the first class, from the first on, at twice the price.
pub(crate) const FIRST_CLASS: i64 = 10;

/// The present: 2026-01-01 00:00 UTC. Flights before it are past.
pub(crate) const TODAY: i64 = 1_767_225_600_000_000;

/// C_ID_STR of a customer.
pub(crate) fn customer_number(c_id: i64) -> String {
    format!("{c_id:064}")
}

/// The price of a seat on a flight whose ordinary seats cost `price`.
pub(super) fn seat_price(price: i64, seat: i64) -> i64 {
    if seat < FIRST_CLASS { 2 * price } else { price }
}

/// Its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Customers: 100 000 times the scale.
    pub customers: i64,
    /// Days of flights in the past: the scale.
    pub days_past: i64,
    /// Days of flights to come: 50 times the scale.
    pub days_future: i64,
    /// Divides the 1125 to 1875 flights of a day: 1, or more for a scaled-down database.
    pub fewer_flights: i64,
}

impl Sizes {
    /// At this scale.
    pub(crate) fn at_scale(scale: i64) -> Self {
        Sizes {
            customers: 100_000 * scale,
            days_past: scale,
            days_future: 50 * scale,
            fewer_flights: 1,
        }
    }
}

/// The numbered attributes that give SEATS its wide rows.
pub(super) mod attributes {
    pub(in crate::seats) const AIRPORT: [&str; 16] = numbered!("ap_iattr": "00" "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12" "13" "14" "15");

    pub(in crate::seats) const AIRLINE: [&str; 16] = numbered!("al_iattr": "00" "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12" "13" "14" "15");

    pub(in crate::seats) const CUSTOMER_TEXTS: [&str; 20] = numbered!("c_sattr": "00" "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11"
        "12" "13" "14" "15" "16" "17" "18" "19");

    pub(in crate::seats) const CUSTOMER: [&str; 20] = numbered!("c_iattr": "00" "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12"
        "13" "14" "15" "16" "17" "18" "19");

    pub(in crate::seats) const FREQUENT_FLYER_TEXTS: [&str; 4] =
        numbered!("ff_sattr": "00" "01" "02" "03");

    pub(in crate::seats) const FREQUENT_FLYER: [&str; 16] = numbered!("ff_iattr": "00" "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12" "13" "14" "15");

    pub(in crate::seats) const FLIGHT: [&str; 30] = numbered!("f_iattr": "00" "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12" "13"
        "14" "15" "16" "17" "18" "19" "20" "21" "22" "23" "24" "25" "26" "27" "28" "29");

    pub(in crate::seats) const RESERVATION: [&str; 9] =
        numbered!("r_iattr": "00" "01" "02" "03" "04" "05" "06" "07" "08");
}
