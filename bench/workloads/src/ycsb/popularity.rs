//! Which record an operation is about.

use std::sync::Arc;

use crate::random::{Gray, Random, RankTable, scramble};

/// Items of YCSB's `ScrambledZipfianGenerator`: ranks are drawn among these, whatever the number of records.
const ITEMS: u64 = 10_000_000_000;

/// A distribution over records.
#[derive(Clone, Debug)]
pub(super) struct Popularity {
    ranks: Ranks,
    order: Order,
}

/// Zipf's law, by the generator its exponent permits.
#[derive(Clone, Debug)]
enum Ranks {
    Gray(Gray),
    Table(Arc<RankTable>),
}

#[derive(Clone, Copy, Debug)]
enum Order {
    /// Ranks hashed onto this many records of the initial data.
    Scrambled(u64),
    /// Rank 0 is the youngest.
    Latest,
}

impl Popularity {
    pub(super) fn scrambled(records: u64, theta: f64) -> Self {
        Popularity {
            ranks: Ranks::new(ITEMS, records, theta),
            order: Order::Scrambled(records),
        }
    }

    pub(super) fn latest(records: u64, theta: f64) -> Self {
        Popularity {
            ranks: Ranks::new(records, records, theta),
            order: Order::Latest,
        }
    }

    /// A record's number, when all below `acknowledged` exist.
    pub(super) fn draw(&mut self, random: &mut Random, acknowledged: u64) -> u64 {
        match self.order {
            Order::Scrambled(records) => scramble(self.ranks.draw(random)) % records,
            Order::Latest => {
                self.ranks.grow(acknowledged);
                acknowledged - 1 - self.ranks.draw(random).min(acknowledged - 1)
            }
        }
    }
}

impl Ranks {
    /// Over `ranks` ranks by Gray's generator; for exponents it cannot do by a table of `table_ranks`, which
    /// need memory.
    fn new(ranks: u64, table_ranks: u64, theta: f64) -> Self {
        if theta < 1.0 {
            Ranks::Gray(Gray::new(ranks, theta))
        } else {
            Ranks::Table(Arc::new(RankTable::new(table_ranks, theta)))
        }
    }

    /// A table does not grow: further ranks would have hardly any weight.
    fn grow(&mut self, ranks: u64) {
        if let Ranks::Gray(gray) = self {
            gray.grow(ranks);
        }
    }

    fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Ranks::Gray(gray) => gray.draw(random),
            Ranks::Table(table) => table.draw(random),
        }
    }
}
