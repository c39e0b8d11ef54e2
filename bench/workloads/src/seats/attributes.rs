//! The numbered attributes that give SEATS its wide rows.

/// An array of names: a prefix with each of some numbers.
macro_rules! numbered {
    ($prefix:literal: $($number:literal)*) => {
        [$(concat!($prefix, $number)),*]
    };
}

pub(super) const AIRPORT: [&str; 16] = numbered!("ap_iattr": "00" "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12" "13" "14" "15");

pub(super) const AIRLINE: [&str; 16] = numbered!("al_iattr": "00" "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12" "13" "14" "15");

pub(super) const CUSTOMER_TEXTS: [&str; 20] = numbered!("c_sattr": "00" "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11"
    "12" "13" "14" "15" "16" "17" "18" "19");

pub(super) const CUSTOMER: [&str; 20] = numbered!("c_iattr": "00" "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12"
    "13" "14" "15" "16" "17" "18" "19");

pub(super) const FREQUENT_FLYER_TEXTS: [&str; 4] = numbered!("ff_sattr": "00" "01" "02" "03");

pub(super) const FREQUENT_FLYER: [&str; 16] = numbered!("ff_iattr": "00" "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12" "13" "14" "15");

pub(super) const FLIGHT: [&str; 30] = numbered!("f_iattr": "00" "01" "02" "03" "04" "05" "06" "07" "08" "09" "10" "11" "12" "13"
    "14" "15" "16" "17" "18" "19" "20" "21" "22" "23" "24" "25" "26" "27" "28" "29");

pub(super) const RESERVATION: [&str; 9] =
    numbered!("r_iattr": "00" "01" "02" "03" "04" "05" "06" "07" "08");
