//! A client: where its inputs come from.

use super::load::LOADED_AT;
use super::names::{Constants, random_last_name};
use super::scale::{DISTRICTS, Scale};
use crate::random::{Random, nurand};

/// A terminal (TPC-C 1.1.4).
///
/// Its home warehouse is drawn for each transaction. That is equivalent to the specification's ten terminals a
/// warehouse with equal rights. Few clients, each tied to a warehouse, would leave most of the database cold.
#[derive(Clone, Debug)]
pub struct Terminal {
    pub(super) random: Random,
    pub(super) constants: Constants,
    pub(super) scale: Scale,
    /// The terminal's date, microseconds since 1970. It advances a second each transaction from the moment of
    /// the load, so that data depends on the seed alone.
    now: i64,
}

/// The ways in which a transaction names its customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CustomerBy {
    /// By number.
    Id(i64),
    /// By last name: the one in the middle of those with it, by first name.
    LastName(String),
}

/// A district of a warehouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct District {
    /// Warehouse, from 1.
    pub w: i64,
    /// District, 1 to 10.
    pub d: i64,
}

impl Terminal {
    pub(super) fn new(random: Random, constants: Constants, scale: Scale) -> Self {
        Terminal {
            random,
            constants,
            scale,
            now: LOADED_AT,
        }
    }

    pub(super) fn tick(&mut self) -> i64 {
        self.now += 1_000_000;
        self.now
    }

    pub(super) fn warehouse(&mut self) -> i64 {
        self.random.between(1, self.scale.warehouses)
    }

    pub(super) fn district(&mut self) -> District {
        District {
            w: self.warehouse(),
            d: self.random.between(1, DISTRICTS),
        }
    }

    /// A warehouse other than `home`. There must be one.
    pub(super) fn other_warehouse(&mut self, home: i64) -> i64 {
        let drawn = self.random.between(1, self.scale.warehouses - 1);
        if drawn < home { drawn } else { drawn + 1 }
    }

    /// A customer number: NURand(1023, 1, 3000).
    pub(super) fn customer(&mut self) -> i64 {
        nurand(
            &mut self.random,
            1023,
            self.constants.customer,
            1,
            self.scale.customers,
        )
    }

    /// An item number: NURand(8191, 1, 100000).
    pub(super) fn item(&mut self) -> i64 {
        nurand(
            &mut self.random,
            8191,
            self.constants.item,
            1,
            self.scale.items,
        )
    }

    /// 60 % by last name, 40 % by number (2.5.1.2, 2.6.1.2).
    pub(super) fn customer_by(&mut self) -> CustomerBy {
        if self.random.chance(0.6) {
            CustomerBy::LastName(random_last_name(
                &mut self.random,
                self.constants.last_name,
                self.scale.last_names(),
            ))
        } else {
            CustomerBy::Id(self.customer())
        }
    }
}
